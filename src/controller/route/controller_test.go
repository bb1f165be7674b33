package route

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/event"
)

const unavailable, created = "True NoRouteCreated", "False RouteCreated"

// TestNodesAreAddedAndDeleted: a Node has its routes as long as it exists. A Node without a pod network has none.
func TestNodesAreAddedAndDeleted(t *testing.T) {
	inRig(t, func(r *rig) {
		r.join(node("a", "10.0.0.1 fd00::1", "10.244.1.0/24", "fd00:244:0:1::/64"), node("control", "10.0.0.9"))
		r.start()
		wantIs(r, "at the start", r.routes(), "main 10.244.1.0/24 by 10.0.0.1, main fd00:244:0:1::/64 by fd00::1")
		wantIs(r, "condition of a", r.condition("a"), created)
		wantIs(r, "condition of control", r.condition("control"), "")

		r.join(node("b", "10.0.0.2", "10.244.2.0/24"))
		r.settle()
		wantIs(r, "with b", r.routes(),
			"main 10.244.1.0/24 by 10.0.0.1, main 10.244.2.0/24 by 10.0.0.2, main fd00:244:0:1::/64 by fd00::1")
		r.changeNode("b", func(n *corev1.Node) {
			n.DeletionTimestamp = &metav1.Time{Time: time.Now()}
			n.Finalizers = []string{"x/y"}
		})
		r.nextPeriod()
		wantIs(r, "while b is being deleted", strings.Contains(r.routes(), "10.244.2.0/24"), true)

		r.writes()
		r.deleteNode("b")
		r.settle()
		wantIs(r, "writes when b is gone, though its machine is not", r.writes(),
			"delete main 10.244.2.0/24 by 10.0.0.2")
		wantIs(r, "events", r.events(), "")
	})
}

// TestNoWritesWithoutDifference: without a difference nothing is written, also after a restart, and the cloud is listed
// once in each drift period.
func TestNoWritesWithoutDifference(t *testing.T) {
	inRig(t, func(r *rig) {
		for i := range 50 {
			r.join(node(fmt.Sprintf("n%d", i), fmt.Sprintf("10.0.1.%d", i), fmt.Sprintf("10.244.%d.0/24", i)))
		}
		r.start()
		wantIs(r, "patches at the start", r.patches(), 50)
		r.writes()
		r.start()
		r.cloud.set(func(c *fakeCloud) { c.newLists = 0 })
		<-time.After(3*driftPeriod + time.Minute)
		wantIs(r, "writes", r.writes(), "")
		wantIs(r, "patches", r.patches(), 0)
		wantIs(r, "new lists", r.cloud.count(newLists), 3)
		wantIs(r, "events", r.events(), "")
	})
}

// TestChangesAreBatched: the changes of Nodes within a second start one sync.
func TestChangesAreBatched(t *testing.T) {
	inRig(t, func(r *rig) {
		r.start()
		listed := r.cloud.count(listCalls)
		for i := range 200 {
			r.join(node(fmt.Sprintf("n%d", i), fmt.Sprintf("10.0.1.%d", i), fmt.Sprintf("10.244.%d.0/24", i)))
		}
		r.settle()
		// Their conditions change, too, which starts another sync.
		if n := r.cloud.count(listCalls) - listed; n > 2 {
			t.Errorf("%d lists for 200 Nodes that join at once", n)
		}
		wantIs(r, "routes", len(strings.Split(r.routes(), ",")), 200)
		wantIs(r, "lists", r.cloud.count(newLists), 0)
	})
}

