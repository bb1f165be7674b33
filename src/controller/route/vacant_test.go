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

// unlist makes lists of machines leave out an address, or show it again.
func (r *rig) unlist(address string, unseen bool) {
	r.cloud.set(func(p *plain) { p.unseen = map[netip.Addr]bool{netip.MustParseAddr(address): unseen} })
}

// strange is a rig with a Node and a route of somebody else to a machine that is there.
func strange(t *testing.T, test func(*rig)) {
	t.Helper()
	inRig(t, func(r *rig) {
		r.cloud.byHand("main", "10.244.7.0/24", "10.0.0.7")
		r.cloud.set(func(p *plain) { p.living[netip.MustParseAddr("10.0.0.7")] = true })
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"))
		r.start()
		r.wrote()
		test(r)
	})
}

// TestOneLookIsNotTwo, however long ago it was, and however many passes there were since for other reasons.
func TestOneLookIsNotTwo(t *testing.T) {
	strange(t, func(r *rig) {
		r.unlist("10.0.0.7", true)
		r.later()
		r.unlist("10.0.0.7", false)
		<-time.After(2 * vacantGrace)
		r.join(node("b", "10.0.0.2", "10.244.2.0/24"))
		r.settle()
		wantIs(r, "writes of a pass after one look", r.wrote(), "create main 10.244.2.0/24 by 10.0.0.2")
		r.later()
		r.unlist("10.0.0.7", true)
		r.later()
		wantIs(r, "writes after a look that found somebody between two that did not", r.wrote(), "")
	})
}

// TestVacancyIsAskedForAgain as long as the route is there: when it cannot be removed, and somebody comes, it stays.
func TestVacancyIsAskedForAgain(t *testing.T) {
	strange(t, func(r *rig) {
		r.end("10.0.0.7")
		r.later()
		r.cloud.set(func(p *plain) { p.refused = errors.New("not today") })
		r.later()
		wantIs(r, "writes that are refused", strings.Contains(r.wrote(), "delete main 10.244.7.0/24 by 10.0.0.7"), true)
		r.cloud.set(func(p *plain) { p.refused, p.living[netip.MustParseAddr("10.0.0.7")] = nil, true })
		<-time.After(3 * driftPeriod)
		wantIs(r, "writes when somebody came", r.wrote(), "")
	})
}

// TestNoAnswerAboutMachines removes nothing, and holds nothing else up.
func TestNoAnswerAboutMachines(t *testing.T) {
	strange(t, func(r *rig) {
		r.end("10.0.0.7")
		r.cloud.set(func(p *plain) { p.unlisted = errors.New("machines cannot be listed") })
		r.cloud.loses("main", "10.244.1.0/24")
		<-time.After(3 * driftPeriod)
		wantIs(r, "writes", r.wrote(), "create main 10.244.1.0/24 by 10.0.0.1")
		r.cloud.set(func(p *plain) { p.unlisted = nil })
		<-time.After(2*driftPeriod + time.Second)
		wantIs(r, "writes with answers", r.wrote(), "delete main 10.244.7.0/24 by 10.0.0.7")
	})
}

// TestNodesInTheWay of the clean-up are told, from the second look on, for as long as that lasts, and not because of a
// list that fails.
func TestNodesInTheWay(t *testing.T) {
	strange(t, func(r *rig) {
		r.join(node("b", "10.0.0.2", "10.244.2.0/24"))
		lacks := func(err error) { r.cloud.set(func(p *plain) { p.unlisted = err }) }
		ofB := &cloud.IncompleteListError{Missing: map[string]string{"b": "the one"}, Err: errors.New("not complete")}
		lacks(ofB)
		r.end("10.0.0.7")
		r.later()
		lacks(nil)
		r.later()
		wantIs(r, "events of a list that was partial for a moment", r.told(), "Warning RouteLeftBehind")
		lacks(ofB)
		r.cloud.byHand("main", "10.244.8.0/24", "10.0.0.8")
		r.later()
		wantIs(r, "events of another", r.told(), "")
		r.later()
		wantIs(r, "events", r.told(), "Warning RouteCleanUpStopped")
		lacks(errors.New("no list"))
		r.later()
		lacks(fmt.Errorf("once more: %w", ofB))
		<-time.After(event.Again - 4*driftPeriod)
		wantIs(r, "events within an hour", r.told(), "")
		<-time.After(3 * driftPeriod)
		wantIs(r, "events when it lasts", r.told(), "Warning RouteCleanUpStopped")
		wantIs(r, "writes", strings.Contains(r.wrote(), "delete main 10.244.8.0/24"), false)
		r.leave("b")
		lacks(nil)
		<-time.After(3 * driftPeriod)
		wantIs(r, "writes without it", r.wrote(), "delete main 10.244.2.0/24 by 10.0.0.2, delete main 10.244.7.0/24 "+
			"by 10.0.0.7, delete main 10.244.8.0/24 by 10.0.0.8")
		lacks(ofB)
		r.join(node("b", "10.0.0.2", "10.244.2.0/24"))
		r.told()
		<-time.After(3 * driftPeriod)
		wantIs(r, "events while nothing is left behind", r.told(), "")
	})
}

// TestOnlyWhatNodesCouldLeave goes because nobody is where it leads to: an aggregate by an address that moves, or a
// part of a network, stays for ever, and so does anything while there is no Node that it could be like.
func TestOnlyWhatNodesCouldLeave(t *testing.T) {
	inRig(t, func(r *rig) {
		const others = "main 10.244.128.0/20 by 10.0.0.250, main 10.244.9.0/28 by 10.0.0.250, main fd00:244:0:9::/64 " +
			"by fd00::250"
		for one := range strings.SplitSeq(others, ", ") {
			way := strings.Fields(one)
			r.cloud.byHand("main", way[1], way[3])
		}
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"))
		r.start()
		r.wrote()
		<-time.After(5 * driftPeriod)
		wantIs(r, "writes", r.wrote(), "")
		wantIs(r, "events", r.told(), "")
		r.cloud.byHand("main", "10.244.9.0/24", "10.0.0.9")
		r.later()
		wantIs(r, "writes at the first look", r.wrote(), "")
		wantIs(r, "events at the first look", r.told(), "Warning RouteLeftBehind")
		r.later()
		wantIs(r, "writes at the second", r.wrote(), "delete main 10.244.9.0/24 by 10.0.0.9")
		wantIs(r, "events at the second", r.told(), "")
	})
}

// TestManyLeftBehind are told by one event, before any of them goes: a recorder drops what is more than a few events of
// one Node.
func TestManyLeftBehind(t *testing.T) {
	inRig(t, func(r *rig) {
		const many = 60
		for i := range many {
			r.cloud.byHand("main", fmt.Sprintf("10.244.%d.0/24", i+100), fmt.Sprintf("10.0.1.%d", i+1))
		}
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"))
		r.start()
		r.wrote()
		r.later()
		told := strings.Join(r.process.Told(), "; ")
		wantIs(r, "events", strings.Count(told, "Warning"), 1)
		for _, part := range []string{"RouteLeftBehind", "main has 60 routes", "10.244.100.0/24 by 10.0.1.1, ",
			"and 50 more"} {
			if !strings.Contains(told, part) {
				t.Errorf("told %q, want %q in it", told, part)
			}
		}
		wantIs(r, "writes at the first look", r.wrote(), "")
		r.later()
		wantIs(r, "routes", r.has(), "main 10.244.1.0/24 by 10.0.0.1")
	})
}
