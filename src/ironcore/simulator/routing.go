package simulator

import (
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/thalassa-cloud/thalassa-ccm/src/apiserver"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/simulator/role"
)

// routeInterface writes the routings of the load balancers that select a network interface, or did before a change.
// IronCore's controller stops at the first load balancer in the network that has no selector. Its cache has no order,
// so that here such a load balancer is always the first one.
func (n *network) routeInterface(objects apiserver.State, nic, before *networkingv1alpha1.NetworkInterface) {
	var selecting []types.NamespacedName
	for _, lb := range apiserver.List[*networkingv1alpha1.LoadBalancer](objects, nic.Namespace) {
		if lb.Spec.NetworkRef == nic.Spec.NetworkRef && lb.Spec.NetworkInterfaceSelector == nil {
			return
		}
		if role.Selects(lb, nic) || before != nil && role.Selects(lb, before) {
			selecting = append(selecting, apiserver.NameOf(lb))
		}
	}
	for _, lb := range selecting {
		n.route(objects, lb)
	}
}

// routeOwner writes the routing of a load balancer again after a change or a deletion of the routing.
func (n *network) routeOwner(objects apiserver.State, routing *networkingv1alpha1.LoadBalancerRouting) {
	owner := metav1.GetControllerOfNoCopy(routing)
	if owner == nil || owner.Kind != "LoadBalancer" {
		return
	}
	n.route(objects, types.NamespacedName{Namespace: routing.Namespace, Name: owner.Name})
}

// route writes the routing of a load balancer that has a selector, at once or soon.
func (n *network) route(objects apiserver.State, lb types.NamespacedName) {
	if n.routing[lb] {
		return
	}
	n.routing[lb] = true
	objects.In(n.options.Routing, func(objects apiserver.State) {
		delete(n.routing, lb)
		writeRouting(objects, lb)
	})
}

// writeRouting applies the routing of a load balancer as IronCore's controller does.
func writeRouting(objects apiserver.State, of types.NamespacedName) {
	lb, exists := apiserver.Find[*networkingv1alpha1.LoadBalancer](objects, of)
	if !exists || lb.Spec.NetworkInterfaceSelector == nil || lb.DeletionTimestamp != nil {
		return
	}
	network, exists := apiserver.Find[*networkingv1alpha1.Network](objects,
		types.NamespacedName{Namespace: of.Namespace, Name: lb.Spec.NetworkRef.Name})
	if !exists {
		return
	}
	routing := role.Routing(lb, network, apiserver.List[*networkingv1alpha1.NetworkInterface](objects, lb.Namespace))
	if body, err := role.RoutingBody(routing); err == nil {
		_ = objects.Apply(routing, role.RoutingManager, body)
	}
}
