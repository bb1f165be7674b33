package route

import (
	"net/netip"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/api"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/nodeipam"
)

// TestNodesThatAreNotMembers: Nodes of other clouds and excluded Nodes get neither routes nor events nor a condition,
// and routes to them are not changed. Other Nodes get their routes.
func TestNodesThatAreNotMembers(t *testing.T) {
	for name, exclude := range map[string]func(*corev1.Node){
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
				routed, unrouted := node("h", "10.0.0.77", "10.244.77.0/24"), node("i", "10.0.0.78", "10.244.78.0/24")
				exclude(routed)
				exclude(unrouted)
				r.cloud.createByHand("main", "10.244.77.0/24", "10.0.0.250")
				r.cloud.createByHand("main", "10.244.78.0/25", "10.0.0.1") // by a Node that forwards packets
				r.cloud.createByHand("main", "10.244.79.0/24", "10.0.0.77")
				r.join(routed, unrouted, node("a", "10.0.0.1", "10.244.1.0/24"))
				r.start()
				<-time.After(4 * driftPeriod)
				wantIs(r, "writes", r.writes(), "create main 10.244.1.0/24 by 10.0.0.1")
				wantIs(r, "events", r.events(), "")
				wantIs(r, "condition of one with a route", r.condition("h"), "")
				wantIs(r, "condition of one without", r.condition("i"), "")
				wantIs(r, "condition of the Node beside", r.condition("a"), "False RouteCreated")
			})
		})
	}
}

// TestNetworksOfOtherNodes: a younger Node gets no route to a network that overlaps one of a Node that is not a member,
// and an event. An older Node keeps its route, which is corrected after drift.
func TestNetworksOfOtherNodes(t *testing.T) {
	tests := map[string]struct{ theirs, young string }{
		"same": {"10.244.77.0/24", "10.244.77.0/24"}, "a part": {"10.244.64.0/20", "10.244.77.0/24"},
		"around": {"10.244.77.0/24", "10.244.64.0/20"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			inRig(t, func(r *rig) {
				hybrid := node("h", "", "10.244.1.0/24", tt.theirs)
				hybrid.Spec.ProviderID = "aws:///eu-1a/i-1"
				r.cloud.createByHand("main", tt.theirs, "10.0.0.250")
				r.cloud.createByHand("main", "10.244.1.0/24", "10.0.0.2")
				r.join(node("a", "10.0.0.1", "10.244.1.0/24"), hybrid, node("b", "10.0.0.2", tt.young))
				r.start()
				<-time.After(4 * driftPeriod)
				wantIs(r, "writes", r.writes(), "change main 10.244.1.0/24 from 10.0.0.2 to 10.0.0.1")
				wantIs(r, "events", r.events(), "Warning PodCIDRTaken")
				wantIs(r, "condition of the older one", r.condition("a"), created)
				wantIs(r, "condition of the younger one", r.condition("b"), unavailable)
				r.deleteNode("h")
				r.cloud.deleteByHand("main", tt.theirs)
				r.nextPeriod()
				wantIs(r, "writes without it", r.writes(), "create main "+tt.young+" by 10.0.0.2")
			})
		})
	}
}

// withUnconfirmedNode runs a test in a rig with a Node x that is not confirmed to run on its machine, 10.0.0.7, an
// unmanaged route to that machine, and a Node a. Both Nodes have their routes.
func withUnconfirmedNode(t *testing.T, test func(*rig)) {
	t.Helper()
	for name, unconfirm := range map[string]func(*rig, *corev1.Node){
		"joining": func(_ *rig, x *corev1.Node) {
			x.Spec.Taints = []corev1.Taint{{Key: api.TaintExternalCloudProvider, Value: "true",
				Effect: corev1.TaintEffectNoSchedule}}
		},
		"another's machine": func(r *rig, _ *corev1.Node) { r.cloud.set(func(c *fakeCloud) { c.unconfirmed = "x" }) },
	} {
		t.Run(name, func(t *testing.T) {
			inRig(t, func(r *rig) {
				x := node("x", "10.0.0.7", "10.244.5.0/24")
				unconfirm(r, x)
				r.cloud.createByHand("main", "10.244.77.0/24", "10.0.0.7")
				r.join(node("a", "10.0.0.1", "10.244.1.0/24"), x)
				r.start()
				wantIs(r, "writes at the start", r.writes(),
					"create main 10.244.1.0/24 by 10.0.0.1, create main 10.244.5.0/24 by 10.0.0.7")
				test(r)
				wantIs(r, "events", r.events(), "")
			})
		})
	}
}

