package simulator

import (
	"slices"

	commonv1alpha1 "github.com/ironcore-dev/ironcore/api/common/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
)

// routingManager is the field manager of IronCore's controller of load balancers.
const routingManager = "loadbalancers.networking.ironcore.dev"

// routeInterface writes the routings of the load balancers that select a network interface, or did before a change.
func (s *Simulator) routeInterface(nic, before *networkingv1alpha1.NetworkInterface) {
	for _, o := range s.list(s.kindNamed("LoadBalancer"), nic.Namespace) {
		lb, _ := o.Object.(*networkingv1alpha1.LoadBalancer)
		if selects(lb, nic) || before != nil && selects(lb, before) {
			s.route(keyOf(lb))
		}
	}
}

// selects means that IronCore writes the routing of a load balancer, with this network interface.
func selects(lb *networkingv1alpha1.LoadBalancer, nic *networkingv1alpha1.NetworkInterface) bool {
	if lb.Spec.NetworkInterfaceSelector == nil || lb.Spec.NetworkRef != nic.Spec.NetworkRef {
		return false
	}
	selector, err := metav1.LabelSelectorAsSelector(lb.Spec.NetworkInterfaceSelector)
	return err == nil && selector.Matches(labels.Set(nic.Labels))
}

// route writes the routing of a load balancer that has a selector, at once or soon.
func (s *Simulator) route(lb key) {
	if s.network.routing[lb] {
		return
	}
	s.network.routing[lb] = true
	s.in(s.options.Routing, func() {
		delete(s.network.routing, lb)
		s.writeRouting(lb)
	})
}

func (s *Simulator) writeRouting(of key) {
	o := s.objects[s.kindNamed("LoadBalancer")][of]
	lb, _ := o.Object.(*networkingv1alpha1.LoadBalancer)
	if lb == nil || lb.Spec.NetworkInterfaceSelector == nil || lb.DeletionTimestamp != nil {
		return
	}
	n, ok := s.objects[s.kindNamed("Network")][key{of.namespace, lb.Spec.NetworkRef.Name}]
	if !ok {
		return
	}
	routing := &networkingv1alpha1.LoadBalancerRouting{
		ObjectMeta: metav1.ObjectMeta{Namespace: lb.Namespace, Name: lb.Name, OwnerReferences: []metav1.OwnerReference{
			*metav1.NewControllerRef(lb, networkingv1alpha1.SchemeGroupVersion.WithKind("LoadBalancer")),
		}},
		NetworkRef:   commonv1alpha1.LocalObjUIDRef(n),
		Destinations: s.destinations(lb),
	}
	routing.OwnerReferences[0].BlockOwnerDeletion = nil
	s.applyRouting(routing)
}

// destinations are all addresses of all available network interfaces that a load balancer selects.
func (s *Simulator) destinations(lb *networkingv1alpha1.LoadBalancer) []networkingv1alpha1.LoadBalancerDestination {
	destinations := []networkingv1alpha1.LoadBalancerDestination{}
	for _, o := range s.list(s.kindNamed("NetworkInterface"), lb.Namespace) {
		nic, _ := o.Object.(*networkingv1alpha1.NetworkInterface)
		if nic.Status.State != networkingv1alpha1.NetworkInterfaceStateAvailable || !selects(lb, nic) {
			continue
		}
		for _, ip := range nic.Status.IPs {
			destinations = append(destinations, networkingv1alpha1.LoadBalancerDestination{
				IP: ip, TargetRef: &networkingv1alpha1.LoadBalancerTargetRef{
					UID: nic.UID, Name: nic.Name, ProviderID: nic.Spec.ProviderID,
				},
			})
		}
	}
	return slices.Clip(destinations)
}

// applyRouting applies a routing as IronCore's controller does.
func (s *Simulator) applyRouting(routing *networkingv1alpha1.LoadBalancerRouting) {
	k := s.kindNamed("LoadBalancerRouting")
	routing.GetObjectKind().SetGroupVersionKind(k.GroupVersionKind)
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(routing)
	if err != nil {
		return
	}
	unstructured.RemoveNestedField(content, "metadata", "creationTimestamp")
	c := call{kind: k, query: map[string][]string{"fieldManager": {routingManager}, "force": {"true"}}}
	c.Namespace, c.Name, c.Manager, c.Body = routing.Namespace, routing.Name, routingManager, string(encode(content))
	_, _, _ = s.serveApply(c)
}
