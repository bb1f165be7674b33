package balancer

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// adoptionName is the value of annotationAdoptable for a Service.
func adoptionName(owner cloud.Owner) string {
	return owner.Cluster + "/" + owner.Namespace + "/" + owner.Name
}

// Adopt returns the write that adopts a load balancer, or why it cannot be adopted. Both must name each other: the
// Service names the load balancer, and an annotation of the load balancer names the Service.
func (r Request) Adopt(balancer resource.LoadBalancer, found bool) (cloud.Plan, error) {
	id, wanted := r.Adopts(), adoptionName(r.Owner)
	switch {
	case !found:
		return nil, fmt.Errorf("annotation %sadopt: VPC %s has no load balancer %q; give the "+
			"identity of one, or remove the annotation to get a new one",
			label.AnnotationPrefix, r.config.VPC, id)
	case balancer.Labels[label.Managed] == "true" && balancer.Labels[label.ServiceUID] != "":
		return nil, fmt.Errorf("annotation %sadopt: load balancer %s belongs to Service %s/%s "+
			"of cluster %s; make that Service give it up first, with %son-delete: %s",
			label.AnnotationPrefix, id, balancer.Labels[label.ServiceNamespace], balancer.Labels[label.ServiceName],
			balancer.Labels[label.Cluster], label.AnnotationPrefix, onDeleteKeep)
	case balancer.Annotations[annotationAdoptable] != wanted:
		return nil, fmt.Errorf("annotation %sadopt: load balancer %s does not say that it may "+
			"be adopted; give it the annotation %s=%s in the cloud",
			label.AnnotationPrefix, id, annotationAdoptable, wanted)
	}
	to := balancer // later plans change everything but the labels
	to.Labels = withLabels(balancer.Labels, r.labels)
	to.Annotations = lastApplied{}.with(settingAdopted).mergedInto(balancer.Annotations)
	delete(to.Annotations, annotationAdoptable) // the permission applies once, to this Service
	diff := &difference{}
	diff.add(cloud.Update, kindBalancer, balancer.Name, "it is adopted", UpdateLoadBalancer{From: balancer, To: to})
	return diff.plan, nil
}

// GroupsWithoutLabels returns the identities of the target groups that listeners of the Service's load balancer use and
// that lack the Service's labels.
func (c Config) GroupsWithoutLabels(service *corev1.Service, o Observed) []string {
	balancer := o.Balancer()
	if balancer == nil {
		return nil
	}
	var groups []string
	for _, listener := range balancer.Listeners {
		if slices.Contains(o.GroupIDs(), listener.TargetGroup) || slices.Contains(groups, listener.TargetGroup) {
			continue
		}
		if c.left(listener) || hasNameOf(service, listener.Name) || c.serves(service, listener) {
			groups = append(groups, listener.TargetGroup)
		}
	}
	return groups
}

// serves reports whether a listener is that of a port of the Service.
func (c Config) serves(service *corev1.Service, listener resource.Listener) bool {
	wanted, _ := serve(cloud.OwnerOf(c.Cluster, service), service)
	return slices.ContainsFunc(wanted.Ports, func(port cloud.Port) bool {
		return int(port.Port) == listener.Port && protocol(port.Key) == listener.Protocol
	})
}

// left reports whether a Service of this cluster had the listener.
func (c Config) left(listener resource.Listener) bool {
	return listener.Labels[label.Managed] == "true" && listener.Labels[label.Cluster] == c.Cluster
}

// hasNameOf reports whether a listener or target group has a name that is made from the Service's UID.
func hasNameOf(service *corev1.Service, name string) bool {
	return strings.HasPrefix(name, cloudprovider.DefaultLoadBalancerName(service)+"-")
}

// AddGroup adds a target group without the Service's labels, unless load balancers of others use it: one that has the
// Service's name, or one that the Service adopts with its load balancer. With ending, the Service is to have none, and
// adopts only what a Service of this cluster had.
func (c Config) AddGroup(service *corev1.Service, o *Observed, group resource.TargetGroup, ending bool) {
	balancer := *o.Balancer()
	own := contradictingLabel(group.Labels, ownerLabels(cloud.OwnerOf(c.Cluster, service), nil)) == "" &&
		hasNameOf(service, group.Name)
	adopted := lastAppliedOf(balancer.Annotations).has(settingAdopted) && group.Labels[label.ServiceUID] == "" &&
		slices.ContainsFunc(balancer.Listeners, func(listener resource.Listener) bool {
			return listener.TargetGroup == group.ID && (!ending || c.left(listener))
		})
	if (own || adopted) && !usedByOthers(group, balancer) {
		o.Groups = append(o.Groups, group)
	}
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
func (d desired) planRetention(o Observed) cloud.Plan {
	diff := &difference{desired: d, observed: o}
	const why = "it is handed over"
	for _, from := range o.Balancers {
		if from.Deleting() {
			continue
		}
		to := from
		to.Labels, to.Annotations = unmanagedLabels(from.Labels), withoutRecord(from.Annotations)
		diff.add(cloud.Update, kindBalancer, from.Name, why, UpdateLoadBalancer{From: from, To: to})
	}
	for _, from := range o.Groups {
		diff.releaseGroup(from, why, "")
	}
	for _, from := range o.SecurityGroups {
		if !from.Deleting() {
			unused := len(o.Balancers)+len(o.Groups) == 0 // perhaps nothing uses it; only the cloud knows
			diff.releaseSecurityGroup(from, why, "", unused)
		}
	}
	return diff.plan
}
