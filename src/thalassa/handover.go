package thalassa

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/inventory"
)

// disowned returns the labels of an object without those that say whose it is. That it was managed stays to be seen, with another value: a
// cloud that only adds labels must forget it, too.
func disowned(labels inventory.Labels) inventory.Labels {
	left := inventory.Labels{} // an object that lost its labels may have none at all
	maps.Copy(left, labels)
	for _, key := range []string{labelCluster, labelUID, labelName, labelNamespace, labelPort, labelProtocol} {
		delete(left, key)
	}
	left[labelManaged] = "false"
	return left
}

// forgotten returns annotations without what an object remembers of us.
func forgotten(annotations inventory.Labels) inventory.Labels {
	left := maps.Clone(annotations)
	delete(left, annotationCreatedBy)
	delete(left, annotationApplied)
	return left
}

// handover returns the writes that make everything of a Service somebody else's, with all its traffic: the load balancer first, so that
// nothing that it uses is ever ours without it.
func (p planner) handover(d desired, o observed) cloud.Plan {
	diff := &difference{planner: p, desired: d, nodes: noNodeRules(d)}
	const why = "it is handed over"
	for _, from := range o.balancers {
		if from.Deleting() {
			continue
		}
		to := from
		to.Labels, to.Annotations = disowned(from.Labels), forgotten(from.Annotations)
		diff.add(cloud.Update, kindBalancer, from.Name, why, func(ctx context.Context) error {
			return p.inventory.UpdateLoadBalancer(ctx, from, to)
		})
	}
	for _, from := range o.groups {
		diff.leaveGroup(from, why)
	}
	for _, from := range o.securityGroups {
		if from.Deleting() {
			continue
		}
		to := from
		to.Labels, to.Annotations = disowned(from.Labels), forgotten(from.Annotations)
		diff.add(cloud.Update, kindSecurityGroup, from.Name, why, func(ctx context.Context) error {
			if len(o.balancers)+len(o.groups) == 0 { // nobody may use it: the cloud knows
				if err := p.inventory.DeleteSecurityGroup(ctx, from.ID); !errors.Is(err, client.ErrConflict) && !errors.Is(err, client.ErrBadRequest) {
					return err
				}
			}
			return p.inventory.UpdateSecurityGroup(ctx, from, to)
		})
	}
	diff.closeNodePorts()
	return diff.plan
}

// keepable says that there is something to hand over: a load balancer that lives, or, where that has been handed over before, what it uses.
// Without one, the rest would be of no use to anybody.
func (o observed) keepable() bool {
	return slices.ContainsFunc(o.balancers, func(balancer inventory.LoadBalancer) bool { return !balancer.Deleting() }) ||
		len(o.balancers) == 0 && slices.ContainsFunc(o.groups, func(group inventory.TargetGroup) bool { return len(group.Listeners) > 0 }) ||
		len(o.balancers) == 0 && len(o.groups) == 0
}

// handoverText is what the Service's owner is told.
func handoverText(o observed) string {
	return fmt.Sprintf("As %son-delete requests, the objects of this Service remain in the cloud, and no Service owns them now: %s. Their targets do not change any more. When a Service is deleted, its node ports stop answering, and another Service can get them. Adopt or delete the objects soon.", annotationPrefix, o)
}