// TestGatewayChanges: a new gateway is changed in place. An address that the Node still has stays the gateway, in any
// order of addresses.
func TestGatewayChanges(t *testing.T) {
	inRig(t, func(r *rig) {
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"))
		r.start()
		r.writes()
		r.changeNode("a", func(n *corev1.Node) { n.Status.Addresses = node("a", "10.0.0.5 10.0.0.1").Status.Addresses })
		r.settle()
		wantIs(r, "writes with another address before it", r.writes(), "")
		r.changeNode("a", func(n *corev1.Node) { n.Status.Addresses = node("a", "10.0.0.5").Status.Addresses })
		r.settle()
		wantIs(r, "writes with another address", r.writes(), "change main 10.244.1.0/24 from 10.0.0.1 to 10.0.0.5")
		r.changeNode("a", func(n *corev1.Node) { n.Status.Addresses = nil })
		r.nextPeriod()
		wantIs(r, "writes without an address", r.writes(), "")
		wantIs(r, "condition without an address", r.condition("a"), unavailable)
		wantIs(r, "events", r.events(), "Warning NoNodeAddress")
		r.changeNode("a", func(n *corev1.Node) { n.Status.Addresses = node("a", "10.0.0.5").Status.Addresses })
		r.settle()
		wantIs(r, "condition with the address again", r.condition("a"), created)
		wantIs(r, "writes with the address again", r.writes(), "")
	})
}

// TestUninitialisedNodes: Nodes without an address get no condition and no event before they are initialised.
func TestUninitialisedNodes(t *testing.T) {
	inRig(t, func(r *rig) {
		r.start()
		n := node("a", "", "10.244.1.0/24")
		n.Spec.Taints = []corev1.Taint{{Key: "node.cloudprovider.kubernetes.io/uninitialized", Value: "true",
			Effect: corev1.TaintEffectNoSchedule}}
		r.join(n)
		r.nextPeriod()
		wantIs(r, "condition without an address", r.condition("a"), "")
		wantIs(r, "events", r.events(), "")
		r.changeNode("a", func(n *corev1.Node) { n.Status.Addresses = node("a", "10.0.0.1").Status.Addresses })
		r.settle()
		wantIs(r, "condition with an address", r.condition("a"), created)
	})
}

// TestNoTable: without a table for routes, no condition says that there are routes.
func TestNoTable(t *testing.T) {
	inRig(t, func(r *rig) {
		r.cloud.tables[0].Used = false
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"))
		r.start()
		wantIs(r, "condition", r.condition("a"), unavailable)
		wantIs(r, "events", r.events(), "Warning RoutesNotKnown")
	})
}

// TestNodeIsRecreated: after a Node is deleted and created again with the same network and address, its route is
// created without an event about drift.
func TestNodeIsRecreated(t *testing.T) {
	inRig(t, func(r *rig) {
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"))
		r.start()
		r.deleteNode("a")
		r.settle()
		wantIs(r, "routes", r.routes(), "")
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"))
		r.settle()
		wantIs(r, "routes", r.routes(), "main 10.244.1.0/24 by 10.0.0.1")
		wantIs(r, "events", r.events(), "")
	})
}

// TestEmptiedTable: the routes of a table that was emptied are created again, with one event.
func TestEmptiedTable(t *testing.T) {
	inRig(t, func(r *rig) {
		const many = 60
		for i := range many {
			r.join(node(fmt.Sprintf("n%d", i), fmt.Sprintf("10.0.0.%d", i+1), fmt.Sprintf("10.244.%d.0/24", i)))
		}
		r.start()
		r.cloud.set(func(c *fakeCloud) { c.tables[0].Routes = nil })
		r.nextPeriod()
		wantIs(r, "routes", strings.Count(r.routes(), "by"), many)
		events := strings.Join(r.process.Events(), "; ")
		wantIs(r, "events", strings.Count(events, "Warning"), 1)
		for _, part := range []string{"RouteRestored 60 routes in route table main", "10.244.0.0/24, ", "and 50 more"} {
			if !strings.Contains(events, part) {
				t.Errorf("events %q, want %q in it", events, part)
			}
		}
	})
}

// TestPeriod: the flag takes precedence over the period of the cloud.
func TestPeriod(t *testing.T) {
	inRig(t, func(r *rig) {
		r.period = time.Minute
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"))
		r.start()
		r.cloud.deleteByHand("main", "10.244.1.0/24")
		<-time.After(time.Minute)
		r.settle()
		wantIs(r, "routes", r.routes(), "main 10.244.1.0/24 by 10.0.0.1")
	})
}

