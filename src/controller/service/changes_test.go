package service

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// TestStale: after a write to an object that has changed, the plan is computed again soon, and no failure is reported.
// The pauses grow, and a failure is reported if there is no end.
func TestStale(t *testing.T) {
	inRig(t, func(r *rig) {
		r.cloud.writeErr = fmt.Errorf("creating: %w", cloud.ErrStale)
		r.start(1)
		r.addService("web")
		r.waitForSync()
		wantList(r, "events within seconds", r.events(), "Normal EnsuringLoadBalancer")
		if got := r.comparisons(); got < 3 {
			t.Errorf("%d diffs within seconds, want at least 3", got)
		}
		<-time.After(2 * time.Minute)
		if events := r.events(); !slices.Contains(events, "Warning SyncLoadBalancerFailed") {
			t.Errorf("events %q, want a failure", events)
		}
		if got := r.comparisons(); got > 20 {
			t.Errorf("%d diffs in two minutes, want at most 20", got)
		}
	})
}

// TestReports: a report of the cloud about a Service or a machine causes a diff at once, and one about an unknown
// Service a check for orphans. Without a report there is none.
func TestReports(t *testing.T) {
	inRig(t, func(r *rig) {
		r.behaviour.DriftPeriod = 0
		reports := make(chan cloud.Change)
		r.changes = func(ctx context.Context, report func(cloud.Change)) {
			for {
				select {
				case <-ctx.Done():
					return
				case change := <-reports:
					report(change)
				}
			}
		}
		r.startWithService(1)
		for what, change := range map[string]cloud.Change{"All": {All: true}, "Node": {Node: "a"},
			"Service": {Service: types.NamespacedName{Namespace: "shop", Name: "web"}}} {
			before := r.comparisons()
			<-time.After(time.Hour)
			want(r, "diffs in an hour", r.comparisons()-before, 0)
			reports <- change
			<-time.After(time.Second)
			want(r, "diffs after a report of "+what, r.comparisons()-before, 1)
		}
		for _, machine := range []string{"vm-x", "vm-y"} { // only the same repair waits
			r.cloud.set(func(p *fakeCloud) { p.balancers[r.service("web").UID].machines = []string{machine} })
			reports <- cloud.Change{Service: types.NamespacedName{Namespace: "shop", Name: "web"}}
			<-time.After(time.Second)
			want(r, "targets after a report", r.cloud.contents()["web"], "80/TCP to 30080 on vm-a vm-b")
		}
		r.deleteIgnoringFinalizers("web")
		r.waitForSync()
		r.cloud.set(func(p *fakeCloud) { p.balancers["lost"] = &fakeBalancer{owner: types.NamespacedName{Name: "x"}} })
		reports <- cloud.Change{Service: types.NamespacedName{Namespace: "shop", Name: "x"}}
		reports <- cloud.Change{Service: types.NamespacedName{Namespace: "shop", Name: "x"}}
		r.waitForSync()
		want(r, "orphans after checks at one time", len(r.controller.orphanSet.objects()), 0)
		<-time.After(2 * time.Minute)
		want(r, "orphans", len(r.controller.orphanSet.objects()), 1)
	})
}

// TestHeldOrphanIsDeletedLater: an orphan that is kept because most objects in the cloud are orphans is deleted when
// most are not any more, although the cloud reports nothing about it.
func TestHeldOrphanIsDeletedLater(t *testing.T) {
	inRig(t, func(r *rig) {
		r.behaviour.DriftPeriod, r.behaviour.RemoveOrphans = 0, true
		r.changes = func(ctx context.Context, report func(cloud.Change)) {
			report(cloud.Change{All: true})
			<-ctx.Done()
		}
		r.addOrphan()
		r.start(1)
		<-time.After(time.Hour)
		want(r, "load balancers while there is no Service", len(r.cloud.contents()), 1)
		r.addService("web")
		<-time.After(2 * time.Minute)
		_, exists := r.cloud.contents()["lost"]
		want(r, "the orphan exists", exists, false)
		want(r, "load balancers", len(r.cloud.contents()), 1)
	})
}

// TestRepeatedRepair: a program that reverts each repair at once does not cause a write at each report.
func TestRepeatedRepair(t *testing.T) {
	inRig(t, func(r *rig) {
		r.behaviour.DriftPeriod = 0
		r.changes = func(ctx context.Context, report func(cloud.Change)) {
			for ctx.Err() == nil {
				<-time.After(100 * time.Millisecond)
				r.cloud.set(func(p *fakeCloud) {
					for _, balancer := range p.balancers {
						balancer.machines = nil
					}
				})
				report(cloud.Change{Service: types.NamespacedName{Namespace: "shop", Name: "web"}})
			}
		}
		r.startWithService(1)
		<-time.After(10 * time.Minute)
		r.cloud.takeWrites()
		<-time.After(time.Hour)
		if writes := len(r.cloud.takeWrites()); writes == 0 || writes > 15 { // and not 36,000
			t.Errorf("%d writes in an hour, want one in %s", writes, repairInterval)
		}
		want(r, "an event says so", strings.Contains(strings.Join(r.events(), "\n"), reasonNotRepaired), true)
	})
}
