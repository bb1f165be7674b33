package route

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/event"
)

// TestTableRefusesAllWrites: a table that refuses all writes gets one of each kind at a time, at growing intervals, for
// any number of Nodes. Each Node gets one event for as long as an event is kept. When the table accepts writes again,
// all routes are created after the next attempt. A table whose errors do not say that it refuses everything
// gets some more writes.
func TestTableRefusesAllWrites(t *testing.T) {
	t.Run("and says so", func(t *testing.T) {
		testRefusingTable(t, &cloud.RouteProblem{OfTable: true, Err: errors.New("not permitted")}, parallel+2*8, 2*14)
	})
	t.Run("one by one", func(t *testing.T) {
		testRefusingTable(t, errors.New("no such table"), failureThreshold+parallel+2*8, 2*14)
	})
}

// testRefusingTable limits the number of writes in ten minutes, and in the hour after that.
func testRefusingTable(t *testing.T, refusal error, atFirst, hourly int) {
	t.Helper()
	inRig(t, func(r *rig) {
		const many = 100
		r.cloud.set(func(c *fakeCloud) { c.writeError = refusal })
		r.cloud.createByHand("main", "10.244.200.0/24", "10.0.0.1")
		for i := range many {
			r.join(node(fmt.Sprintf("n%d", i), fmt.Sprintf("10.0.0.%d", i+1), fmt.Sprintf("10.244.%d.0/24", i)))
		}
		r.start()
		<-time.After(10 * time.Minute)
		if attempts := r.cloud.count(writes); attempts > atFirst {
			t.Errorf("%d writes within ten minutes", attempts)
		}
		wantIs(r, "Nodes with an event", strings.Count(r.events(), reasonFailed), many)
		wantIs(r, "condition", r.condition("n42"), "True NoRouteCreated")
		r.patches()
		r.writes()
		<-time.After(event.Again - 15*time.Minute) // ten minutes of it have passed
		wantIs(r, "events", r.events(), "")
		<-time.After(20 * time.Minute)
		if attempts := r.cloud.count(writes); attempts > hourly {
			t.Errorf("%d writes within an hour", attempts)
		}
		wantIs(r, "patches of Nodes", r.patches(), 0)
		r.cloud.set(func(c *fakeCloud) { c.writeError = nil })
		<-time.After(maxRetryDelay + 10*time.Second)
		wantIs(r, "routes", strings.Count(r.routes(), "by"), many)
		wantIs(r, "condition", r.condition("n42"), "False RouteCreated")
	})
}

// TestOneRouteIsAlwaysRefused: one route whose error says that the table refuses everything delays the other routes
// only for a moment.
func TestOneRouteIsAlwaysRefused(t *testing.T) {
	inRig(t, func(r *rig) {
		r.cloud.set(func(c *fakeCloud) { c.refusedRoute = "10.244.7.0/24" })
		const many = 60
		for i := range many {
			r.join(node(fmt.Sprintf("n%d", i), fmt.Sprintf("10.0.0.%d", i+1), fmt.Sprintf("10.244.%d.0/24", i)))
		}
		r.start()
		<-time.After(2 * time.Minute)
		wantIs(r, "routes", strings.Count(r.routes(), "by"), many-1)
	})
}

// TestRefusedRoutesDoNotDelayOthers: if no route can be created, routes are still deleted, and a new Node's route is
// tried after the longest delay at the latest.
func TestRefusedRoutesDoNotDelayOthers(t *testing.T) {
	inRig(t, func(r *rig) {
		r.join(node("old", "10.0.1.1", "10.244.200.0/24"))
		r.start()
		r.cloud.set(func(c *fakeCloud) {
			c.refuses = func(destination string) bool { return destination != "10.244.201.0/24" }
		})
		for i := range 60 {
			r.join(node(fmt.Sprintf("n%d", i), fmt.Sprintf("10.0.0.%d", i+1), fmt.Sprintf("10.244.%d.0/24", i)))
		}
		<-time.After(10 * time.Minute)
		r.deleteNode("old")
		r.settle()
		wantIs(r, "routes", r.routes(), "")
		r.join(node("new", "10.0.1.2", "10.244.201.0/24"))
		<-time.After(maxRetryDelay + window)
		wantIs(r, "routes", r.routes(), "main 10.244.201.0/24 by 10.0.1.2")
	})
}

// TestOtherTablesAreWritten: other tables are written while one refuses everything.
func TestOtherTablesAreWritten(t *testing.T) {
	inRig(t, func(r *rig) {
		r.cloud.set(func(c *fakeCloud) {
			c.tables = append(c.tables, &fakeTable{RouteTable: cloud.RouteTable{ID: "side", Name: "side", Used: true}})
			c.refusingTable = "main"
		})
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"), node("b", "10.0.0.2", "10.244.2.0/24"))
		r.start()
		wantIs(r, "routes", r.routes(), "side 10.244.1.0/24 by 10.0.0.1, side 10.244.2.0/24 by 10.0.0.2")
	})
}

// TestDelayedWritesNeedNoNewList: a removal or change that was refused causes no new list until it is retried.
func TestDelayedWritesNeedNoNewList(t *testing.T) {
	for name, refusal := range map[string]error{"one": errors.New("not this one"),
		"all": &cloud.RouteProblem{OfTable: true, Err: errors.New("not permitted")}} {
		t.Run(name, func(t *testing.T) {
			inRig(t, func(r *rig) {
				r.join(node("a", "10.0.0.1", "10.244.1.0/24"), node("b", "10.0.0.2", "10.244.2.0/24"))
				r.start()
				r.cloud.set(func(c *fakeCloud) { c.writeError = refusal })
				r.deleteNode("a")
				<-time.After(2 * time.Minute)
				before := r.cloud.count(newLists)
				for i := range 60 {
					r.join(node(fmt.Sprintf("n%d", i), fmt.Sprintf("10.0.1.%d", i+1)))
					<-time.After(2 * time.Second)
				}
				if made := r.cloud.count(newLists) - before; made > 3 {
					t.Errorf("%d lists for a removal that waits", made)
				}
				r.cloud.set(func(c *fakeCloud) { c.writeError = nil })
				<-time.After(maxRetryDelay)
				wantIs(r, "routes", r.routes(), "main 10.244.2.0/24 by 10.0.0.2")
			})
		})
	}
}
