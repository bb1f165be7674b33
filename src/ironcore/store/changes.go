package store

import (
	"context"
	"maps"
	"slices"

	computev1alpha1 "github.com/ironcore-dev/ironcore/api/compute/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/label"
)

// Changes implements cloud.Changes. It reports that all may have changed when all objects but machine pools have been
// listed, and then each change.
func (s *Store) Changes(ctx context.Context, report func(cloud.Change)) {
	select {
	case <-s.synced:
	case <-ctx.Done():
		return
	}
	s.reports.Changes(ctx, report)
}

// machineChanged reports the Node of a machine. It has the name of the machine.
func (s *Store) machineChanged(was, is *computev1alpha1.Machine) {
	if was == nil || is == nil || !sameMachine(was, is) {
		s.reports.Send(cloud.Change{Node: nameOf(was, is), Routes: true})
	}
}

// sameMachine reports whether two versions of a machine have the same fields that this program reads.
func sameMachine(a, b *computev1alpha1.Machine) bool {
	return a.UID == b.UID && a.DeletionTimestamp.Equal(b.DeletionTimestamp) && a.Status.State == b.Status.State &&
		a.Labels[label.Cluster] == b.Labels[label.Cluster] && poolOf(a) == poolOf(b) &&
		a.Spec.MachineClassRef == b.Spec.MachineClassRef && slices.Equal(InterfaceNames(a), InterfaceNames(b))
}

// poolChanged reports the Nodes of the machines of a pool whose labels have changed.
func (s *Store) poolChanged(was, is *computev1alpha1.MachinePool) {
	if was != nil && is != nil && maps.Equal(was.Labels, is.Labels) {
		return
	}
	for _, machine := range s.Machines.indexed(byPool, nameOf(was, is)) {
		s.reports.Send(cloud.Change{Node: machine.Name})
	}
}

// networkChanged reports that all may have changed when the network of the cluster appears, disappears or is replaced.
func (s *Store) networkChanged(was, is *networkingv1alpha1.Network) {
	if nameOf(was, is) == s.Network && (was == nil || is == nil || was.UID != is.UID) {
		s.reports.Send(cloud.Change{All: true})
	}
}

// interfaceChanged reports the Nodes of the machines that have the network interface, or had it before.
func (s *Store) interfaceChanged(was, is *networkingv1alpha1.NetworkInterface) {
	if was != nil && is != nil && sameInterface(was, is) || s.elsewhere(was) && s.elsewhere(is) {
		return
	}
	nodes := map[string]bool{}
	for _, one := range []*networkingv1alpha1.NetworkInterface{was, is} {
		if one != nil && one.Spec.MachineRef != nil {
			nodes[one.Spec.MachineRef.Name] = true
		}
	}
	for _, machine := range s.Machines.indexed(byInterface, nameOf(was, is)) {
		nodes[machine.Name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		s.reports.Send(cloud.Change{Node: name, Routes: true})
	}
}

// elsewhere reports whether a network interface is in another network than the cluster's, or does not exist.
func (s *Store) elsewhere(one *networkingv1alpha1.NetworkInterface) bool {
	return one == nil || one.Spec.NetworkRef.Name != s.Network
}

// sameInterface reports whether two versions of a network interface have the same fields that this program reads.
func sameInterface(a, b *networkingv1alpha1.NetworkInterface) bool {
	return a.UID == b.UID && a.DeletionTimestamp.Equal(b.DeletionTimestamp) && a.Spec.ProviderID == b.Spec.ProviderID &&
		a.Labels[label.Cluster] == b.Labels[label.Cluster] &&
		a.Annotations[label.Routes] == b.Annotations[label.Routes] && a.Status.State == b.Status.State &&
		ptr.Equal(a.Spec.MachineRef, b.Spec.MachineRef) &&
		slices.EqualFunc(a.Spec.Prefixes, b.Spec.Prefixes, samePrefix) &&
		slices.Equal(a.Status.IPs, b.Status.IPs) && ptr.Equal(a.Status.VirtualIP, b.Status.VirtualIP)
}

// samePrefix reports whether two prefixes are the same static one, or both are ephemeral: those are not read.
func samePrefix(a, b networkingv1alpha1.PrefixSource) bool { return ptr.Equal(a.Value, b.Value) }

// loadBalancerChanged reports the Services that a load balancer belongs to, and belonged to before. One whose
// destinations IronCore begins to choose concerns those without a selector, too: they stop IronCore.
func (s *Store) loadBalancerChanged(was, is *networkingv1alpha1.LoadBalancer) {
	services := map[types.NamespacedName]bool{}
	if was != nil {
		services[s.serviceOf(was)] = true
	}
	if is != nil {
		services[s.serviceOf(is)] = true
	}
	if is != nil && label.SelectsInterfaces(is) && (was == nil || !label.SelectsInterfaces(was)) {
		for _, one := range s.LoadBalancers.indexed(bySelector, is.Spec.NetworkRef.Name+withoutSelector) {
			services[s.serviceOf(one)] = true
		}
	}
	s.reportServices(services)
}

// routingChanged reports the Services that a routing belongs to. A routing of another program has no annotations: it
// has the name of its load balancer.
func (s *Store) routingChanged(was, is *networkingv1alpha1.LoadBalancerRouting) {
	services := map[types.NamespacedName]bool{}
	if was != nil {
		services[s.serviceOf(was)] = true
	}
	if is != nil {
		services[s.serviceOf(is)] = true
	}
	if balancer, exists := s.LoadBalancers.Get(nameOf(was, is)); exists {
		services[s.serviceOf(balancer)] = true
	}
	s.reportServices(services)
}

// serviceOf returns the Service of this cluster that an object belongs to; the zero value if there is none.
func (s *Store) serviceOf(object metav1.Object) types.NamespacedName {
	owner := label.OwnerOf(object)
	if !label.MayBe(owner.Cluster, s.Cluster) {
		return types.NamespacedName{}
	}
	return owner.Service
}

func (s *Store) reportServices(services map[types.NamespacedName]bool) {
	for service := range services {
		if service.Name != "" {
			s.reports.Send(cloud.Change{Service: service})
		}
	}
}

// nameOf returns the name of an object before or after a change.
func nameOf[T interface {
	comparable
	Object
}](was, is T) string {
	var none T
	if is != none {
		return is.GetName()
	}
	return was.GetName()
}
