package route

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/nodeipam"
	"github.com/thalassa-cloud/thalassa-ccm/src/event"
)

// withSizeLimit runs a test in a cluster whose Nodes may have a /20, with a shared and with an exclusive table.
func withSizeLimit(t *testing.T, test func(*rig)) {
	t.Helper()
	for name, exclusive := range map[string]bool{"shared table": false, "exclusive table": true} {
		t.Run(name, func(t *testing.T) {
			inRig(t, func(r *rig) {
				r.shortest, r.cloud.tables[0].Exclusive = nodeipam.Masks{IPv4: 20}, exclusive
				test(r)
			})
		})
	}
}

// TestTooLarge: a Node with a network larger than the limit gets no route to it, and repeated events. Other Nodes get
// their routes.
func TestTooLarge(t *testing.T) {
	withSizeLimit(t, func(r *rig) {
		r.join(node("greedy", "10.0.0.1", "10.244.0.0/16", "fd00:244::/48"), node("most", "10.0.0.2", "10.244.16.0/20"),
			node("b", "10.0.0.3", "10.244.1.0/24"))
		r.start()
		wantIs(r, "routes", r.routes(), "main 10.244.1.0/24 by 10.0.0.3, main 10.244.16.0/20 by 10.0.0.2")
		wantIs(r, "events", r.events(), "Warning NoNodeAddress, Warning PodCIDRTooLarge")
		wantIs(r, "condition", r.condition("greedy"), unavailable)
		wantIs(r, "condition of one inside", r.condition("b"), created)
		<-time.After(event.Again + driftPeriod)
		wantIs(r, "events when it lasts", r.events(), "Warning NoNodeAddress, Warning PodCIDRTooLarge")
	})
	inRig(t, func(r *rig) {
		r.join(node("first", "10.0.0.1", "10.244.0.0/16"), node("b", "10.0.0.3", "10.244.1.0/24"))
		r.start()
		wantIs(r, "routes without a limit", r.routes(), "main 10.244.0.0/16 by 10.0.0.1")
		wantIs(r, "events without a limit", r.events(), "Warning PodCIDRTaken")
	})
}

// TestTooLargeWithExistingRoute: an existing route is kept until its Node is deleted, also when other routes are
// written, and its Node stays available. After it is deleted it is not created again.
func TestTooLargeWithExistingRoute(t *testing.T) {
	withSizeLimit(t, func(r *rig) {
		r.cloud.createByHand("main", "10.244.0.0/17", "10.0.0.1")
		r.cloud.createByHand("main", "10.244.128.0/18", "10.0.0.2")
		r.join(node("a", "10.0.0.1", "10.244.0.0/17"), node("b", "10.0.0.2", "10.244.128.0/18"),
			node("c", "10.0.0.3", "10.244.1.0/24"), node("d", "10.0.0.4", "10.244.2.0/24"))
		r.start()
		const others = "main 10.244.1.0/24 by 10.0.0.3, main 10.244.128.0/18 by 10.0.0.2, main 10.244.2.0/24 by " +
			"10.0.0.4"
		wantIs(r, "routes", r.routes(), "main 10.244.0.0/17 by 10.0.0.1, "+others)
		wantIs(r, "condition", r.condition("a"), created)
		wantIs(r, "events", r.events(), "Warning PodCIDRTooLarge, Warning PodCIDRTooLarge")
		r.changeNode("a", func(n *corev1.Node) { n.Status.Addresses = node("a", "10.0.0.9").Status.Addresses })
		r.nextPeriod()
		wantIs(r, "routes when its Node has another address", r.routes(), "main 10.244.0.0/17 by 10.0.0.1, "+others)
		r.deleteNode("a")
		r.settle()
		wantIs(r, "routes without its Node", r.routes(), others)
		r.cloud.deleteByHand("main", "10.244.128.0/18")
		r.nextPeriod()
		wantIs(r, "routes without it", r.routes(), "main 10.244.1.0/24 by 10.0.0.3, main 10.244.2.0/24 by 10.0.0.4")
		wantIs(r, "condition without it", r.condition("b"), unavailable)
	})
}

// TestTooLargeWithAdditionalTable: a Node with its route in one table stays available when another table is used. A
// Node without a route is not available, even if another Node has the same network.
func TestTooLargeWithAdditionalTable(t *testing.T) {
	inRig(t, func(r *rig) {
		r.shortest = nodeipam.Masks{IPv4: 20}
		r.cloud.createByHand("main", "10.244.0.0/17", "10.0.0.1")
		r.join(node("a", "10.0.0.1", "10.244.0.0/17"), node("same", "10.0.0.2", "10.244.0.0/17"),
			node("c", "10.0.0.3", "10.244.200.0/24"))
		r.start()
		r.cloud.set(func(c *fakeCloud) {
			c.tables = append(c.tables, &fakeTable{RouteTable: cloud.RouteTable{ID: "side", Name: "side", Used: true}})
		})
		r.join(node("d", "10.0.1.3", "10.244.201.0/24"))
		<-time.After(time.Hour)
		wantIs(r, "routes of others", strings.Contains(r.routes(), "side 10.244.200.0/24 by 10.0.0.3"), true)
		wantIs(r, "condition with a route in one table", r.condition("a"), created)
		wantIs(r, "condition without one", r.condition("same"), unavailable)
	})
}

// TestTooLargeIsNoSizeOfMembers: unmanaged routes of the size of a network that is too large are not left behind by
// Nodes.
func TestTooLargeIsNoSizeOfMembers(t *testing.T) {
	inRig(t, func(r *rig) {
		r.shortest = nodeipam.Masks{IPv4: 20}
		r.cloud.createByHand("main", "10.244.128.0/17", "10.0.0.250")
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"), node("greedy", "10.0.0.2", "10.244.0.0/17"))
		r.start()
		r.events()
		<-time.After(4 * driftPeriod)
		wantIs(r, "routes", r.routes(), "main 10.244.1.0/24 by 10.0.0.1, main 10.244.128.0/17 by 10.0.0.250")
		wantIs(r, "events", r.events(), "")
	})
}