// TestUnmanagedRoutes: routes to other destinations, to machines without a Node, and without an address are never
// changed. If one has the destination of a Node, that is reported.
func TestUnmanagedRoutes(t *testing.T) {
	inRig(t, func(r *rig) {
		r.cloud.createByHand("main", "0.0.0.0/0", "")
		r.cloud.createByHand("main", "10.99.0.0/16", "10.0.0.1")   // to a Node, but not to a pod network
		r.cloud.createByHand("main", "10.244.9.0/24", "10.0.0.77") // to a pod network, but by another machine
		r.cloud.createByHand("main", "10.244.8.0/24", "")          // not by a machine
		r.cloud.createByHand("main", "10.244.0.0/15", "10.0.0.1")  // larger than the cluster's network
		r.cloud.createByHand("main", "10.244.1.0/24", "10.0.0.77") // the destination of a
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"))
		r.start()
		before := r.routes()
		<-time.After(10 * driftPeriod)
		wantIs(r, "routes", r.routes(), before)
		wantIs(r, "writes", r.writes(), "")
		wantIs(r, "events", r.events(), "Warning RouteConflict, Warning RouteLeftBehind")
		wantIs(r, "condition", r.condition("a"), unavailable)
		if message := conditionOf(r.node("a")).message; !strings.Contains(message, "RouteConflict") {
			t.Errorf("the condition says %q", message)
		}
		r.cloud.deleteByHand("main", "10.244.1.0/24")
		r.nextPeriod()
		wantIs(r, "condition without the foreign route", r.condition("a"), created)
		wantIs(r, "writes", r.writes(), "create main 10.244.1.0/24 by 10.0.0.1")
	})
}

// TestListFails: nothing is written while lists fail. Nodes that wait get the reason, once.
func TestListFails(t *testing.T) {
	inRig(t, func(r *rig) {
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"), node("b", "10.0.0.2", "10.244.2.0/24"))
		r.start()
		r.writes()
		r.cloud.set(func(c *fakeCloud) { c.readError = errors.New("the cloud is away") })
		r.deleteNode("b")
		r.join(node("c", "10.0.0.3", "10.244.3.0/24"))
		before := r.cloud.count(listCalls)
		<-time.After(10 * time.Minute)
		wantIs(r, "writes", r.writes(), "")
		wantIs(r, "events", r.events(), "Warning RoutesNotKnown")
		if n := r.cloud.count(listCalls) - before; n > 12 {
			t.Errorf("%d lists within 10 minutes at a cloud that is away", n)
		}
		r.cloud.set(func(c *fakeCloud) { c.readError = nil })
		<-time.After(maxRetryDelay)
		wantIs(r, "writes afterwards", r.writes(),
			"create main 10.244.3.0/24 by 10.0.0.3, delete main 10.244.2.0/24 by 10.0.0.2")
	})
}

// TestQuota: one refusal is sufficient for all waiting routes. Routes that are not needed are still deleted, so that
// others fit.
func TestQuota(t *testing.T) {
	inRig(t, func(r *rig) {
		r.cloud.set(func(c *fakeCloud) { c.quota = 2 })
		r.join(node("old", "10.0.0.1", "10.244.1.0/24"))
		r.start()
		r.writes()
		for i := range 30 {
			r.join(node(fmt.Sprintf("n%d", i), fmt.Sprintf("10.0.1.%d", i), fmt.Sprintf("10.244.1%02d.0/24", i)))
		}
		r.deleteNode("old")
		r.settle()
		if tries := r.cloud.count(writes); tries > parallel+3 {
			t.Errorf("%d writes with room for 1", tries)
		}
		events := r.events()
		wantIs(r, "events about the quota", strings.Count(events, cloud.RouteQuotaExceeded), event.Burst)
		<-time.After(time.Minute)
		// 29 do not fit at first, and 28 after the old one is deleted. The Node that gets its route then may have had
		// its event before.
		later := strings.Count(r.events(), cloud.RouteQuotaExceeded)
		wantIs(r, "all others have an event a minute later", later == 28-event.Burst || later == 29-event.Burst, true)
		wantIs(r, "routes that fit", len(strings.Split(r.routes(), ",")), 2)
		wantIs(r, "left over", strings.Contains(r.routes(), "10.244.1.0/24"), false)
		r.cloud.set(func(c *fakeCloud) { c.quota = 0 })
		<-time.After(2 * maxRetryDelay)
		wantIs(r, "routes with room for all", len(strings.Split(r.routes(), ",")), 30)
	})
}

