package route

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/event"
)

// TestTableThatRefusesEverything is asked by one write at a time, ever more rarely, however many Nodes wait; each of
// them is told once for as long as an event is kept. When it is over, all have their routes with the next write that is
// tried. A table that does not say that it refuses everything is asked a few times more.
func TestTableThatRefusesEverything(t *testing.T) {
	t.Run("and says so", func(t *testing.T) {
		refusesEverything(t, &cloud.RouteProblem{ReadOnly: true, Err: errors.New("not permitted")}, parallel+8, 14)
	})
	t.Run("one by one", func(t *testing.T) {
		refusesEverything(t, errors.New("no such table"), patience+parallel+2*8, 2*14)
	})
}

// refusesEverything bounds the writes of ten minutes, and of the hour that follows.
func refusesEverything(t *testing.T, refusal error, soon, hourly int) {
	t.Helper()
	inRig(t, func(r *rig) {
		const many = 100
		r.cloud.set(func(p *plain) { p.refused = refusal })
		r.cloud.byHand("main", "10.244.200.0/24", "10.0.0.1")
		for i := range many {
			r.join(node(fmt.Sprintf("n%d", i), fmt.Sprintf("10.0.0.%d", i+1), fmt.Sprintf("10.244.%d.0/24", i)))
		}
		r.start()
		<-time.After(10 * time.Minute)
		if tried := r.cloud.counted(writes); tried > soon {
			t.Errorf("%d writes within ten minutes", tried)
		}
		wantIs(r, "Nodes that are told", strings.Count(r.told(), reasonFailed), many)
		wantIs(r, "condition", r.condition("n42"), "True NoRouteCreated")
		r.patches()
		r.wrote()
		<-time.After(event.Again - 15*time.Minute) // of which ten have passed
		wantIs(r, "events", r.told(), "")
		<-time.After(20 * time.Minute)
		if tried := r.cloud.counted(writes); tried > hourly {
			t.Errorf("%d writes within an hour", tried)
		}
		wantIs(r, "patches of Nodes", r.patches(), 0)
		r.cloud.set(func(p *plain) { p.refused = nil })
		<-time.After(maxRetryDelay + 10*time.Second)
		wantIs(r, "routes", strings.Count(r.has(), "by"), many)
		wantIs(r, "condition", r.condition("n42"), "False RouteCreated")
	})
}

// TestOneRouteThatIsAlwaysRefused as if it were for all keeps the others from their tables for a moment only.
func TestOneRouteThatIsAlwaysRefused(t *testing.T) {
	inRig(t, func(r *rig) {
		r.cloud.set(func(p *plain) { p.cursed = "10.244.7.0/24" })
		const many = 60
		for i := range many {
			r.join(node(fmt.Sprintf("n%d", i), fmt.Sprintf("10.0.0.%d", i+1), fmt.Sprintf("10.244.%d.0/24", i)))
		}
		r.start()
		<-time.After(2 * time.Minute)
		wantIs(r, "routes", strings.Count(r.has(), "by"), many-1)
	})
}

// TestRefusedRoutesAreNoReasonToKeepOthers: that no route can be made holds up neither the removal of one, nor a Node
// that joins for longer than the longest pause; and that none can be removed holds up no creation.
func TestRefusedRoutesAreNoReasonToKeepOthers(t *testing.T) {
	inRig(t, func(r *rig) {
		r.join(node("old", "10.0.1.1", "10.244.200.0/24"))
		r.start()
		r.cloud.set(func(p *plain) {
			p.bad = func(destination string) bool { return destination != "10.244.201.0/24" }
		})
		for i := range 60 {
			r.join(node(fmt.Sprintf("n%d", i), fmt.Sprintf("10.0.0.%d", i+1), fmt.Sprintf("10.244.%d.0/24", i)))
		}
		<-time.After(10 * time.Minute)
		r.leave("old")
		r.settle()
		wantIs(r, "routes", r.has(), "")
		r.join(node("new", "10.0.1.2", "10.244.201.0/24"))
		<-time.After(maxRetryDelay + window)
		wantIs(r, "routes", r.has(), "main 10.244.201.0/24 by 10.0.1.2")
	})
}

// TestOtherTables are written to while one refuses everything.
func TestOtherTables(t *testing.T) {
	inRig(t, func(r *rig) {
		r.cloud.set(func(p *plain) {
			p.tables = append(p.tables, &plainTable{RouteTable: cloud.RouteTable{ID: "side", Name: "side", Used: true}})
			p.closed = "main"
		})
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"), node("b", "10.0.0.2", "10.244.2.0/24"))
		r.start()
		wantIs(r, "routes", r.has(), "side 10.244.1.0/24 by 10.0.0.1, side 10.244.2.0/24 by 10.0.0.2")
	})
}

// TestWhatWaitsIsNotLookedFor: a removal or change that is refused makes no pass look anew until it is tried again.
func TestWhatWaitsIsNotLookedFor(t *testing.T) {
	for name, refusal := range map[string]error{"one": errors.New("not this one"),
		"all": &cloud.RouteProblem{ReadOnly: true, Err: errors.New("not permitted")}} {
		t.Run(name, func(t *testing.T) {
			inRig(t, func(r *rig) {
				r.join(node("a", "10.0.0.1", "10.244.1.0/24"), node("b", "10.0.0.2", "10.244.2.0/24"))
				r.start()
				r.cloud.set(func(p *plain) { p.refused = refusal })
				r.leave("a")
				<-time.After(2 * time.Minute)
				before := r.cloud.counted(lists)
				for i := range 60 {
					r.join(node(fmt.Sprintf("n%d", i), fmt.Sprintf("10.0.1.%d", i+1)))
					<-time.After(2 * time.Second)
				}
				if made := r.cloud.counted(lists) - before; made > 3 {
					t.Errorf("%d looks for a removal that waits", made)
				}
				r.cloud.set(func(p *plain) { p.refused = nil })
				<-time.After(maxRetryDelay)
				wantIs(r, "routes", r.has(), "main 10.244.2.0/24 by 10.0.0.2")
			})
		})
	}
}
