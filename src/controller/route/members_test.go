package route

import (
	"net/netip"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/api"
)

// TestOthersTakeNoPart: a Node of another cloud, and one whose owner asked for that, get neither routes nor events nor
// a condition, and routes that lead to them are others'. A Node beside them is served as ever.
func TestOthersTakeNoPart(t *testing.T) {
	for name, leave := range map[string]func(*corev1.Node){
		"another cloud": func(n *corev1.Node) { n.Spec.ProviderID = "aws:///eu-1a/i-1" },
		"label": func(n *corev1.Node) {
			n.Labels = map[string]string{"k8s.example.com/exclude-from-routes": "true"}
		},
		"annotation": func(n *corev1.Node) {
			n.Annotations = map[string]string{"k8s.example.com/exclude-from-routes": ""}
		},
	} {
		t.Run(name, func(t *testing.T) {
			inRig(t, func(r *rig) {
				routed, lonely := node("h", "10.0.0.77", "10.244.77.0/24"), node("i", "10.0.0.78", "10.244.78.0/24")
				leave(routed)
				leave(lonely)
				r.cloud.byHand("main", "10.244.77.0/24", "10.0.0.250")
				r.cloud.byHand("main", "10.244.78.0/25", "10.0.0.1") // by a Node that passes packets on
				r.cloud.byHand("main", "10.244.79.0/24", "10.0.0.77")
				r.join(routed, lonely, node("a", "10.0.0.1", "10.244.1.0/24"))
				r.start()
				<-time.After(4 * driftPeriod)
				wantIs(r, "writes", r.wrote(), "create main 10.244.1.0/24 by 10.0.0.1")
				wantIs(r, "events", r.told(), "")
				wantIs(r, "condition of one with a route", r.condition("h"), "")
				wantIs(r, "condition of one without", r.condition("i"), "")
				wantIs(r, "condition of the Node beside", r.condition("a"), "False RouteCreated")
			})
		})
	}
}

// TestNetworksOfOthers are no younger Node's: it gets no route, and is told. An older one keeps its own, and has it
// mended.
func TestNetworksOfOthers(t *testing.T) {
	tests := map[string]struct{ theirs, young string }{
		"same": {"10.244.77.0/24", "10.244.77.0/24"}, "a part": {"10.244.64.0/20", "10.244.77.0/24"},
		"around": {"10.244.77.0/24", "10.244.64.0/20"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			inRig(t, func(r *rig) {
				hybrid := node("h", "", "10.244.1.0/24", tt.theirs)
				hybrid.Spec.ProviderID = "aws:///eu-1a/i-1"
				r.cloud.byHand("main", tt.theirs, "10.0.0.250")
				r.cloud.byHand("main", "10.244.1.0/24", "10.0.0.2")
				r.join(node("a", "10.0.0.1", "10.244.1.0/24"), hybrid, node("b", "10.0.0.2", tt.young))
				r.start()
				<-time.After(4 * driftPeriod)
				wantIs(r, "writes", r.wrote(), "change main 10.244.1.0/24 from 10.0.0.2 to 10.0.0.1")
				wantIs(r, "events", r.told(), "Warning PodCIDRTaken")
				wantIs(r, "condition of the older one", r.condition("a"), created)
				wantIs(r, "condition of the younger one", r.condition("b"), unavailable)
				r.leave("h")
				r.cloud.loses("main", tt.theirs)
				r.later()
				wantIs(r, "writes without it", r.wrote(), "create main "+tt.young+" by 10.0.0.2")
			})
		})
	}
}

