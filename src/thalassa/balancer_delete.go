package thalassa

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/inventory"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// PlanDelete implements cloud.LoadBalancers.
func (b *balancers) PlanDelete(ctx context.Context, service *corev1.Service, written bool) (cloud.Comparison, error) {
	o, err := b.observeForDeletion(ctx, service, written)
	if err != nil {
		return cloud.Comparison{}, err
	}
	if o.empty() {
		b.expectFromPreviousLeader(service)
	}
	d, _ := b.read(service, o)
	if o, err = b.withAdoptedGroups(ctx, d, o); err != nil {
		return cloud.Comparison{}, err
	}
	asks := d.annotations.openNodePorts.From(d.values)
	mayHaveRules := asks.Value || asks.Invalid
	if d.nodeGroup, err = b.nodeGroup(ctx); err != nil && !errors.Is(err, errNoNodeGroup) &&
		(mayHaveRules || !errors.Is(err, client.ErrUnauthorised)) {
		// if the group does not exist, or was never requested and cannot be read, it has no rules of the Service
		return cloud.Comparison{}, err
	}
	doubtful := b.inventory.Expecting(string(service.UID))
	keeps := d.annotations.onDelete.From(d.values).Value == onDeleteKeep && !o.empty() && o.retainable()
	left := written && !keeps && b.onlyUsedByOthers(o)
	found := cloud.Comparison{Exists: !o.empty() && !left || doubtful > 0}
	if keeps {
		found.Plan, found.Retains = b.planner.planRetention(d, o), retentionText(o)
	} else {
		found.Plan = b.planner.planDeletion(d, o)
	}
	found.Left = o.remainingText()
	wait := cloud.Wait{Deleting: true, Name: "what the Service had", Message: "the cloud is still deleting " +
		o.String()}
	if balancer := o.balancer(); balancer != nil {
		found.State, found.Status = balancer.Status, d.statusOf(service, *balancer)
		wait.Object, wait.Name, wait.Status = balancer.ID, kindBalancer+" "+balancer.Name, balancer.Status
		if held := cmp.Or(invalidDeletionPolicy(d), protection(d, o.balancers)); held != "" && !keeps {
			found.Plan, found.Refused = nil, errors.New(held)
		}
	}
	switch {
	case !o.empty():
		found.Wait = &wait
	case doubtful > 0:
		found.Wait = waitForLists(doubtful,
			"objects of the Service may still exist: a creation ended without an answer, or "+
				"the previous leader created them recently, and the cloud's lists may not show them yet")
	}
	return found, nil
}

// onlyUsedByOthers reports whether load balancers of others use all remaining objects. This happens after a deletion if
// the cloud refused to remove the Service's labels from these objects.
func (b *balancers) onlyUsedByOthers(o observed) bool {
	var ids []string
	for _, group := range o.groups {
		ids = append(ids, group.ID)
	}
	for _, group := range o.securityGroups {
		ids = append(ids, group.ID)
	}
	return len(o.balancers) == 0 && !slices.ContainsFunc(ids, func(id string) bool {
		_, used := b.otherUser(id, o)
		return !used
	})
}

// observeForDeletion returns all objects of a Service that is to have none. That none is left is concluded only from
// lists that began after the last deletion, because the cloud deletes after it has accepted a deletion.
func (b *balancers) observeForDeletion(ctx context.Context, service *corev1.Service, written bool) (observed, error) {
	o, err := b.observe(ctx, service, b.fresh(), true)
	if err == nil && written && o.empty() {
		o, err = b.observe(ctx, service, inventory.Fresh, true)
	}
	made := b.hasSecurityGroup(service, o.balancer())
	if err == nil && o.groupsError != nil && (made || !errors.Is(o.groupsError, client.ErrUnauthorised)) {
		return observed{}, o.groupsError // without permission to read security groups, this program created none
	}
	return o, err
}

// protection returns why the load balancers of a Service are not deleted; "" if nothing prevents it.
func protection(d desired, balancers []resource.LoadBalancer) string {
	for _, balancer := range balancers {
		if held := protectionOf(d, balancer); held != "" {
			return held
		}
	}
	return ""
}

func protectionOf(d desired, balancer resource.LoadBalancer) string {
	if !balancer.DeleteProtection || balancer.Deleting() {
		return ""
	}
	switch asked := d.annotations.deleteProtection.From(d.values); {
	case asked.Given && !asked.Value:
		return ""
	case !d.deleted && !asked.Invalid && !asked.Value && lastAppliedOf(balancer.Annotations).has(settingProtection):
		return "" // the Service asked for the protection, and does not any more
	case asked.Asked() && asked.Value:
		return fmt.Sprintf("load balancer %s is protected from deletion by an annotation of the Service: set "+
			"%sdelete-protection to false to have it deleted, or %son-delete to %s to leave it in the cloud",
			balancer.Name, label.AnnotationPrefix, label.AnnotationPrefix, onDeleteKeep)
	}
	return fmt.Sprintf("load balancer %s is protected from deletion in the cloud: switch the protection off there, "+
		"or set %sdelete-protection to false, to have it deleted; set %son-delete to %s to leave it in the cloud",
		balancer.Name, label.AnnotationPrefix, label.AnnotationPrefix, onDeleteKeep)
}

// invalidDeletionPolicy returns why nothing is deleted if the Service's deletion policy is not valid; "" if it is.
func invalidDeletionPolicy(d desired) string {
	if !d.annotations.onDelete.From(d.values).Invalid {
		return ""
	}
	return fmt.Sprintf("annotation %son-delete is not valid, so nothing is deleted yet: set it to %s or %s, or "+
		"remove it to have everything deleted", label.AnnotationPrefix, onDeleteDelete, onDeleteKeep)
}

// unprotect switches off the protection that would make the cloud refuse the deletion.
func (d *difference) unprotect(balancer resource.LoadBalancer) {
	if !balancer.DeleteProtection {
		return
	}
	to := balancer
	to.DeleteProtection = false
	d.add(cloud.Update, kindBalancer, balancer.Name, "its protection from deletion is switched off",
		UpdateLoadBalancer{From: balancer, To: to})
}

// errNoNodeGroup: the configuration names a security group that does not exist.
var errNoNodeGroup = errors.New("loadBalancer.nodeSecurityGroup of the cloud-config does not exist")

// nodeGroup returns the security group of the nodes; nil if none is configured.
func (b *balancers) nodeGroup(ctx context.Context) (*resource.SecurityGroup, error) {
	ref := b.config.LoadBalancer.NodeSecurityGroup
	if ref == "" {
		return nil, nil
	}
	group, found, err := b.inventory.SecurityGroup(ctx, ref, b.config.Inventory.MaxBalancerAge())
	switch {
	case err != nil:
		return nil, fmt.Errorf("looking for loadBalancer.nodeSecurityGroup of the cloud-config: %w", err)
	case !found:
		return nil, fmt.Errorf("%w: VPC %s has no security group %q", errNoNodeGroup, b.config.VPCIdentity, ref)
	}
	return &group, nil
}