// TestTables: each used table has all routes. A table that is not used any more gets no new ones, and loses those of
// deleted Nodes.
func TestTables(t *testing.T) {
	inRig(t, func(r *rig) {
		r.cloud.tables = append(r.cloud.tables, &fakeTable{RouteTable: cloud.RouteTable{ID: "side", Name: "side",
			Used: true}})
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"))
		r.start()
		wantIs(r, "routes", r.routes(), "main 10.244.1.0/24 by 10.0.0.1, side 10.244.1.0/24 by 10.0.0.1")
		r.writes()
		r.cloud.set(func(c *fakeCloud) {
			c.tables[0].Used = false
			c.tables = append(c.tables, &fakeTable{RouteTable: cloud.RouteTable{ID: "third", Name: "third",
				Used: true}})
			c.writeError = errors.New("not today")
		})
		r.nextPeriod()
		wantIs(r, "routes while the new table refuses", r.routes(),
			"main 10.244.1.0/24 by 10.0.0.1, side 10.244.1.0/24 by 10.0.0.1")
		r.cloud.set(func(c *fakeCloud) { c.writeError = nil })
		<-time.After(maxRetryDelay)
		r.nextPeriod()
		wantIs(r, "routes", r.routes(),
			"main 10.244.1.0/24 by 10.0.0.1, side 10.244.1.0/24 by 10.0.0.1, third 10.244.1.0/24 by 10.0.0.1")
		r.join(node("b", "10.0.0.2", "10.244.2.0/24"))
		r.deleteNode("a")
		r.settle()
		wantIs(r, "routes of another Node", r.routes(),
			"side 10.244.2.0/24 by 10.0.0.2, third 10.244.2.0/24 by 10.0.0.2")
	})
}

// TestAdditionalTableRefuses: if another table refuses the routes, that is reported, and Nodes with all other routes
// stay available.
func TestAdditionalTableRefuses(t *testing.T) {
	inRig(t, func(r *rig) {
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"))
		r.start()
		r.cloud.set(func(c *fakeCloud) {
			c.tables = append(c.tables, &fakeTable{RouteTable: cloud.RouteTable{ID: "side", Name: "side", Used: true}})
			c.writeError = errors.New("not today")
		})
		r.cloud.createByHand("side", "10.244.1.128/25", "10.0.0.77")
		r.nextPeriod()
		wantIs(r, "condition", r.condition("a"), created)
		wantIs(r, "events", r.events(), "Warning FailedToCreateRoute, Warning RouteConflict")
		r.cloud.deleteByHand("main", "10.244.1.0/24")
		r.nextPeriod()
		wantIs(r, "condition without any route", r.condition("a"), unavailable)
	})
}

// TestTablesAreNotListed: tables that are not listed, such as after the last Node was deleted, keep their routes. When
// a new Node has the same network, its route replaces the old one, even if the machine of the old Node still exists.
func TestTablesAreNotListed(t *testing.T) {
	inRig(t, func(r *rig) {
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"))
		r.start()
		tables := r.cloud.tables
		r.cloud.set(func(c *fakeCloud) { c.tables = nil })
		r.deleteNode("a")
		r.settle()
		r.cloud.set(func(c *fakeCloud) { c.tables = tables })
		r.writes()
		r.join(node("b", "10.0.0.2", "10.244.1.0/24"))
		r.settle()
		wantIs(r, "writes", r.writes(), "change main 10.244.1.0/24 from 10.0.0.1 to 10.0.0.2")
	})
}