// pretends is a rig with a Node x of which it is not sure that it runs on its machine, 10.0.0.7, to which somebody has
// a route, and a Node a beside it. Both have their routes.
func pretends(t *testing.T, test func(*rig)) {
	t.Helper()
	for name, disguise := range map[string]func(*rig, *corev1.Node){
		"joining": func(_ *rig, x *corev1.Node) {
			x.Spec.Taints = []corev1.Taint{{Key: api.TaintExternalCloudProvider, Value: "true",
				Effect: corev1.TaintEffectNoSchedule}}
		},
		"another's machine": func(r *rig, _ *corev1.Node) { r.cloud.set(func(p *plain) { p.posing = "x" }) },
	} {
		t.Run(name, func(t *testing.T) {
			inRig(t, func(r *rig) {
				x := node("x", "10.0.0.7", "10.244.5.0/24")
				disguise(r, x)
				r.cloud.byHand("main", "10.244.77.0/24", "10.0.0.7")
				r.join(node("a", "10.0.0.1", "10.244.1.0/24"), x)
				r.start()
				wantIs(r, "writes at the start", r.wrote(),
					"create main 10.244.1.0/24 by 10.0.0.1, create main 10.244.5.0/24 by 10.0.0.7")
				test(r)
				wantIs(r, "events", r.told(), "")
			})
		})
	}
}

// TestUnconfirmedNodes get their own routes, which are changed and removed with them as any other's. That of somebody
// else to the machine that they say they run on stays.
func TestUnconfirmedNodes(t *testing.T) {
	pretends(t, func(r *rig) {
		<-time.After(4 * driftPeriod)
		wantIs(r, "writes", r.wrote(), "")
		wantIs(r, "condition", r.condition("x"), created)
		r.changeNode("x", func(n *corev1.Node) { n.Spec.PodCIDRs = []string{"10.244.6.0/24"} })
		r.settle()
		wantIs(r, "writes with another network", r.wrote(),
			"create main 10.244.6.0/24 by 10.0.0.7, delete main 10.244.5.0/24 by 10.0.0.7")
		r.cloud.set(func(p *plain) { p.living[netip.MustParseAddr("10.0.0.8")] = true })
		r.changeNode("x", func(n *corev1.Node) { n.Status.Addresses = node("x", "10.0.0.8").Status.Addresses })
		r.settle()
		wantIs(r, "writes with another address", r.wrote(), "change main 10.244.6.0/24 from 10.0.0.7 to 10.0.0.8")
		r.leave("x")
		r.settle()
		wantIs(r, "routes without it", r.has(), "main 10.244.1.0/24 by 10.0.0.1, main 10.244.77.0/24 by 10.0.0.7")
	})
}

// TestUnconfirmedNodesAfterRestart have the routes that they need, whoever made them, and nothing is in their way. What
// they leave goes once nobody has the address any more: that the cluster made it is not known.
func TestUnconfirmedNodesAfterRestart(t *testing.T) {
	pretends(t, func(r *rig) {
		r.start()
		<-time.After(4 * driftPeriod)
		wantIs(r, "writes", r.wrote(), "")
		wantIs(r, "condition", r.condition("x"), created)
		r.leave("x")
		<-time.After(4 * driftPeriod)
		wantIs(r, "writes while the machine is there", r.wrote(), "")
		r.end("10.0.0.7")
		r.later()
		wantIs(r, "events when it is not", r.told(), "Warning RouteLeftBehind")
		r.later()
		wantIs(r, "routes in the end", r.has(), "main 10.244.1.0/24 by 10.0.0.1")
	})
}

// TestNodeIsConfirmed: from then on routes to its addresses are the cluster's, as soon as the last taint of a Node that
// joins is gone.
func TestNodeIsConfirmed(t *testing.T) {
	pretends(t, func(r *rig) {
		r.cloud.set(func(p *plain) { p.posing = "" })
		if joining(r.node("x")) {
			r.changeNode("x", func(n *corev1.Node) { n.Spec.Taints = nil })
		} else {
			r.later()
		}
		r.settle()
		wantIs(r, "writes", r.wrote(), "delete main 10.244.77.0/24 by 10.0.0.7")
	})
}

