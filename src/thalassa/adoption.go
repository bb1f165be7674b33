package thalassa

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// adoptionName is the value of annotationAdoptable for a Service.
func adoptionName(owner cloud.Owner) string {
	return owner.Cluster + "/" + owner.Namespace + "/" + owner.Name
}

// adopt returns the load balancer that the Service asks to adopt. Both must name each other: the Service names the load
// balancer, and an annotation of the load balancer names the Service.
func (b *balancers) adopt(ctx context.Context, d desired, id string) (resource.LoadBalancer, error) {
	balancer, found, err := b.inventory.LoadBalancerByID(ctx, id)
	if err != nil {
		return resource.LoadBalancer{}, fmt.Errorf("looking for the load balancer to adopt: %w", err)
	}
	wanted := adoptionName(d.Owner)
	switch {
	case !found:
		return resource.LoadBalancer{}, fmt.Errorf("annotation %sadopt: VPC %s has no load balancer %q; give the "+
			"identity of one, or remove the annotation to get a new one",
			label.AnnotationPrefix, b.config.VPCIdentity, id)
	case balancer.Labels[label.Managed] == "true" && balancer.Labels[label.ServiceUID] != "":
		return resource.LoadBalancer{}, fmt.Errorf("annotation %sadopt: load balancer %s belongs to Service %s/%s "+
			"of cluster %s; make that Service give it up first, with %son-delete: %s",
			label.AnnotationPrefix, id, balancer.Labels[label.ServiceNamespace], balancer.Labels[label.ServiceName],
			balancer.Labels[label.Cluster], label.AnnotationPrefix, onDeleteKeep)
	case balancer.Annotations[annotationAdoptable] != wanted:
		return resource.LoadBalancer{}, fmt.Errorf("annotation %sadopt: load balancer %s does not say that it may "+
			"be adopted; give it the annotation %s=%s in the cloud",
			label.AnnotationPrefix, id, annotationAdoptable, wanted)
	}
	return balancer, nil
}

// withAdoptedGroups adds the target groups of an adopted load balancer that do not have the Service's labels yet: those
// of ports of the Service, and those that its previous Service retained.
func (b *balancers) withAdoptedGroups(ctx context.Context, d desired, o observed) (observed, error) {
	balancer := o.balancer()
	if balancer == nil || !lastAppliedOf(balancer.Annotations).has(settingAdopted) {
		return o, nil
	}
	for _, listener := range balancer.Listeners {
		wanted := slices.ContainsFunc(d.Ports, func(port cloud.Port) bool {
			return int(port.Port) == listener.Port && protocol(port.Key) == listener.Protocol
		})
		leftover := listener.Labels[label.Managed] == "true" &&
			listener.Labels[label.Cluster] == d.labels[label.Cluster]
		if !wanted && !leftover || o.hasGroup(listener.TargetGroup) {
			continue
		}
		group, found, err := b.inventory.TargetGroupByID(ctx, listener.TargetGroup)
		if err != nil {
			return observed{}, fmt.Errorf("looking for the target groups of the adopted load balancer %s: %w",
				balancer.Name, err)
		}
		if found && group.Labels[label.ServiceUID] == "" && !usedByOthers(group, *balancer) {
			o.groups = append(o.groups, group)
		}
	}
	return o, nil
}

// usedByOthers reports whether another load balancer also uses the target group. Permission to adopt one load balancer
// is no permission to change the other.
func usedByOthers(group resource.TargetGroup, balancer resource.LoadBalancer) bool {
	return slices.ContainsFunc(group.Listeners, func(id string) bool {
		return !slices.ContainsFunc(balancer.Listeners, func(listener resource.Listener) bool {
			return listener.ID == id
		})
	})
}

// planAdoption returns the write that labels a load balancer as the Service's. Later plans change everything else.
func (p planner) planAdoption(d desired, from resource.LoadBalancer) cloud.Plan {
	to := from
	to.Labels = withLabels(from.Labels, d.labels)
	to.Annotations = lastApplied{}.with(settingAdopted).mergedInto(from.Annotations)
	delete(to.Annotations, annotationAdoptable) // the permission applies once, to this Service
	diff := &difference{planner: p}
	diff.add(cloud.Update, kindBalancer, from.Name, "it is adopted", UpdateLoadBalancer{From: from, To: to})
	return diff.plan
}

// unmanagedLabels returns the labels of an object without those that name its owner. The label that it is managed
// stays, with another value, because a cloud may merge labels instead of replacing them.
func unmanagedLabels(labels resource.Labels) resource.Labels {
	left := resource.Labels{} // the object may have no labels at all
	maps.Copy(left, labels)
	for _, key := range []string{label.Cluster, label.ServiceUID, label.ServiceName, label.ServiceNamespace,
		label.ServicePort, label.ServiceProtocol} {
		delete(left, key)
	}
	left[label.Managed] = "false"
	return left
}

// withoutRecord returns the annotations without the last-applied record.
func withoutRecord(annotations resource.Labels) resource.Labels {
	left := maps.Clone(annotations)
	delete(left, annotationCreatedBy)
	delete(left, annotationApplied)
	return left
}

// planRetention returns the writes that release all objects of a Service, with all their traffic. The load balancer is
// released first, so that no object that it uses is managed without it.
func (p planner) planRetention(d desired, o observed) cloud.Plan {
	diff := &difference{planner: p, desired: d, nodes: noNodeRules(d)}
	const why = "it is handed over"
	for _, from := range o.balancers {
		if from.Deleting() {
			continue
		}
		to := from
		to.Labels, to.Annotations = unmanagedLabels(from.Labels), withoutRecord(from.Annotations)
		diff.add(cloud.Update, kindBalancer, from.Name, why, UpdateLoadBalancer{From: from, To: to})
	}
	for _, from := range o.groups {
		diff.releaseGroup(from, why, "")
	}
	for _, from := range o.securityGroups {
		if from.Deleting() {
			continue
		}
		to := from
		to.Labels, to.Annotations = unmanagedLabels(from.Labels), withoutRecord(from.Annotations)
		unused := len(o.balancers)+len(o.groups) == 0 // perhaps nothing uses it; only the cloud knows
		diff.add(cloud.Update, kindSecurityGroup, from.Name, why,
			UpdateSecurityGroup{From: from, To: to, DeleteUnused: unused})
	}
	diff.closeNodePorts()
	return diff.plan
}

// retainable reports whether there is something to retain: a load balancer that is not being deleted, or, if that was
// released before, the objects that it uses.
func (o observed) retainable() bool {
	return slices.ContainsFunc(o.balancers, func(balancer resource.LoadBalancer) bool {
		return !balancer.Deleting()
	}) ||
		len(o.balancers) == 0 && slices.ContainsFunc(o.groups, func(group resource.TargetGroup) bool {
			return len(group.Listeners) > 0
		}) ||
		len(o.balancers) == 0 && len(o.groups) == 0
}

// retentionText is the message for the Service's owner.
func retentionText(o observed) string {
	return fmt.Sprintf("As %son-delete requests, the objects of this Service remain in the cloud, and no Service "+
		"owns them now: %s. Their targets do not change any more. When a Service is deleted, its node ports stop "+
		"answering, and another Service can get them. Adopt or delete the objects soon.", label.AnnotationPrefix, o)
}