// TestUnusedTables: Nodes whose subnets use a table without routes get an event, also those without pod networks.
func TestUnusedTables(t *testing.T) {
	inRig(t, func(r *rig) {
		r.cloud.tables = append(r.cloud.tables, &fakeTable{RouteTable: cloud.RouteTable{ID: "side", Name: "side",
			Nodes: []string{"a", "control"}}})
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"), node("control", "10.0.0.9"))
		r.start()
		r.nextPeriod()
		wantIs(r, "events", r.events(), "Warning OtherRouteTable, Warning OtherRouteTable")
		wantIs(r, "condition of a", r.condition("a"), created)
		wantIs(r, "condition of control", r.condition("control"), "")
	})
}

// TestRemovalNeedsNewList: a removal or change that follows from a cached list is planned again with a new list, once
// in each sync.
func TestRemovalNeedsNewList(t *testing.T) {
	inRig(t, func(r *rig) {
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"), node("b", "10.0.0.2", "10.244.2.0/24"))
		r.start()
		r.writes()
		r.cloud.set(func(c *fakeCloud) {
			c.newLists = 0
			c.cached = []cloud.RouteTable{{ID: "main", Name: "main", Used: true,
				Routes: routesOf("10.244.1.0/24 by 10.0.0.2", "10.244.2.0/24 by 10.0.0.2",
					"10.244.7.0/24 by 10.0.0.1")}}
		})
		r.join(node("c", "10.0.0.3", "10.244.3.0/24"))
		r.settle()
		wantIs(r, "writes", r.writes(), "create main 10.244.3.0/24 by 10.0.0.3")
		wantIs(r, "lists", r.cloud.count(newLists), 1)
	})
}

// TestExclusiveTable: all routes of the table are this cluster's, also those of Nodes that were deleted while no
// process ran. Routes to other networks are kept.
func TestExclusiveTable(t *testing.T) {
	inRig(t, func(r *rig) {
		r.cloud.tables[0].Exclusive = true
		r.cloud.createByHand("main", "0.0.0.0/0", "")
		r.cloud.createByHand("main", "10.99.0.0/16", "10.0.0.77")
		r.cloud.createByHand("main", "10.244.1.0/24", "10.0.0.77")
		r.cloud.createByHand("main", "10.244.7.0/24", "10.0.0.7")
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"), node("joins", "", "10.244.2.0/24"))
		r.cloud.createByHand("main", "10.244.2.0/24", "10.0.0.2")
		r.cloud.set(func(c *fakeCloud) { c.unknownMachines = map[string]bool{"joins": true} })
		r.start()
		wantIs(r, "writes", r.writes(),
			"change main 10.244.1.0/24 from 10.0.0.77 to 10.0.0.1, delete main 10.244.7.0/24 by 10.0.0.7")
		wantIs(r, "events", r.events(), "")
	})
}

