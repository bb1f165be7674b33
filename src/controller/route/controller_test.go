package route

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
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
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/event"
)

const unavailable, created = "True NoRouteCreated", "False RouteCreated"

// TestNodesComeAndGo: a Node has its routes as long as it is there, and not longer; a Node without a network of its own
// has none.
func TestNodesComeAndGo(t *testing.T) {
	inRig(t, func(r *rig) {
		r.join(node("a", "10.0.0.1 fd00::1", "10.244.1.0/24", "fd00:244:0:1::/64"), node("control", "10.0.0.9"))
		r.start()
		wantIs(r, "at the start", r.has(), "main 10.244.1.0/24 by 10.0.0.1, main fd00:244:0:1::/64 by fd00::1")
		wantIs(r, "condition of a", r.condition("a"), created)
		wantIs(r, "condition of control", r.condition("control"), "")

		r.join(node("b", "10.0.0.2", "10.244.2.0/24"))
		r.settle()
		wantIs(r, "with b", r.has(),
			"main 10.244.1.0/24 by 10.0.0.1, main 10.244.2.0/24 by 10.0.0.2, main fd00:244:0:1::/64 by fd00::1")
		r.changeNode("b", func(n *corev1.Node) {
			n.DeletionTimestamp = &metav1.Time{Time: time.Now()}
			n.Finalizers = []string{"x/y"}
		})
		r.later()
		wantIs(r, "while b is being deleted", strings.Contains(r.has(), "10.244.2.0/24"), true)

		r.wrote()
		r.leave("b")
		r.settle()
		wantIs(r, "writes when b is gone, though its machine is not", r.wrote(),
			"delete main 10.244.2.0/24 by 10.0.0.2")
		wantIs(r, "events", r.told(), "")
	})
}

// TestQuiet: where nothing differs nothing is written, and the cloud is listed once for each drift period.
func TestQuiet(t *testing.T) {
	inRig(t, func(r *rig) {
		for i := range 50 {
			r.join(node(fmt.Sprintf("n%d", i), fmt.Sprintf("10.0.1.%d", i), fmt.Sprintf("10.244.%d.0/24", i)))
		}
		r.start()
		wantIs(r, "patches at the start, and of those that wait for their turn", r.patches(), 50+50-parallel)
		r.wrote()
		r.cloud.set(func(p *plain) { p.lists = 0 })
		<-time.After(3*driftPeriod + time.Minute)
		wantIs(r, "writes", r.wrote(), "")
		wantIs(r, "patches", r.patches(), 0)
		wantIs(r, "new lists", r.cloud.counted(lists), 3)
		wantIs(r, "events", r.told(), "")
	})
}

// TestChangesAreCollected: what happens to Nodes within a second is one look.
func TestChangesAreCollected(t *testing.T) {
	inRig(t, func(r *rig) {
		r.start()
		before := r.cloud.counted(looks)
		for i := range 200 {
			r.join(node(fmt.Sprintf("n%d", i), fmt.Sprintf("10.0.1.%d", i), fmt.Sprintf("10.244.%d.0/24", i)))
		}
		r.settle()
		// Their conditions change, too, which is looked at once more.
		if n := r.cloud.counted(looks) - before; n > 2 {
			t.Errorf("%d looks for 200 Nodes that join at once", n)
		}
		wantIs(r, "routes", len(strings.Split(r.has(), ",")), 200)
		wantIs(r, "lists", r.cloud.counted(lists), 0)
	})
}

// TestGatewayChanges in place; an address that was the Node's before and still is stays, whatever the order of
// addresses.
func TestGatewayChanges(t *testing.T) {
	inRig(t, func(r *rig) {
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"))
		r.start()
		r.wrote()
		r.changeNode("a", func(n *corev1.Node) { n.Status.Addresses = node("a", "10.0.0.5 10.0.0.1").Status.Addresses })
		r.settle()
		wantIs(r, "writes with another address before it", r.wrote(), "")
		r.changeNode("a", func(n *corev1.Node) { n.Status.Addresses = node("a", "10.0.0.5").Status.Addresses })
		r.settle()
		wantIs(r, "writes with another address", r.wrote(), "change main 10.244.1.0/24 from 10.0.0.1 to 10.0.0.5")
		r.changeNode("a", func(n *corev1.Node) { n.Status.Addresses = nil })
		r.later()
		wantIs(r, "writes without an address", r.wrote(), "")
		wantIs(r, "condition without an address", r.condition("a"), unavailable)
		wantIs(r, "events", r.told(), "Warning NoNodeAddress")
		r.changeNode("a", func(n *corev1.Node) { n.Status.Addresses = node("a", "10.0.0.5").Status.Addresses })
		r.settle()
		wantIs(r, "condition with the address again", r.condition("a"), created)
		wantIs(r, "writes with the address again", r.wrote(), "")
	})
}