// TestUnconfirmedNodes: unconfirmed Nodes get routes, which are changed and deleted with them. Unmanaged routes to the
// machine that they name are not changed.
func TestUnconfirmedNodes(t *testing.T) {
	withUnconfirmedNode(t, func(r *rig) {
		<-time.After(4 * driftPeriod)
		wantIs(r, "writes", r.writes(), "")
		wantIs(r, "condition", r.condition("x"), created)
		r.changeNode("x", func(n *corev1.Node) { n.Spec.PodCIDRs = []string{"10.244.6.0/24"} })
		r.settle()
		wantIs(r, "writes with another network", r.writes(),
			"create main 10.244.6.0/24 by 10.0.0.7, delete main 10.244.5.0/24 by 10.0.0.7")
		r.changeNode("x", func(n *corev1.Node) { n.Status.Addresses = node("x", "10.0.0.8").Status.Addresses })
		r.settle()
		wantIs(r, "writes with another address", r.writes(), "change main 10.244.6.0/24 from 10.0.0.7 to 10.0.0.8")
		wantIs(r, "events about the route to the address before", r.events(), "Warning RouteLeftBehind")
		r.deleteNode("x")
		r.settle()
		wantIs(r, "routes without it", r.routes(), "main 10.244.1.0/24 by 10.0.0.1, main 10.244.77.0/24 by 10.0.0.7")
	})
}

// TestUnconfirmedNodesAfterRestart: existing routes of unconfirmed Nodes are kept. After a Node is deleted, its route
// is reported and kept, because the process does not know that it is this cluster's.
func TestUnconfirmedNodesAfterRestart(t *testing.T) {
	withUnconfirmedNode(t, func(r *rig) {
		r.start()
		<-time.After(4 * driftPeriod)
		wantIs(r, "writes", r.writes(), "")
		wantIs(r, "condition", r.condition("x"), created)
		r.deleteNode("x")
		<-time.After(4 * driftPeriod)
		wantIs(r, "writes without it", r.writes(), "")
		wantIs(r, "events without it", r.events(), "Warning RouteLeftBehind")
	})
}

// TestNodeIsConfirmed: routes to the addresses of a Node are this cluster's as soon as the Node is confirmed, and
// initialised.
func TestNodeIsConfirmed(t *testing.T) {
	withUnconfirmedNode(t, func(r *rig) {
		r.cloud.set(func(c *fakeCloud) { c.unconfirmed = "" })
		if cloud.Uninitialised(r.node("x")) {
			r.changeNode("x", func(n *corev1.Node) { n.Spec.Taints = nil })
		} else {
			r.nextPeriod()
		}
		r.settle()
		wantIs(r, "writes", r.writes(), "delete main 10.244.77.0/24 by 10.0.0.7")
	})
}

// TestOverlap: networks of any length are compared with several, some inside others.
func TestOverlap(t *testing.T) {
	nodes := []*corev1.Node{node("h", "", "10.244.77.0/24", "10.244.17.0/24", "10.244.18.0/24"),
		node("i", "", "10.244.16.0/20", "10.244.19.0/24", "fd00:244:0:9::/64", "oops")}
	o := newDesired(cloud.PodNetwork{}, nodes, nodeipam.Masks{}).others
	for text, want := range map[string]bool{
		"10.244.77.0/24": true, "10.244.77.128/25": true, "10.244.76.0/23": true, "10.244.0.0/16": true,
		"10.244.31.0/24": true, "10.244.18.0/28": true, "::/0": true,
		"fd00:244:0:9:1::/80": true, "10.244.76.0/24": false, "10.244.78.0/24": false, "10.244.32.0/20": false,
		"10.244.0.0/20": false, "fd00:244:0:a::/64": false, "::/16": false,
	} {
		if _, got := o.overlap(netip.MustParsePrefix(text)); got != want {
			t.Errorf("%s: overlaps %v, want %v", text, got, want)
		}
	}
	if _, found := (networks{}).overlap(netip.MustParsePrefix("10.244.0.0/16")); found {
		t.Error("it overlaps nothing")
	}
}