// TestImpossibleNetworks: a network that cannot have a route is reported on the Node, and its other routes are created.
func TestImpossibleNetworks(t *testing.T) {
	tests := map[string]struct {
		nodes  []*corev1.Node
		events string
		has    string
	}{
		"outside": {[]*corev1.Node{node("x", "10.0.0.1", "192.168.0.0/24")}, "Warning PodCIDROutsideCluster",
			""},
		"partly outside": {[]*corev1.Node{node("x", "10.0.0.1", "10.244.0.0/15")}, "Warning PodCIDROutsideCluster",
			""},
		"no network": {[]*corev1.Node{node("x", "10.0.0.1", "pods")}, "Warning InvalidPodCIDR", ""},
		"no IPv6 address": {[]*corev1.Node{node("x", "10.0.0.1", "10.244.1.0/24", "fd00:244:0:1::/64")},
			"Warning NoNodeAddress", "main 10.244.1.0/24 by 10.0.0.1"},
		"another's": {[]*corev1.Node{node("a", "10.0.0.2", "10.244.1.0/24"),
			node("x", "10.0.0.1", "10.244.1.0/24")}, "Warning PodCIDRTaken", "main 10.244.1.0/24 by 10.0.0.2"},
		"part of another's": {[]*corev1.Node{node("a", "10.0.0.2", "10.244.0.0/20"),
			node("x", "10.0.0.1", "10.244.1.0/24")}, "Warning PodCIDRTaken", "main 10.244.0.0/20 by 10.0.0.2"},
		"around another's": {[]*corev1.Node{node("a", "10.0.0.2", "10.244.1.0/24"),
			node("x", "10.0.0.1", "10.244.0.0/20")}, "Warning PodCIDRTaken", "main 10.244.1.0/24 by 10.0.0.2"},
		"not written evenly": {[]*corev1.Node{node("x", "10.0.0.1", "10.244.1.7/24", "pods")}, "Warning InvalidPodCIDR",
			"main 10.244.1.0/24 by 10.0.0.1"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			inRig(t, func(r *rig) {
				r.join(tt.nodes...)
				r.start()
				r.nextPeriod()
				wantIs(r, "events", r.events(), tt.events)
				wantIs(r, "routes", r.routes(), tt.has)
				wantIs(r, "condition", r.condition("x"), unavailable)
			})
		})
	}
}

// TestConditionIsWrittenAgain: the condition is written again if the API server refused it, or another client changed
// it. A refusal may be a conflict although the Node does not change any more: other clients wrote it meanwhile.
func TestConditionIsWrittenAgain(t *testing.T) {
	nodes := schema.GroupResource{Resource: "nodes"}
	for name, refusal := range map[string]error{
		"forbidden": apierrors.NewForbidden(nodes, "a", errors.New("not allowed")),
		"conflict":  apierrors.NewConflict(nodes, "a", errors.New("the object has been modified")),
	} {
		t.Run(name, func(t *testing.T) {
			inRig(t, func(r *rig) {
				var allowed atomic.Bool
				r.cluster.PrependReactor("patch", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
					return !allowed.Load(), nil, refusal
				})
				r.join(node("a", "10.0.0.1", "10.244.1.0/24"))
				r.start()
				wantIs(r, "condition", r.condition("a"), "")
				allowed.Store(true)
				<-time.After(minRetryDelay + time.Second)
				wantIs(r, "condition", r.condition("a"), created)
				r.changeNode("a", func(n *corev1.Node) { n.Status.Conditions = nil })
				r.settle()
				wantIs(r, "condition after somebody took it away", r.condition("a"), created)
			})
		})
	}
}

// driftlessCloud is a cloud without a drift period that records the permitted ages of lists.
type driftlessCloud struct {
	*fakeCloud
	ages []time.Duration
}

func (*driftlessCloud) Behaviour() cloud.RouteBehaviour { return cloud.RouteBehaviour{} }

func (d *driftlessCloud) List(ctx context.Context, cluster cloud.PodNetwork,
	maxAge time.Duration) (cloud.RouteTables, error) {
	d.ages = append(d.ages, maxAge)
	return d.fakeCloud.List(ctx, cluster, maxAge)
}

// TestNoDriftPeriod: without a drift period, lists are at most an hour old, and no sync starts periodically.
func TestNoDriftPeriod(t *testing.T) {
	inRig(t, func(r *rig) {
		cloud := &driftlessCloud{fakeCloud: r.cloud}
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"))
		r.startWith(cloud)
		<-time.After(24 * time.Hour)
		synctest.Wait()
		if !slices.Equal(cloud.ages, []time.Duration{time.Hour, time.Hour}) {
			t.Errorf("ages of the lists of a day: %v; want an hour, for the start and for the Node", cloud.ages)
		}
	})
}
