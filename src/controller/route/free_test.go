package route

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/event"
)

// omit removes an address from lists of machines, or adds it again.
func (r *rig) omit(address string, omitted bool) {
	r.cloud.set(func(c *fakeCloud) { c.omitted = map[netip.Addr]bool{netip.MustParseAddr(address): omitted} })
}

// withUnmanagedRoute runs a test in a rig with a Node and an unmanaged route to an existing machine.
func withUnmanagedRoute(t *testing.T, test func(*rig)) {
	t.Helper()
	inRig(t, func(r *rig) {
		r.cloud.createByHand("main", "10.244.7.0/24", "10.0.0.7")
		r.cloud.set(func(c *fakeCloud) { c.machines[netip.MustParseAddr("10.0.0.7")] = true })
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"))
		r.start()
		r.writes()
		test(r)
	})
}

// TestOneCheckIsNotEnough: after one check nothing is deleted, at any later time and after any number of other syncs.
func TestOneCheckIsNotEnough(t *testing.T) {
	withUnmanagedRoute(t, func(r *rig) {
		r.omit("10.0.0.7", true)
		r.nextPeriod()
		r.omit("10.0.0.7", false)
		<-time.After(2 * minFreeTime)
		r.join(node("b", "10.0.0.2", "10.244.2.0/24"))
		r.settle()
		wantIs(r, "writes of a pass after one list", r.writes(), "create main 10.244.2.0/24 by 10.0.0.2")
		r.nextPeriod()
		r.omit("10.0.0.7", true)
		r.nextPeriod()
		wantIs(r, "writes after a list with the gateway between two without", r.writes(), "")
	})
}

// TestLeftBehindWithoutDriftPeriod: the routes of Nodes that were deleted before the start are deleted, although no
// check for drift follows.
func TestLeftBehindWithoutDriftPeriod(t *testing.T) {
	inRig(t, func(r *rig) {
		r.cloud.createByHand("main", "10.244.7.0/24", "10.0.0.7")
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"))
		r.startWith(&driftlessCloud{fakeCloud: r.cloud})
		wantIs(r, "writes of the start", r.writes(), "create main 10.244.1.0/24 by 10.0.0.1")
		<-time.After(minFreeTime)
		wantIs(r, "writes a minute later", r.writes(), "delete main 10.244.7.0/24 by 10.0.0.7")
		<-time.After(3 * minFreeTime) // one more check finds that it is gone
		r.cloud.deleteByHand("main", "10.244.1.0/24")
		<-time.After(time.Hour)
		wantIs(r, "writes without a check for drift", r.writes(), "")
	})
}

// TestFollowUpsWithoutDriftPeriod: if the first check fails, another one follows; and a route that the cloud refuses to
// delete is checked ever more rarely.
func TestFollowUpsWithoutDriftPeriod(t *testing.T) {
	inRig(t, func(r *rig) {
		driftless := &driftlessCloud{fakeCloud: r.cloud}
		r.cloud.createByHand("main", "10.244.7.0/24", "10.0.0.7")
		r.cloud.set(func(c *fakeCloud) { c.listError = errors.New("machines cannot be listed") })
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"))
		r.startWith(driftless)
		wantIs(r, "writes of the start", r.writes(), "create main 10.244.1.0/24 by 10.0.0.1")
		r.cloud.set(func(c *fakeCloud) { c.listError, c.writeError = nil, errors.New("not today") })
		<-time.After(24 * time.Hour)
		wantIs(r, "writes that are refused",
			strings.Contains(r.writes(), "delete main 10.244.7.0/24 by 10.0.0.7"), true)
		if lists := len(driftless.ages); lists > 120 {
			t.Errorf("%d lists in a day, want about one an hour for the check, and some for what is refused", lists)
		}
		r.cloud.set(func(c *fakeCloud) { c.writeError = nil })
		<-time.After(2 * time.Hour)
		wantIs(r, "writes later", r.writes(), "delete main 10.244.7.0/24 by 10.0.0.7")
	})
}

// TestFreeAddressIsCheckedAgain: if a route cannot be deleted and a machine gets the address, the route is kept.
func TestFreeAddressIsCheckedAgain(t *testing.T) {
	withUnmanagedRoute(t, func(r *rig) {
		r.removeMachine("10.0.0.7")
		r.nextPeriod()
		r.cloud.set(func(c *fakeCloud) { c.writeError = errors.New("not today") })
		r.nextPeriod()
		wantIs(r, "writes that are refused",
			strings.Contains(r.writes(), "delete main 10.244.7.0/24 by 10.0.0.7"), true)
		r.cloud.set(func(c *fakeCloud) { c.writeError, c.machines[netip.MustParseAddr("10.0.0.7")] = nil, true })
		<-time.After(3 * driftPeriod)
		wantIs(r, "writes when somebody came", r.writes(), "")
	})
}