// TestNodesThatJoin and have no address yet are nobody's concern until they have one, and nobody else's either.
func TestNodesThatJoin(t *testing.T) {
	inRig(t, func(r *rig) {
		r.start()
		n := node("a", "", "10.244.1.0/24")
		n.Spec.Taints = []corev1.Taint{{Key: "node.cloudprovider.kubernetes.io/uninitialized", Value: "true",
			Effect: corev1.TaintEffectNoSchedule}}
		r.join(n)
		r.later()
		wantIs(r, "condition without an address", r.condition("a"), "")
		wantIs(r, "events", r.told(), "")
		r.changeNode("a", func(n *corev1.Node) { n.Status.Addresses = node("a", "10.0.0.1").Status.Addresses })
		r.settle()
		wantIs(r, "condition with an address", r.condition("a"), created)
	})
}

// TestNoTable: without a table that routes could be in, nobody is told that there are routes.
func TestNoTable(t *testing.T) {
	inRig(t, func(r *rig) {
		r.cloud.tables[0].Used = false
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"))
		r.start()
		wantIs(r, "condition", r.condition("a"), unavailable)
		wantIs(r, "events", r.told(), "Warning RoutesNotKnown")
	})
}

// TestNodeComesBack with the same network and address: nobody has removed its route but this process.
func TestNodeComesBack(t *testing.T) {
	inRig(t, func(r *rig) {
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"))
		r.start()
		r.leave("a")
		r.settle()
		wantIs(r, "routes", r.has(), "")
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"))
		r.settle()
		wantIs(r, "routes", r.has(), "main 10.244.1.0/24 by 10.0.0.1")
		wantIs(r, "events", r.told(), "")
	})
}

// TestNodeIsReplaced under its name, with the same network on another machine: one change, at no time without a route.
func TestNodeIsReplaced(t *testing.T) {
	inRig(t, func(r *rig) {
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"))
		r.start()
		r.wrote()
		r.leave("a")
		second := node("a", "10.0.0.2", "10.244.1.0/24")
		second.UID = "uid-second"
		r.join(second)
		r.settle()
		wantIs(r, "writes", r.wrote(), "change main 10.244.1.0/24 from 10.0.0.1 to 10.0.0.2")
		wantIs(r, "condition", r.condition("a"), created)
	})
}

// TestEmptiedTable is filled again, and told by one event.
func TestEmptiedTable(t *testing.T) {
	inRig(t, func(r *rig) {
		const many = 60
		for i := range many {
			r.join(node(fmt.Sprintf("n%d", i), fmt.Sprintf("10.0.0.%d", i+1), fmt.Sprintf("10.244.%d.0/24", i)))
		}
		r.start()
		r.cloud.set(func(p *plain) { p.tables[0].Routes = nil })
		r.later()
		wantIs(r, "routes", strings.Count(r.has(), "by"), many)
		told := strings.Join(r.process.Told(), "; ")
		wantIs(r, "events", strings.Count(told, "Warning"), 1)
		for _, part := range []string{"RouteRestored 60 routes in route table main", "10.244.0.0/24, ", "and 50 more"} {
			if !strings.Contains(told, part) {
				t.Errorf("told %q, want %q in it", told, part)
			}
		}
	})
}

