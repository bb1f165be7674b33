package inventory

import (
	"context"

	"github.com/thalassa-cloud/client-go/iaas"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/store"
)

// securityGroupBody is the body of a security group: of its POST with the VPC, of its PUT with the version. The
// official client's types send a list without elements as null, which a cloud may ignore; here it is [].
type securityGroupBody struct {
	resource.SecurityGroup
	Version *int       `json:"objectVersion,omitempty"`
	Ingress []ruleItem `json:"ingressRules"`
	Egress  []ruleItem `json:"egressRules"`
	VPC     string     `json:"vpcIdentity,omitempty"`
}

func bodyOf(g resource.SecurityGroup, version *int, vpc string) securityGroupBody {
	g.ID, g.Slug, g.Status, g.Labels, g.Annotations = "", "", "", present(g.Labels), present(g.Annotations)
	return securityGroupBody{g, version, itemsOf(g.Ingress), itemsOf(g.Egress), vpc}
}

// CreateSecurityGroup creates a security group in the VPC. The cloud sets identity, slug, version and status.
func (i *Inventory) CreateSecurityGroup(ctx context.Context, group resource.SecurityGroup) (resource.SecurityGroup,
	error) {
	i.useSecurityGroups()
	if err := i.sign("security group "+group.Name, group.Labels, &group.Annotations); err != nil {
		return resource.SecurityGroup{}, err
	}
	created, err := client.Post[securityGroupItem](client.Optional(ctx), i.cloud, iaas.SecurityGroupEndpoint,
		bodyOf(group, nil, i.vpc))
	if err = store.RequireIdentity(err, created.ID, "security group "+group.Name); err != nil {
		i.expectAfter(group.Labels[i.owner], err)
		return resource.SecurityGroup{}, i.securityGroups.WriteError(err)
	}
	group = created.SecurityGroup
	i.securityGroups.PutCreated(group)
	return group, nil
}

// UpdateSecurityGroup replaces a security group if it still has the version of from: otherwise the error is
// client.ErrConflict, and the store is invalidated.
func (i *Inventory) UpdateSecurityGroup(ctx context.Context, from, to resource.SecurityGroup) error {
	if err := i.sign("security group "+from.ID, to.Labels, &to.Annotations); err != nil {
		return err
	}
	updated, err := client.Put[securityGroupItem](client.Optional(ctx), i.cloud, iaas.SecurityGroupEndpoint+"/"+from.ID,
		bodyOf(to, &from.Version, ""))
	if err != nil {
		return i.securityGroups.WriteError(err)
	}
	i.storeUpdated(from, to, updated.Version)
	if updated.ID != from.ID || updated.Version == 0 {
		i.securityGroups.Invalidate() // the answer lacks the new version
	}
	return nil
}

// storeUpdated stores an update of a security group, which has the version now.
func (i *Inventory) storeUpdated(from, to resource.SecurityGroup, version int) {
	to.ID, to.Version = from.ID, version
	i.securityGroups.Change(from.ID, from, func(latest resource.SecurityGroup) resource.SecurityGroup {
		if latest.Version > version && version != 0 { // a list may contain a later change by others
			return latest
		}
		to.Slug, to.Status = latest.Slug, latest.Status
		return to
	})
}

// DeleteSecurityGroup deletes a security group. The cloud refuses this (client.ErrConflict) while the group is attached
// to an object, or rules of another group name it.
func (i *Inventory) DeleteSecurityGroup(ctx context.Context, id string) error {
	err := client.Delete(client.Optional(ctx), i.cloud, iaas.SecurityGroupEndpoint+"/"+id)
	if err != nil && !store.IsGone(err) {
		return i.securityGroups.WriteError(err)
	}
	if err != nil || !i.securityGroups.ChangeStored(id, func(latest resource.SecurityGroup) (resource.SecurityGroup,
		bool) {
		latest.Status = resource.StatusDeleting
		return latest, true
	}) {
		i.securityGroups.Drop(id)
	}
	return nil
}
