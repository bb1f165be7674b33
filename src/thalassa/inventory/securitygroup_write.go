package inventory

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/thalassa-cloud/client-go/iaas"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
)

// securityGroupBody is what creation and update of a security group have in common. The official client's types are the
// same, but for lists without elements, which those say as null: here they are [], which no cloud takes for "as it is".
type securityGroupBody struct {
	Name             string     `json:"name"`
	Description      string     `json:"description"`
	Labels           Labels     `json:"labels"`
	Annotations      Labels     `json:"annotations"`
	SameGroupTraffic bool       `json:"allowSameGroupTraffic"`
	Ingress          []ruleItem `json:"ingressRules"`
	Egress           []ruleItem `json:"egressRules"`
}

func bodyOf(g SecurityGroup) securityGroupBody {
	return securityGroupBody{
		Name: g.Name, Description: g.Description, Labels: present(g.Labels), Annotations: present(g.Annotations),
		SameGroupTraffic: g.SameGroupTraffic, Ingress: itemsOf(g.Ingress), Egress: itemsOf(g.Egress),
	}
}

// CreateSecurityGroup creates a security group in the VPC; identity, slug, version and status are the cloud's to give.
func (i *Inventory) CreateSecurityGroup(ctx context.Context, group SecurityGroup) (SecurityGroup, error) {
	i.securityGroups.asked.note("")
	created, err := client.Post[securityGroupItem](client.Optional(ctx), i.cloud, iaas.SecurityGroupEndpoint, struct {
		securityGroupBody
		VPC string `json:"vpcIdentity"`
	}{bodyOf(group), i.vpc})
	if err = shown(err, created.Identity, "security group "+group.Name); err != nil {
		i.doubt(group.Labels[i.owner], err)
		return SecurityGroup{}, i.securityGroupRefused(err)
	}
	group = created.object()
	i.securityGroups.kind.create(group)
	return group, nil
}

// UpdateSecurityGroup replaces a security group, if it is as from says: otherwise it is client.ErrConflict, and the
// next reader sees it as it is.
func (i *Inventory) UpdateSecurityGroup(ctx context.Context, from, to SecurityGroup) error {
	updated, err := client.Put[securityGroupItem](client.Optional(ctx), i.cloud, iaas.SecurityGroupEndpoint+"/"+from.ID,
		struct {
			securityGroupBody
			Version int `json:"objectVersion"`
		}{bodyOf(to), from.Version})
	if err != nil {
		return i.securityGroupRefused(err)
	}
	i.securityGroups.kind.change(from.ID, func(latest SecurityGroup, known bool) (SecurityGroup, outcome) {
		if !known {
			latest = from
		}
		if latest.Version > updated.Version && updated.Version > 0 {
			return latest, untouched // somebody changed it after us, and a list shows that already
		}
		to.ID, to.Slug, to.Status, to.Version = from.ID, latest.Slug, latest.Status, updated.Version
		return to, stored
	})
	if updated.Identity != from.ID || updated.Version == 0 {
		i.securityGroups.kind.distrust() // which version it is now is not said
	}
	return nil
}

// DeleteSecurityGroup asks the cloud to delete a security group, which it refuses (client.ErrConflict) as long as
// something is attached to it, or the rules of another one name it.
func (i *Inventory) DeleteSecurityGroup(ctx context.Context, id string) error {
	err := client.Delete(client.Optional(ctx), i.cloud, iaas.SecurityGroupEndpoint+"/"+id)
	if err != nil && !isGone(err) {
		return i.securityGroupRefused(err)
	}
	i.securityGroups.kind.change(id, func(latest SecurityGroup, known bool) (SecurityGroup, outcome) {
		latest.Status = StatusDeleting
		if known && err == nil {
			return latest, stored
		}
		return latest, removed
	})
	return nil
}

// ChangeIngress changes the ingress rules of a security group of the VPC that is not ours: it is read, changed, and
// written as it was in everything else, unless nothing changes. What others do to it meanwhile is a conflict, after
// which it is tried once more. Within this process one change is made at a time.
func (i *Inventory) ChangeIngress(ctx context.Context, id string, change func([]Rule) []Rule) error {
	done, err := i.securityGroups.turns.take(ctx, id)
	if err != nil {
		return fmt.Errorf("waiting to change security group %s: %w", id, err)
	}
	defer done()
	err = i.changeIngress(ctx, id, change)
	if errors.Is(err, client.ErrConflict) {
		err = i.changeIngress(ctx, id, change)
	}
	return err
}

func (i *Inventory) changeIngress(ctx context.Context, id string, change func([]Rule) []Rule) error {
	from, exists, err := i.getSecurityGroup(ctx, id)
	if err != nil {
		return err
	}
	if !exists {
		return fmt.Errorf("changing the rules of security group %s: %w in VPC %s", id, client.ErrNotFound, i.vpc)
	}
	to := from
	to.Ingress = change(slices.Clone(from.Ingress))
	if slices.Equal(from.Ingress, to.Ingress) {
		return nil
	}
	return i.UpdateSecurityGroup(ctx, from, to)
}

// securityGroupRefused passes the error of a write on, and does not trust the copy any more when it may be wrong. That
// one is based on an old version may be told as any refusal.
func (i *Inventory) securityGroupRefused(err error) error {
	if doubtful(err) || errors.Is(err, client.ErrBadRequest) {
		i.securityGroups.kind.distrust()
	}
	if errors.Is(err, client.ErrUnauthorised) {
		return needing(err, "write security groups")
	}
	return err
}