// TestDrift: what somebody removed is back within the period, and told; what a Node lost by another's mistake, too.
func TestDrift(t *testing.T) {
	inRig(t, func(r *rig) {
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"), node("b", "10.0.0.2", "10.244.2.0/24"))
		r.start()
		r.cloud.loses("main", "10.244.1.0/24")
		r.later()
		wantIs(r, "routes", r.has(), "main 10.244.1.0/24 by 10.0.0.1, main 10.244.2.0/24 by 10.0.0.2")
		wantIs(r, "events", r.told(), "Warning RouteRestored")

		r.cloud.set(func(p *plain) { p.tables[0].Routes[0].Gateway = netip.MustParseAddr("10.0.0.1") }) // of b
		r.later()
		wantIs(r, "routes", r.has(), "main 10.244.1.0/24 by 10.0.0.1, main 10.244.2.0/24 by 10.0.0.2")
	})
}

// TestPeriod: the flag wins over what the cloud is configured to.
func TestPeriod(t *testing.T) {
	inRig(t, func(r *rig) {
		r.period = time.Minute
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"))
		r.start()
		r.cloud.loses("main", "10.244.1.0/24")
		<-time.After(time.Minute)
		r.settle()
		wantIs(r, "routes", r.has(), "main 10.244.1.0/24 by 10.0.0.1")
	})
}

// TestForeignRoutes are never touched: those to elsewhere, those to machines that are no Nodes, and those that lead to
// no address. One that a Node needs the place of is told.
func TestForeignRoutes(t *testing.T) {
	inRig(t, func(r *rig) {
		r.cloud.set(func(p *plain) { p.living[netip.MustParseAddr("10.0.0.77")] = true })
		r.cloud.byHand("main", "0.0.0.0/0", "")
		r.cloud.byHand("main", "10.99.0.0/16", "10.0.0.1")   // to a Node, but not for pods
		r.cloud.byHand("main", "10.244.9.0/24", "10.0.0.77") // for pods, but to another machine
		r.cloud.byHand("main", "10.244.8.0/24", "")          // to something else than a machine
		r.cloud.byHand("main", "10.244.0.0/15", "10.0.0.1")  // more than the cluster
		r.cloud.byHand("main", "10.244.1.0/24", "10.0.0.77") // where a's should be
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"))
		r.start()
		before := r.has()
		<-time.After(10 * driftPeriod)
		wantIs(r, "routes", r.has(), before)
		wantIs(r, "writes", r.wrote(), "")
		wantIs(r, "events", r.told(), "Warning RouteConflict")
		wantIs(r, "condition", r.condition("a"), unavailable)
		if message := available(r.node("a")).message; !strings.Contains(message, "RouteConflict") {
			t.Errorf("the condition says %q", message)
		}
		r.cloud.loses("main", "10.244.1.0/24")
		r.later()
		wantIs(r, "condition without the foreign route", r.condition("a"), created)
		wantIs(r, "writes", r.wrote(), "create main 10.244.1.0/24 by 10.0.0.1")
	})
}

// TestLeftOver: what a Node left that is gone since before the start is removed once its machine is gone, by two looks,
// and not before.
func TestLeftOver(t *testing.T) {
	inRig(t, func(r *rig) {
		r.cloud.byHand("main", "10.244.7.0/24", "10.0.0.7")
		r.cloud.set(func(p *plain) { p.living[netip.MustParseAddr("10.0.0.7")] = true })
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"))
		r.start()
		<-time.After(5 * driftPeriod)
		wantIs(r, "writes while the machine is there", r.wrote(), "create main 10.244.1.0/24 by 10.0.0.1")
		r.end("10.0.0.7")
		r.later()
		wantIs(r, "writes after one look", r.wrote(), "")
		r.later()
		r.settle()
		r.later()
		wantIs(r, "writes after more", r.wrote(), "delete main 10.244.7.0/24 by 10.0.0.7")
	})
}

