package simulator

import (
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/simulator/role"
)

// routeInterface writes the routings of the load balancers that select a network interface, or did before a change.
func (s *Simulator) routeInterface(nic, before *networkingv1alpha1.NetworkInterface) {
	for _, o := range s.list(s.kindNamed("LoadBalancer"), nic.Namespace) {
		lb, _ := o.Object.(*networkingv1alpha1.LoadBalancer)
		if role.Selects(lb, nic) || before != nil && role.Selects(lb, before) {
			s.route(keyOf(lb))
		}
	}
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
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(routing)
	if err != nil {
		return
	}
	unstructured.RemoveNestedField(content, "metadata", "creationTimestamp")
	c := call{kind: k, query: map[string][]string{"fieldManager": {role.RoutingManager}, "force": {"true"}}}
	c.Namespace, c.Name, c.Manager = routing.Namespace, routing.Name, role.RoutingManager
	c.Body = string(encode(content))
	_, _, _ = s.serveApply(c)
}
