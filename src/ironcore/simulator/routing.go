package simulator

import (
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/simulator/role"
)

// routeInterface writes the routings of the load balancers that select a network interface, or did before a change.
// IronCore's controller stops at the first load balancer in the network that has no selector. Its cache has no order,
// so that here such a load balancer is always the first one.
func (s *Simulator) routeInterface(nic, before *networkingv1alpha1.NetworkInterface) {
	var selecting []key
	for _, o := range s.list(s.kindNamed("LoadBalancer"), nic.Namespace) {
		lb, _ := o.Object.(*networkingv1alpha1.LoadBalancer)
		if lb.Spec.NetworkRef == nic.Spec.NetworkRef && lb.Spec.NetworkInterfaceSelector == nil {
			return
		}
		if role.Selects(lb, nic) || before != nil && role.Selects(lb, before) {
			selecting = append(selecting, keyOf(lb))
		}
	}
	for _, lb := range selecting {
		s.route(lb)
	}
}

// routeOwner writes the routing of a load balancer again after a change or a deletion of the routing.
func (s *Simulator) routeOwner(routing *networkingv1alpha1.LoadBalancerRouting) {
	owner := metav1.GetControllerOfNoCopy(routing)
	if owner == nil || owner.Kind != "LoadBalancer" {
		return
	}
	s.route(key{routing.Namespace, owner.Name})
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
	network, _ := n.Object.(*networkingv1alpha1.Network)
	var nics []*networkingv1alpha1.NetworkInterface
	for _, o := range s.list(s.kindNamed("NetworkInterface"), lb.Namespace) {
		nic, _ := o.Object.(*networkingv1alpha1.NetworkInterface)
		nics = append(nics, nic)
	}
	s.applyRouting(role.Routing(lb, network, nics))
}

// applyRouting applies a routing as IronCore's controller does.
func (s *Simulator) applyRouting(routing *networkingv1alpha1.LoadBalancerRouting) {
	k := s.kindNamed("LoadBalancerRouting")
	body, err := role.RoutingBody(routing)
	if err != nil {
		return
	}
	c := call{kind: k, query: map[string][]string{"fieldManager": {role.RoutingManager}, "force": {"true"}}}
	c.Namespace, c.Name, c.Manager = routing.Namespace, routing.Name, role.RoutingManager
	c.Body = string(body)
	_, _, _ = s.serveApply(c)
}