// TestAnErrorIsNoAnswer: nothing is removed or made while the cloud does not say what it has; Nodes that wait say why,
// once.
func TestAnErrorIsNoAnswer(t *testing.T) {
	inRig(t, func(r *rig) {
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"), node("b", "10.0.0.2", "10.244.2.0/24"))
		r.start()
		r.wrote()
		r.cloud.set(func(p *plain) { p.unknown = errors.New("the cloud is away") })
		r.leave("b")
		r.join(node("c", "10.0.0.3", "10.244.3.0/24"))
		before := r.cloud.counted(looks)
		<-time.After(10 * time.Minute)
		wantIs(r, "writes", r.wrote(), "")
		wantIs(r, "events", r.told(), "Warning RoutesNotKnown")
		if n := r.cloud.counted(looks) - before; n > 12 {
			t.Errorf("%d looks within 10 minutes at a cloud that is away", n)
		}
		r.cloud.set(func(p *plain) { p.unknown = nil })
		<-time.After(maxRetryDelay)
		wantIs(r, "writes afterwards", r.wrote(),
			"create main 10.244.3.0/24 by 10.0.0.3, delete main 10.244.2.0/24 by 10.0.0.2")
	})
}

// TestAdditionsComeFirst: nothing is removed before what replaces it is there.
func TestAdditionsComeFirst(t *testing.T) {
	inRig(t, func(r *rig) {
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"))
		r.start()
		r.wrote()
		r.leave("a")
		r.join(node("b", "10.0.0.2", "10.244.2.0/24"))
		r.settle()
		wantIs(r, "order of the writes", strings.Join(r.cloud.writes, ", "),
			"create main 10.244.2.0/24 by 10.0.0.2, delete main 10.244.1.0/24 by 10.0.0.1")
	})
}

// TestFailuresAreRetried ever more rarely, told once, and do not hold up others.
func TestFailuresAreRetried(t *testing.T) {
	inRig(t, func(r *rig) {
		r.cloud.set(func(p *plain) { p.refused = errors.New("not today") })
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"))
		r.start()
		<-time.After(10 * time.Minute)
		if tries := r.cloud.counted(writes); tries < 5 || tries > 9 {
			t.Errorf("%d tries within 10 minutes, want 5, 10, 20 … seconds between them", tries)
		}
		wantIs(r, "events", r.told(), "Warning FailedToCreateRoute")
		wantIs(r, "condition", r.condition("a"), unavailable)
		r.cloud.set(func(p *plain) { p.refused = nil })
		<-time.After(maxRetryDelay)
		wantIs(r, "condition", r.condition("a"), created)
	})
}

// TestQuota: one refusal is enough for all that wait, and what is not needed goes nevertheless, which makes room.
func TestQuota(t *testing.T) {
	inRig(t, func(r *rig) {
		r.cloud.set(func(p *plain) { p.quota = 2 })
		r.join(node("old", "10.0.0.1", "10.244.1.0/24"))
		r.start()
		r.wrote()
		for i := range 30 {
			r.join(node(fmt.Sprintf("n%d", i), fmt.Sprintf("10.0.1.%d", i), fmt.Sprintf("10.244.1%02d.0/24", i)))
		}
		r.leave("old")
		r.settle()
		if tries := r.cloud.counted(writes); tries > parallel+3 {
			t.Errorf("%d writes with room for 1", tries)
		}
		told := r.told()
		wantIs(r, "events about the quota", strings.Count(told, cloud.RouteQuotaExceeded), event.Burst)
		<-time.After(time.Minute)
		// 29 do not fit at first, and 28 when the old one is gone: whose turn it is then may have been told already, or
		// not.
		later := strings.Count(r.told(), cloud.RouteQuotaExceeded)
		wantIs(r, "all others are told a minute later", later == 28-event.Burst || later == 29-event.Burst, true)
		wantIs(r, "routes that fit", len(strings.Split(r.has(), ",")), 2)
		wantIs(r, "left over", strings.Contains(r.has(), "10.244.1.0/24"), false)
		r.cloud.set(func(p *plain) { p.quota = 0 })
		<-time.After(2 * maxRetryDelay)
		wantIs(r, "routes with room for all", len(strings.Split(r.has(), ",")), 30)
	})
}

