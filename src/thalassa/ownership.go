package thalassa

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/inventory"
)

// adoptionName is how a load balancer names the Service that may adopt it.
func adoptionName(owner cloud.Owner) string {
	return owner.Cluster + "/" + owner.Namespace + "/" + owner.Name
}

// adopt returns the load balancer that the Service asks to adopt. Both sides must want it: the Service names the load
// balancer, and the load balancer, in an annotation of its own, the Service.
func (b *balancers) adopt(ctx context.Context, d desired, id string) (inventory.LoadBalancer, error) {
	balancer, found, err := b.inventory.LoadBalancerByID(ctx, id)
	if err != nil {
		return inventory.LoadBalancer{}, fmt.Errorf("looking for the load balancer to adopt: %w", err)
	}
	wanted := adoptionName(d.Owner)
	switch {
	case !found:
		return inventory.LoadBalancer{}, fmt.Errorf("annotation %sadopt: VPC %s has no load balancer %q; give the "+
			"identity of one, or remove the annotation to get a new one",
			annotationPrefix, b.config.VPCIdentity, id)
	case balancer.Labels[labelManaged] == "true" && balancer.Labels[labelUID] != "":
		return inventory.LoadBalancer{}, fmt.Errorf("annotation %sadopt: load balancer %s belongs to Service %s/%s "+
			"of cluster %s; make that Service give it up first, with %son-delete: %s",
			annotationPrefix, id, balancer.Labels[labelNamespace], balancer.Labels[labelName],
			balancer.Labels[labelCluster], annotationPrefix, onDeleteKeep)
	case balancer.Annotations[annotationAdoptable] != wanted:
		return inventory.LoadBalancer{}, fmt.Errorf("annotation %sadopt: load balancer %s does not say that it may "+
			"be adopted; give it the annotation %s=%s in the cloud",
			annotationPrefix, id, annotationAdoptable, wanted)
	}
	return balancer, nil
}

// behind adds the target groups behind an adopted load balancer's ports that do not carry the Service's labels yet:
// those of ports that the Service has, and those that the Service before it has left.
func (b *balancers) behind(ctx context.Context, d desired, o observed) (observed, error) {
	balancer := o.balancer()
	if balancer == nil || !tracesOf(balancer.Annotations).has(settingAdopted) {
		return o, nil
	}
	for _, listener := range balancer.Listeners {
		wanted := slices.ContainsFunc(d.Ports, func(port cloud.Port) bool {
			return int(port.Port) == listener.Port && protocol(port.Key) == listener.Protocol
		})
		leftover := listener.Labels[labelManaged] == "true" && listener.Labels[labelCluster] == d.labels[labelCluster]
		if !wanted && !leftover || o.hasGroup(listener.TargetGroup) {
			continue
		}
		group, found, err := b.inventory.TargetGroupByID(ctx, listener.TargetGroup)
		if err != nil {
			return observed{}, fmt.Errorf("looking for the target groups of the adopted load balancer %s: %w",
				balancer.Name, err)
		}
		if found && group.Labels[labelUID] == "" && !leadsElsewhere(group, *balancer) {
			o.groups = append(o.groups, group)
		}
	}
	return o, nil
}

// leadsElsewhere says that another load balancer uses the target group, too: whoever may have the one has no say about
// the other.
func leadsElsewhere(group inventory.TargetGroup, balancer inventory.LoadBalancer) bool {
	return slices.ContainsFunc(group.Listeners, func(id string) bool {
		return !slices.ContainsFunc(balancer.Listeners, func(listener inventory.Listener) bool {
			return listener.ID == id
		})
	})
}

// adoption is the plan that makes a load balancer the Service's; everything else of it is changed afterwards.
func (p planner) adoption(d desired, from inventory.LoadBalancer) cloud.Plan {
	to := from
	to.Labels = withLabels(from.Labels, d.labels)
	to.Annotations = traces{}.with(settingAdopted).over(from.Annotations)
	delete(to.Annotations, annotationAdoptable) // it was said once, and to this Service
	diff := &difference{planner: p}
	diff.add(cloud.Update, kindBalancer, from.Name, "it is adopted", UpdateLoadBalancer{From: from, To: to})
	return diff.plan
}

// disowned returns the labels of an object without those that say whose it is. That it was managed stays to be seen,
// with another value: a cloud that only adds labels must forget it, too.
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

// handover returns the writes that make everything of a Service somebody else's, with all its traffic: the load
// balancer first, so that nothing that it uses is ever ours without it.
func (p planner) handover(d desired, o observed) cloud.Plan {
	diff := &difference{planner: p, desired: d, nodes: noNodeRules(d)}
	const why = "it is handed over"
	for _, from := range o.balancers {
		if from.Deleting() {
			continue
		}
		to := from
		to.Labels, to.Annotations = disowned(from.Labels), forgotten(from.Annotations)
		diff.add(cloud.Update, kindBalancer, from.Name, why, UpdateLoadBalancer{From: from, To: to})
	}
	for _, from := range o.groups {
		diff.leaveGroup(from, why, "")
	}
	for _, from := range o.securityGroups {
		if from.Deleting() {
			continue
		}
		to := from
		to.Labels, to.Annotations = disowned(from.Labels), forgotten(from.Annotations)
		unused := len(o.balancers)+len(o.groups) == 0 // nobody may use it: the cloud knows
		diff.add(cloud.Update, kindSecurityGroup, from.Name, why,
			UpdateSecurityGroup{From: from, To: to, DeleteUnused: unused})
	}
	diff.closeNodePorts()
	return diff.plan
}

// keepable says that there is something to hand over: a load balancer that lives, or, where that has been handed over
// before, what it uses. Without one, the rest would be of no use to anybody.
func (o observed) keepable() bool {
	return slices.ContainsFunc(o.balancers, func(balancer inventory.LoadBalancer) bool {
		return !balancer.Deleting()
	}) ||
		len(o.balancers) == 0 && slices.ContainsFunc(o.groups, func(group inventory.TargetGroup) bool {
			return len(group.Listeners) > 0
		}) ||
		len(o.balancers) == 0 && len(o.groups) == 0
}

// handoverText is what the Service's owner is told.
func handoverText(o observed) string {
	return fmt.Sprintf("As %son-delete requests, the objects of this Service remain in the cloud, and no Service "+
		"owns them now: %s. Their targets do not change any more. When a Service is deleted, its node ports stop "+
		"answering, and another Service can get them. Adopt or delete the objects soon.", annotationPrefix, o)
}
