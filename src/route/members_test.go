package route

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestOthersTakeNoPart: a Node of another cloud, and one whose owner asked for that, get neither routes nor events nor a condition, and routes
// that lead to them are others'. A Node beside them is served as ever.
func TestOthersTakeNoPart(t *testing.T) {
	for name, leave := range map[string]func(*corev1.Node){
		"another cloud": func(n *corev1.Node) { n.Spec.ProviderID = "aws:///eu-1a/i-1" },
		"label":         func(n *corev1.Node) { n.Labels = map[string]string{"k8s.example.com/exclude-from-routes": "true"} },
		"annotation":    func(n *corev1.Node) { n.Annotations = map[string]string{"k8s.example.com/exclude-from-routes": ""} },
	} {
		t.Run(name, func(t *testing.T) {
			inRig(t, func(r *rig) {
				routed, lonely := node("h", "10.0.0.77", "10.244.77.0/24"), node("i", "10.0.0.78", "10.244.78.0/24")
				leave(routed)
				leave(lonely)
				r.cloud.byHand("main", "10.244.77.0/24", "10.0.0.250")
				r.cloud.byHand("main", "10.244.79.0/24", "10.0.0.77")
				r.cloud.set(func(p *plain) { p.living[Addresses(node("v", "10.0.0.250"))[0]] = true })
				r.join(routed, lonely, node("a", "10.0.0.1", "10.244.1.0/24"))
				r.start()
				r.later()
				wantIs(r, "writes", r.wrote(), "create main 10.244.1.0/24 by 10.0.0.1")
				wantIs(r, "events", r.told(), "")
				wantIs(r, "condition of one with a route", r.condition("h"), "")
				wantIs(r, "condition of one without", r.condition("i"), "")
				wantIs(r, "condition of the Node beside", r.condition("a"), "False RouteCreated")
			})
		})
	}
}

// TestNodeIsExcluded while it waits, or has its routes: it loses them, and says no more that it lacks some. When it takes part again, it is
// served.
func TestNodeIsExcluded(t *testing.T) {
	inRig(t, func(r *rig) {
		r.cloud.byHand("main", "10.244.2.0/24", "")
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"), node("b", "10.0.0.2", "10.244.2.0/24"))
		r.start()
		wantIs(r, "condition of one that waits", r.condition("b"), "True NoRouteCreated")
		r.told()
		exclude := func(n *corev1.Node) { n.Annotations = map[string]string{"k8s.example.com/exclude-from-routes": "true"} }
		r.changeNode("a", exclude)
		r.changeNode("b", exclude)
		r.settle()
		wantIs(r, "routes", r.has(), "main 10.244.2.0/24 by no address")
		wantIs(r, "condition", r.condition("b"), "False RouteCreated")
		r.changeNode("a", func(n *corev1.Node) { n.Annotations = nil })
		r.settle()
		wantIs(r, "routes", r.has(), "main 10.244.1.0/24 by 10.0.0.1, main 10.244.2.0/24 by no address")
		wantIs(r, "events", r.told(), "")
	})
}

// TestUnserved Nodes are told, and say so as long as they have not said that they have their routes; the others are served.
func TestUnserved(t *testing.T) {
	inRig(t, func(r *rig) {
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"))
		r.start()
		r.cloud.set(func(p *plain) {
			p.unserved = map[string]string{"a": "its table is not shown", "b": "its table is not shown", "c": "its table is not shown"}
		})
		r.join(node("b", "10.0.0.2", "10.244.2.0/24"), node("c", "10.0.0.3"))
		r.settle()
		wantIs(r, "routes", r.has(), "main 10.244.1.0/24 by 10.0.0.1, main 10.244.2.0/24 by 10.0.0.2")
		wantIs(r, "events", r.told(), "Warning RouteTableNotFound, Warning RouteTableNotFound, Warning RouteTableNotFound")
		wantIs(r, "condition of one that has its routes", r.condition("a"), "False RouteCreated")
		wantIs(r, "condition of one that comes", r.condition("b"), "True NoRouteCreated")
		wantIs(r, "condition of one without pods", r.condition("c"), "")
		r.cloud.set(func(p *plain) { p.unserved = nil })
		r.later()
		wantIs(r, "condition at the end", r.condition("b"), "False RouteCreated")
	})
}
