package balancer

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// Observed is the actual state of a Service: all objects in the inventory with the Service's UID, and those that are
// recognised or adopted without it.
type Observed struct {
	Balancers      []resource.LoadBalancer // oldest first; there is more than one only after a failure
	Groups         []resource.TargetGroup
	SecurityGroups []resource.SecurityGroup
	// Recognised are load balancers that may be the Service's and lack its labels.
	Recognised Recognition
	// GroupsError is why the security groups are not known; nil if they are, or if none is needed.
	GroupsError error
}

// Balancer returns the load balancer that is in use, nil if there is none.
func (o Observed) Balancer() *resource.LoadBalancer {
	if len(o.Balancers) == 0 {
		return nil
	}
	return &o.Balancers[0]
}

// ordered returns the objects in an order that does not depend on that of the cloud's lists: load balancers from the
// oldest on, the others by identity. The lists themselves do not change.
func (o Observed) ordered() Observed {
	o.Balancers, o.Groups, o.SecurityGroups = slices.Clone(o.Balancers), slices.Clone(o.Groups),
		slices.Clone(o.SecurityGroups)
	slices.SortFunc(o.Balancers, byAge)
	for i := range o.Balancers {
		listeners := slices.Clone(o.Balancers[i].Listeners)
		slices.SortFunc(listeners, func(a, b resource.Listener) int { return cmp.Compare(a.ID, b.ID) })
		o.Balancers[i].Listeners = listeners
	}
	slices.SortFunc(o.Groups, func(a, b resource.TargetGroup) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(o.SecurityGroups, func(a, b resource.SecurityGroup) int { return cmp.Compare(a.ID, b.ID) })
	return o
}

// byAge compares load balancers by their age, the oldest first.
func byAge(a, b resource.LoadBalancer) int {
	return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
}

// securityGroup returns the security group that was created for the Service and is not being deleted; nil if there is
// none.
func (o Observed) securityGroup() *resource.SecurityGroup {
	for i := range o.SecurityGroups {
		if !o.SecurityGroups[i].Deleting() {
			return &o.SecurityGroups[i]
		}
	}
	return nil
}

// listener returns the listener of a port, nil if there is none.
func (o Observed) listener(key cloud.Key) *resource.Listener {
	if len(o.Balancers) == 0 {
		return nil
	}
	return listenerOf(o.Balancers[0], key)
}

// HasBalancer reports whether a load balancer with the identity is the Service's.
func (o Observed) HasBalancer(id string) bool {
	return slices.ContainsFunc(o.Balancers, func(lb resource.LoadBalancer) bool { return lb.ID == id })
}

// String names all objects, with the status of load balancers.
func (o Observed) String() string {
	var names []string
	for _, balancer := range o.Balancers {
		names = append(names, fmt.Sprintf("load balancer %s (status %q)", balancer.Name, balancer.Status))
	}
	for _, group := range o.Groups {
		names = append(names, kindGroup+" "+group.Name)
	}
	for _, group := range o.SecurityGroups {
		names = append(names, kindSecurityGroup+" "+group.Name)
	}
	return strings.Join(names, ", ")
}

// Empty reports whether the cloud contains no object of the Service.
func (o Observed) Empty() bool {
	return len(o.Balancers) == 0 && len(o.Groups) == 0 && len(o.SecurityGroups) == 0
}

// group returns the port's target group: the one that its listener uses, unless that is another port's, else one with
// the port's labels.
func (o Observed) group(labels resource.Labels, listener *resource.Listener) *resource.TargetGroup {
	for i := range o.Groups {
		group := &o.Groups[i]
		another := group.Labels[label.ServicePort] != "" &&
			(group.Labels[label.ServicePort] != labels[label.ServicePort] ||
				group.Labels[label.ServiceProtocol] != labels[label.ServiceProtocol])
		if listener != nil && group.ID == listener.TargetGroup && !another {
			return group
		}
	}
	for i := range o.Groups {
		if o.Groups[i].Labels[label.ServicePort] == labels[label.ServicePort] &&
			o.Groups[i].Labels[label.ServiceProtocol] == labels[label.ServiceProtocol] {
			return &o.Groups[i]
		}
	}
	return nil
}

// Unfinished reports whether the creation of a load balancer was interrupted. A security group that the Service does
// not ask for any more may have been created before.
func (o Observed) Unfinished() bool { return o.Balancer() == nil && len(o.Groups) > 0 }

// asksInternal reads the annotations as the existing CCM does, for load balancers that it created.
func asksInternal(service *corev1.Service) bool {
	internal, _ := strconv.ParseBool(strings.TrimSpace(service.Annotations[label.AnnotationPrefix+nameInternal]))
	return internal || service.Annotations[label.AnnotationPrefix+nameType] == typeInternal
}

// ServesNow reports whether the load balancer has an address that the Service publishes, according to the annotations
// that the existing CCM reads.
func ServesNow(service *corev1.Service, balancer resource.LoadBalancer) bool {
	return len(published(service, asksInternal(service), balancer)) > 0
}

// MayHaveSecurityGroup reports whether a security group may have been created for the Service. Only then are security
// groups listed, because credentials without permission to read them are allowed.
func (c Config) MayHaveSecurityGroup(service *corev1.Service, balancer *resource.LoadBalancer) bool {
	_, asked := service.Annotations[label.AnnotationPrefix+nameCreateGroup]
	return asked || c.createsGroups || HadOwnGroup(balancer)
}

// HadOwnGroup reports whether the load balancer's record says that its Service has, or had, a security group of its
// own.
func HadOwnGroup(balancer *resource.LoadBalancer) bool {
	return balancer != nil && lastAppliedOf(balancer.Annotations).has(settingOwnGroup)
}

// ManagedObjects returns the objects that Services own, given all objects with the labels of this cluster, and the load
// balancers that lack labels.
func ManagedObjects(all []resource.LoadBalancer, groups []resource.TargetGroup,
	securityGroups []resource.SecurityGroup, unlabelled []resource.LoadBalancer) []cloud.ManagedObject {
	owned := make([]cloud.ManagedObject, 0, len(all)+len(groups)+len(securityGroups))
	for _, balancer := range all {
		one := owner(balancer.Labels, balancer.Annotations, kindBalancer, balancer.Name, balancer.ID, balancer.Status)
		one.Retained = lastAppliedOf(balancer.Annotations).has(settingRetain)
		owned = append(owned, one)
	}
	owned = append(owned, unlabelledOf(groups, unlabelled)...)
	for _, group := range groups {
		owned = append(owned, owner(group.Labels, group.Annotations, kindGroup, group.Name, group.ID, ""))
	}
	for _, group := range securityGroups {
		owned = append(owned, owner(group.Labels, group.Annotations, kindSecurityGroup, group.Name, group.ID,
			group.Status))
	}
	return slices.DeleteFunc(owned, func(one cloud.ManagedObject) bool { return one.UID == "" })
}

// owner returns the Service that an object with these labels and annotations belongs to.
func owner(labels, annotations resource.Labels, kind, name, identity, state string) cloud.ManagedObject {
	return cloud.ManagedObject{
		Service: types.NamespacedName{Namespace: labels[label.ServiceNamespace], Name: labels[label.ServiceName]},
		UID:     types.UID(labels[label.ServiceUID]), ClusterUID: types.UID(annotations[label.ClusterUID]),
		Kind: kind, Name: name, Identity: identity, State: state,
	}
}

// unlabelledOf returns the load balancers that lost labels and certainly belong to a Service, which may not exist any
// more: they use a target group with the Service's labels, and their name is made from its UID.
func unlabelledOf(groups []resource.TargetGroup, balancers []resource.LoadBalancer) []cloud.ManagedObject {
	labels := map[string]resource.Labels{} // by identity of a target group
	for _, group := range groups {
		labels[group.ID] = group.Labels
	}
	var found []cloud.ManagedObject
	for _, balancer := range balancers {
		for _, listener := range balancer.Listeners {
			of := labels[listener.TargetGroup]
			deleted := &corev1.Service{ObjectMeta: metav1.ObjectMeta{UID: types.UID(of[label.ServiceUID])}}
			if deleted.UID != "" && balancer.Name == cloudprovider.DefaultLoadBalancerName(deleted) {
				one := owner(of, balancer.Annotations, kindBalancer, balancer.Name, balancer.ID, balancer.Status)
				one.Unlabelled = true
				found = append(found, one)
				break
			}
		}
	}
	return found
}

// GroupIDs are the identities of the Service's target groups and security groups.
func (o Observed) GroupIDs() []string {
	var ids []string
	for _, group := range o.Groups {
		ids = append(ids, group.ID)
	}
	for _, group := range o.SecurityGroups {
		ids = append(ids, group.ID)
	}
	return ids
}

// complete reports whether the security groups were read.
func (o Observed) complete() bool { return o.GroupsError == nil }