// TestNodeIsExcluded: if a Node is excluded, its routes are deleted and its condition does not say any more that routes
// are missing. If it is not excluded any more, its routes are created.
func TestNodeIsExcluded(t *testing.T) {
	inRig(t, func(r *rig) {
		r.cloud.createByHand("main", "10.244.2.0/24", "")
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"), node("b", "10.0.0.2", "10.244.2.0/24"))
		r.start()
		wantIs(r, "condition of one that waits", r.condition("b"), "True NoRouteCreated")
		r.events()
		exclude := func(n *corev1.Node) {
			n.Annotations = map[string]string{"k8s.example.com/exclude-from-routes": "true"}
		}
		r.changeNode("a", exclude)
		r.changeNode("b", exclude)
		r.settle()
		wantIs(r, "routes", r.routes(), "main 10.244.2.0/24 by no address")
		wantIs(r, "condition", r.condition("b"), "False RouteCreated")
		r.changeNode("a", func(n *corev1.Node) { n.Annotations = nil })
		r.settle()
		wantIs(r, "routes", r.routes(), "main 10.244.1.0/24 by 10.0.0.1, main 10.244.2.0/24 by no address")
		wantIs(r, "events", r.events(), "")
	})
}

// TestUnknownTables: Nodes whose table is unknown get an event, and a condition unless it says that they have their
// routes. Other Nodes get their routes.
func TestUnknownTables(t *testing.T) {
	inRig(t, func(r *rig) {
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"))
		r.start()
		r.cloud.set(func(c *fakeCloud) {
			c.unknownTables = map[string]string{"a": "its table is not shown", "b": "its table is not shown",
				"c": "its table is not shown"}
		})
		r.join(node("b", "10.0.0.2", "10.244.2.0/24"), node("c", "10.0.0.3"))
		r.settle()
		wantIs(r, "routes", r.routes(), "main 10.244.1.0/24 by 10.0.0.1, main 10.244.2.0/24 by 10.0.0.2")
		wantIs(r, "events", r.events(),
			"Warning RouteTableNotFound, Warning RouteTableNotFound, Warning RouteTableNotFound")
		wantIs(r, "condition of one that has its routes", r.condition("a"), "False RouteCreated")
		wantIs(r, "condition of one that comes", r.condition("b"), "True NoRouteCreated")
		wantIs(r, "condition of one without pods", r.condition("c"), "")
		r.cloud.set(func(c *fakeCloud) { c.unknownTables = nil })
		r.nextPeriod()
		wantIs(r, "condition at the end", r.condition("b"), "False RouteCreated")
	})
}

// TestRouteOfUnconfirmedNode: if the address of a machine changed while no process ran, and another machine has the old
// one, the old route is unmanaged. That is reported until a user deletes the route.
func TestRouteOfUnconfirmedNode(t *testing.T) {
	inRig(t, func(r *rig) {
		r.cloud.set(func(c *fakeCloud) { c.unconfirmed = "x" })
		r.join(node("x", "10.0.0.7", "10.244.5.0/24"))
		r.start()
		r.process.End()
		r.changeNode("x", func(n *corev1.Node) { n.Status.Addresses = node("x", "10.0.0.8").Status.Addresses })
		r.start()
		wantIs(r, "routes", r.routes(), "main 10.244.5.0/24 by 10.0.0.7")
		wantIs(r, "events", r.events(), "Warning RouteConflict")
		wantIs(r, "condition", r.condition("x"), unavailable)
		r.cloud.deleteByHand("main", "10.244.5.0/24")
		r.nextPeriod()
		wantIs(r, "routes without it", r.routes(), "main 10.244.5.0/24 by 10.0.0.8")
		wantIs(r, "condition without it", r.condition("x"), created)
	})
}

// TestExcludedNodeOfAnotherCloud: the condition of such a Node is another controller's, whose reasons are the same.
func TestExcludedNodeOfAnotherCloud(t *testing.T) {
	inRig(t, func(r *rig) {
		one := node("h", "10.0.0.77", "10.244.77.0/24")
		one.Spec.ProviderID = "aws:///eu-1a/i-1"
		one.Annotations = map[string]string{"k8s.example.com/exclude-from-routes": "true"}
		one.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeNetworkUnavailable,
			Status: corev1.ConditionTrue, Reason: noRoutesCreated}}
		r.join(one, node("a", "10.0.0.1", "10.244.1.0/24"))
		r.start()
		<-time.After(4 * driftPeriod)
		wantIs(r, "condition", r.condition("h"), unavailable)
	})
}