// TestOverlap is asked for networks of any length, among some that are within others.
func TestOverlap(t *testing.T) {
	o := othersOf([]*corev1.Node{node("h", "", "10.244.77.0/24", "10.244.16.0/20"), node("i", "", "10.244.17.0/24",
		"10.244.18.0/24", "fd00:244:0:9::/64", "oops")}, nil)
	for text, want := range map[string]bool{
		"10.244.77.0/24": true, "10.244.77.128/25": true, "10.244.76.0/23": true, "10.244.0.0/16": true,
		"10.244.31.0/24": true, "10.244.18.0/28": true, "::/0": true,
		"fd00:244:0:9:1::/80": true, "10.244.76.0/24": false, "10.244.78.0/24": false, "10.244.32.0/20": false,
		"10.244.0.0/20": false, "fd00:244:0:a::/64": false, "::/16": false,
	} {
		if got := o.overlap(netip.MustParsePrefix(text)); got != want {
			t.Errorf("%s: overlaps %v, want %v", text, got, want)
		}
	}
	if (others{}).overlap(netip.MustParsePrefix("10.244.0.0/16")) {
		t.Error("it overlaps nothing")
	}
}

// TestNodeIsExcluded while it waits, or has its routes: it loses them, and says no more that it lacks some. When it
// takes part again, it is served.
func TestNodeIsExcluded(t *testing.T) {
	inRig(t, func(r *rig) {
		r.cloud.byHand("main", "10.244.2.0/24", "")
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"), node("b", "10.0.0.2", "10.244.2.0/24"))
		r.start()
		wantIs(r, "condition of one that waits", r.condition("b"), "True NoRouteCreated")
		r.told()
		exclude := func(n *corev1.Node) {
			n.Annotations = map[string]string{"k8s.example.com/exclude-from-routes": "true"}
		}
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

// TestUnserved Nodes are told, and say so as long as they have not said that they have their routes; the others are
// served.
func TestUnserved(t *testing.T) {
	inRig(t, func(r *rig) {
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"))
		r.start()
		r.cloud.set(func(p *plain) {
			p.unserved = map[string]string{"a": "its table is not shown", "b": "its table is not shown",
				"c": "its table is not shown"}
		})
		r.join(node("b", "10.0.0.2", "10.244.2.0/24"), node("c", "10.0.0.3"))
		r.settle()
		wantIs(r, "routes", r.has(), "main 10.244.1.0/24 by 10.0.0.1, main 10.244.2.0/24 by 10.0.0.2")
		wantIs(r, "events", r.told(),
			"Warning RouteTableNotFound, Warning RouteTableNotFound, Warning RouteTableNotFound")
		wantIs(r, "condition of one that has its routes", r.condition("a"), "False RouteCreated")
		wantIs(r, "condition of one that comes", r.condition("b"), "True NoRouteCreated")
		wantIs(r, "condition of one without pods", r.condition("c"), "")
		r.cloud.set(func(p *plain) { p.unserved = nil })
		r.later()
		wantIs(r, "condition at the end", r.condition("b"), "False RouteCreated")
	})
}

// TestOwnRouteOfAnUnsureNode: when its machine got another address while no process ran, and another machine has the
// old one, its route is as good as a stranger's. That is told, and over when somebody removes it.
func TestOwnRouteOfAnUnsureNode(t *testing.T) {
	inRig(t, func(r *rig) {
		r.cloud.set(func(p *plain) { p.posing = "x" })
		r.join(node("x", "10.0.0.7", "10.244.5.0/24"))
		r.start()
		r.process.End()
		r.changeNode("x", func(n *corev1.Node) { n.Status.Addresses = node("x", "10.0.0.8").Status.Addresses })
		r.start()
		wantIs(r, "routes", r.has(), "main 10.244.5.0/24 by 10.0.0.7")
		wantIs(r, "events", r.told(), "Warning RouteConflict")
		wantIs(r, "condition", r.condition("x"), unavailable)
		r.cloud.loses("main", "10.244.5.0/24")
		r.later()
		wantIs(r, "routes without it", r.has(), "main 10.244.5.0/24 by 10.0.0.8")
		wantIs(r, "condition without it", r.condition("x"), created)
	})
}