// TestTables: each that is used has all routes; one that is not used any more gets no more, and loses those of each
// Node that goes.
func TestTables(t *testing.T) {
	inRig(t, func(r *rig) {
		r.cloud.tables = append(r.cloud.tables, &plainTable{RouteTable: cloud.RouteTable{ID: "side", Name: "side",
			Used: true}})
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"))
		r.start()
		wantIs(r, "routes", r.has(), "main 10.244.1.0/24 by 10.0.0.1, side 10.244.1.0/24 by 10.0.0.1")
		r.wrote()
		r.cloud.set(func(p *plain) {
			p.tables[0].Used = false
			p.tables = append(p.tables, &plainTable{RouteTable: cloud.RouteTable{ID: "third", Name: "third",
				Used: true}})
			p.refused = errors.New("not today")
		})
		r.later()
		wantIs(r, "routes while the new table refuses", r.has(),
			"main 10.244.1.0/24 by 10.0.0.1, side 10.244.1.0/24 by 10.0.0.1")
		r.cloud.set(func(p *plain) { p.refused = nil })
		<-time.After(maxRetryDelay)
		r.later()
		wantIs(r, "routes", r.has(),
			"main 10.244.1.0/24 by 10.0.0.1, side 10.244.1.0/24 by 10.0.0.1, third 10.244.1.0/24 by 10.0.0.1")
		r.join(node("b", "10.0.0.2", "10.244.2.0/24"))
		r.leave("a")
		r.settle()
		wantIs(r, "routes of another Node", r.has(), "side 10.244.2.0/24 by 10.0.0.2, third 10.244.2.0/24 by 10.0.0.2")
	})
}

// TestOneMoreTableThatRefuses is told, and no reason to keep pods away from Nodes that have all other routes.
func TestOneMoreTableThatRefuses(t *testing.T) {
	inRig(t, func(r *rig) {
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"))
		r.start()
		r.cloud.set(func(p *plain) {
			p.tables = append(p.tables, &plainTable{RouteTable: cloud.RouteTable{ID: "side", Name: "side", Used: true}})
			p.refused = errors.New("not today")
		})
		r.cloud.byHand("side", "10.244.1.128/25", "10.0.0.77")
		r.cloud.set(func(p *plain) { p.living[netip.MustParseAddr("10.0.0.77")] = true })
		r.later()
		wantIs(r, "condition", r.condition("a"), created)
		wantIs(r, "events", r.told(), "Warning FailedToCreateRoute, Warning RouteConflict")
		r.cloud.loses("main", "10.244.1.0/24")
		r.later()
		wantIs(r, "condition without any route", r.condition("a"), unavailable)
	})
}

// TestTablesThatAreNotShown keep their routes in mind: when the last Node goes nobody knows which tables there are, and
// when the next one comes, its routes take their place, although the machine of the last one is still there.
func TestTablesThatAreNotShown(t *testing.T) {
	inRig(t, func(r *rig) {
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"))
		r.start()
		tables := r.cloud.tables
		r.cloud.set(func(p *plain) { p.tables = nil })
		r.leave("a")
		r.settle()
		r.cloud.set(func(p *plain) { p.tables = tables })
		r.wrote()
		r.join(node("b", "10.0.0.2", "10.244.1.0/24"))
		r.settle()
		wantIs(r, "writes", r.wrote(), "change main 10.244.1.0/24 from 10.0.0.1 to 10.0.0.2")
	})
}

// TestTablesThatAreNotUsed are told to the Nodes whose traffic goes by them, also to those without networks of their
// own.
func TestTablesThatAreNotUsed(t *testing.T) {
	inRig(t, func(r *rig) {
		r.cloud.tables = append(r.cloud.tables, &plainTable{RouteTable: cloud.RouteTable{ID: "side", Name: "side",
			Nodes: []string{"a", "control"}}})
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"), node("control", "10.0.0.9"))
		r.start()
		r.later()
		wantIs(r, "events", r.told(), "Warning OtherRouteTable, Warning OtherRouteTable")
		wantIs(r, "condition of a", r.condition("a"), created)
		wantIs(r, "condition of control", r.condition("control"), "")
	})
}

// TestNothingIsTakenAwayByAnAgedCopy: what looks as if it has to go or change is looked at anew first, once for each
// pass.
func TestNothingIsTakenAwayByAnAgedCopy(t *testing.T) {
	inRig(t, func(r *rig) {
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"), node("b", "10.0.0.2", "10.244.2.0/24"))
		r.start()
		r.wrote()
		r.cloud.set(func(p *plain) {
			p.lists = 0
			p.aged = []cloud.RouteTable{{ID: "main", Name: "main", Used: true,
				Routes: routesOf("10.244.1.0/24 by 10.0.0.2", "10.244.2.0/24 by 10.0.0.2",
					"10.244.7.0/24 by 10.0.0.1")}}
		})
		r.join(node("c", "10.0.0.3", "10.244.3.0/24"))
		r.settle()
		wantIs(r, "writes", r.wrote(), "create main 10.244.3.0/24 by 10.0.0.3")
		wantIs(r, "lists", r.cloud.counted(lists), 1)
	})
}