// TestFreeAddressesFail: if the list of machines fails, nothing is deleted because of it, and everything else
// continues.
func TestFreeAddressesFail(t *testing.T) {
	withUnmanagedRoute(t, func(r *rig) {
		r.removeMachine("10.0.0.7")
		r.cloud.set(func(c *fakeCloud) { c.listError = errors.New("machines cannot be listed") })
		r.cloud.deleteByHand("main", "10.244.1.0/24")
		<-time.After(3 * driftPeriod)
		wantIs(r, "writes", r.writes(), "create main 10.244.1.0/24 by 10.0.0.1")
		r.cloud.set(func(c *fakeCloud) { c.listError = nil })
		<-time.After(2*driftPeriod + time.Second)
		wantIs(r, "writes with answers", r.writes(), "delete main 10.244.7.0/24 by 10.0.0.7")
	})
}

// TestBlockingNodes: Nodes that prevent the deletion of routes that were left behind are reported from the second check
// on, as long as they do. A failed list changes nothing.
func TestBlockingNodes(t *testing.T) {
	withUnmanagedRoute(t, func(r *rig) {
		r.join(node("b", "10.0.0.2", "10.244.2.0/24"))
		setError := func(err error) { r.cloud.set(func(c *fakeCloud) { c.listError = err }) }
		ofB := &cloud.IncompleteListError{Missing: map[string]string{"b": "the one"}, Err: errors.New("not complete")}
		setError(ofB)
		r.removeMachine("10.0.0.7")
		r.nextPeriod()
		setError(nil)
		r.nextPeriod()
		wantIs(r, "events of a list that was partial for a moment", r.events(), "Warning RouteLeftBehind")
		setError(ofB)
		r.cloud.createByHand("main", "10.244.8.0/24", "10.0.0.8")
		r.nextPeriod()
		wantIs(r, "events of another", r.events(), "")
		r.nextPeriod()
		wantIs(r, "events", r.events(), "Warning RouteCleanUpStopped")
		setError(errors.New("no list"))
		r.nextPeriod()
		setError(fmt.Errorf("once more: %w", ofB))
		<-time.After(event.Again - 4*driftPeriod)
		wantIs(r, "events within an hour", r.events(), "")
		<-time.After(3 * driftPeriod)
		wantIs(r, "events when it lasts", r.events(), "Warning RouteCleanUpStopped")
		wantIs(r, "writes", strings.Contains(r.writes(), "delete main 10.244.8.0/24"), false)
		r.deleteNode("b")
		setError(nil)
		<-time.After(3 * driftPeriod)
		wantIs(r, "writes without it", r.writes(), "delete main 10.244.2.0/24 by 10.0.0.2, delete main 10.244.7.0/24 "+
			"by 10.0.0.7, delete main 10.244.8.0/24 by 10.0.0.8")
		setError(ofB)
		r.join(node("b", "10.0.0.2", "10.244.2.0/24"))
		r.events()
		<-time.After(3 * driftPeriod)
		wantIs(r, "events while nothing is left behind", r.events(), "")
	})
}

// TestOnlyRoutesLikeThoseOfMembers: only routes with a destination of the size of a member's network are deleted
// because their gateway is free. Larger and smaller networks are kept, and so are all routes without a member.
func TestOnlyRoutesLikeThoseOfMembers(t *testing.T) {
	inRig(t, func(r *rig) {
		const others = "main 10.244.128.0/20 by 10.0.0.250, main 10.244.9.0/28 by 10.0.0.250, main fd00:244:0:9::/64 " +
			"by fd00::250"
		for one := range strings.SplitSeq(others, ", ") {
			fields := strings.Fields(one)
			r.cloud.createByHand("main", fields[1], fields[3])
		}
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"))
		r.start()
		r.writes()
		<-time.After(5 * driftPeriod)
		wantIs(r, "writes", r.writes(), "")
		wantIs(r, "events", r.events(), "")
		r.cloud.createByHand("main", "10.244.9.0/24", "10.0.0.9")
		r.nextPeriod()
		wantIs(r, "writes at the first sync", r.writes(), "")
		wantIs(r, "events at the first sync", r.events(), "Warning RouteLeftBehind")
		r.nextPeriod()
		wantIs(r, "writes at the second", r.writes(), "delete main 10.244.9.0/24 by 10.0.0.9")
		wantIs(r, "events at the second", r.events(), "")
	})
}

// TestManyLeftBehind: routes that were left behind are reported in one event before any of them is deleted: a recorder
// drops most of many events on one Node.
func TestManyLeftBehind(t *testing.T) {
	inRig(t, func(r *rig) {
		const many = 60
		for i := range many {
			r.cloud.createByHand("main", fmt.Sprintf("10.244.%d.0/24", i+100), fmt.Sprintf("10.0.1.%d", i+1))
		}
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"))
		r.start()
		r.writes()
		r.nextPeriod()
		events := strings.Join(r.process.Events(), "; ")
		wantIs(r, "events", strings.Count(events, "Warning"), 1)
		for _, part := range []string{"RouteLeftBehind", "main has 60 routes", "10.244.100.0/24 by 10.0.1.1, ",
			"and 50 more"} {
			if !strings.Contains(events, part) {
				t.Errorf("events %q, want %q in it", events, part)
			}
		}
		wantIs(r, "writes at the first sync", r.writes(), "")
		r.nextPeriod()
		wantIs(r, "routes", r.routes(), "main 10.244.1.0/24 by 10.0.0.1")
	})
}