// TestExclusiveTable is written as a whole if more than one route differs, and everything in it is this cluster's.
func TestExclusiveTable(t *testing.T) {
	inRig(t, func(r *rig) {
		r.cloud.tables[0].Exclusive = true
		r.cloud.byHand("main", "0.0.0.0/0", "")
		r.cloud.byHand("main", "10.244.1.0/24", "10.0.0.77")
		r.cloud.set(func(p *plain) { p.living[netip.MustParseAddr("10.0.0.77")] = true })
		for i := range 30 {
			r.join(node(fmt.Sprintf("n%d", i), fmt.Sprintf("10.0.1.%d", i), fmt.Sprintf("10.244.%d.0/24", i)))
		}
		r.start()
		wantIs(r, "writes", r.wrote(), "replace main by 30")
		wantIs(r, "routes", len(strings.Split(r.has(), ",")), 31)
		wantIs(r, "condition", r.condition("n1"), created)
		r.leave("n3")
		r.settle()
		wantIs(r, "writes of one", r.wrote(), "delete main 10.244.3.0/24 by 10.0.1.3")

		r.cloud.set(func(p *plain) { p.replaceRefused = errors.New("one of them is wrong") })
		r.leave("n4")
		r.leave("n5")
		r.settle()
		wantIs(r, "writes when a replacement is refused", r.wrote(),
			"delete main 10.244.4.0/24 by 10.0.1.4, delete main 10.244.5.0/24 by 10.0.1.5, replace main by 27")
	})
}

// TestWhatNodesCannotHave is told on the Node, and its other routes are made.
func TestWhatNodesCannotHave(t *testing.T) {
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
				r.later()
				wantIs(r, "events", r.told(), tt.events)
				wantIs(r, "routes", r.has(), tt.has)
				wantIs(r, "condition", r.condition("x"), unavailable)
			})
		})
	}
}

// TestConditionIsWritten again when the API server refused it, or somebody else changed it.
func TestConditionIsWritten(t *testing.T) {
	inRig(t, func(r *rig) {
		var allowed atomic.Bool
		r.cluster.PrependReactor("patch", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
			return !allowed.Load(), nil, apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, "a",
				errors.New("not allowed"))
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
}

// TestRestart: a process that knows nothing of the one before changes nothing.
func TestRestart(t *testing.T) {
	inRig(t, func(r *rig) {
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"))
		r.start()
		r.wrote()
		r.patches()
		r.start()
		r.later()
		wantIs(r, "writes", r.wrote(), "")
		wantIs(r, "patches", r.patches(), 0)
	})
}

// driftless is a cloud in which nobody looks for drift, that hears how old lists may be.
type driftless struct {
	*plain
	ages []time.Duration
}

func (*driftless) Behaviour() cloud.RouteBehaviour { return cloud.RouteBehaviour{} }

func (d *driftless) List(ctx context.Context, cluster cloud.PodNetwork,
	maxAge time.Duration) (cloud.RouteTables, error) {
	d.ages = append(d.ages, maxAge)
	return d.plain.List(ctx, cluster, maxAge)
}

// TestNoDriftPeriod: what Nodes are compared with is an hour old at most, and nobody looks by himself.
func TestNoDriftPeriod(t *testing.T) {
	inRig(t, func(r *rig) {
		cloud := &driftless{plain: r.cloud}
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"))
		r.startWith(cloud)
		<-time.After(24 * time.Hour)
		synctest.Wait()
		// for the start, and for the Node
		if slices.Max(cloud.ages) != time.Hour || slices.Min(cloud.ages) != time.Hour || len(cloud.ages) > 2 {
			t.Errorf("looks in a day by lists of these ages: %v; want one or two, an hour", cloud.ages)
		}
	})
}
