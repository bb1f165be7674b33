package service

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// TestNodesAddedDuringALongPlan: if a plan needs several reconciliations and becomes longer because nodes are added,
// all of it is written, and no failure is reported.
func TestNodesAddedDuringALongPlan(t *testing.T) {
	inRig(t, func(r *rig) {
		r.cloud.oneByOne = true
		r.startWithService(2)
		r.cloud.takeWrites()
		writes := 0
		r.cloud.set(func(p *fakeCloud) {
			p.onWrite = func() {
				if writes++; writes <= maxWrites { // the second plan is longer than the first
					r.addNode(fmt.Sprintf("late-%d", writes))
				}
			}
		})
		for i := range maxWrites + 5 {
			r.addNode(fmt.Sprintf("n-%d", i))
		}
		<-time.After(time.Minute)
		wantList(r, "events", failuresOf(r.fullEvents()))
		want(r, "machines", len(strings.Fields(r.cloud.contents()["web"]))-len(strings.Fields("80/TCP to 30080 on")),
			2+2*maxWrites+5)
		want(r, "writes", len(r.cloud.takeWrites()), 2*maxWrites+5)
	})
}

// TestCloudThatDropsUpdates: a write that is necessary again directly after it was made is reported, and made again
// only after a pause, with short and with long plans.
func TestCloudThatDropsUpdates(t *testing.T) {
	for name, nodes := range map[string]int{"a short plan": 1, "a long plan": maxWrites + 5} {
		t.Run(name, func(t *testing.T) {
			inRig(t, func(r *rig) {
				r.cloud.oneByOne, r.cloud.dropsUpdates = true, true
				r.startWithService(2)
				r.cloud.takeWrites()
				for i := range nodes {
					r.addNode(fmt.Sprintf("n-%02d", i))
				}
				r.waitForSync()
				failures := failuresOf(r.fullEvents())
				if len(failures) != 1 || !strings.Contains(failures[0], `does not keep what is written: "update load balancer web: vm-n-00 is added" was written and is needed again`) {
					r.Errorf("events %q", failures)
				}
				if writes := r.cloud.takeWrites(); len(writes) == 0 || len(writes) > 2*maxWrites {
					r.Errorf("%d writes within seconds: %q", len(writes), writes)
				}
			})
		})
	}
}

// TestCloudThatDropsDeletions: the same is true for a deletion that needs several reconciliations. It continues when
// the writes have an effect.
func TestCloudThatDropsDeletions(t *testing.T) {
	inRig(t, func(r *rig) {
		r.startWithService(2)
		r.cloud.set(func(p *fakeCloud) {
			p.dropsUpdates = true
			for _, balancer := range p.balancers {
				balancer.parts = maxWrites + 5
			}
		})
		r.fullEvents()
		r.cloud.takeWrites()
		r.deleteService("web")
		r.waitForSync()
		failures := failuresOf(r.fullEvents())
		const again = `"delete load balancer web: a part" was written and is needed again`
		if len(failures) != 1 || !strings.Contains(failures[0], again) {
			r.Errorf("events %q", failures)
		}
		if writes := r.cloud.takeWrites(); len(writes) == 0 || len(writes) > 2*maxWrites {
			r.Errorf("%d writes within seconds", len(writes))
		}
		r.cloud.set(func(p *fakeCloud) { p.dropsUpdates = false })
		<-time.After(time.Hour)
		wantList(r, "failures", failuresOf(r.fullEvents()))
		want(r, "load balancers", len(r.cloud.contents()), 0)
	})
}

// TestWriteProgress: check returns an error for operations that are necessary again after they were written.
func TestWriteProgress(t *testing.T) {
	twin, other := cloud.Operation{Verb: cloud.Delete, Kind: "part", Name: "twin"}, cloud.Operation{Verb: cloud.Create,
		Kind: "part", Name: "other"}
	web, changed := &corev1.Service{}, &corev1.Service{}
	changed.Annotations = map[string]string{"changed": "yes"}
	before := cloud.Plan{twin, twin, other}
	tests := map[string]struct {
		service  *corev1.Service
		machines []string
		written  int
		now      cloud.Plan
		ok       bool
	}{
		"all is kept":                         {web, []string{"vm-a"}, 2, cloud.Plan{other}, true},
		"one of two that look alike is left":  {web, []string{"vm-a"}, 1, cloud.Plan{twin, other}, true},
		"none of two that look alike is kept": {web, []string{"vm-a"}, 2, cloud.Plan{twin, twin, other}, false},
		"one of them is not kept":             {web, []string{"vm-a"}, 2, cloud.Plan{twin, other}, false},
		"more is needed, and nothing of it again": {web, []string{"vm-a"}, 2, slices.Repeat(cloud.Plan{other}, 5),
			true},
		"other machines are wanted":           {web, []string{"vm-b"}, 3, before, true},
		"the Service requests something else": {changed, []string{"vm-a"}, 3, before, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var none *writeProgress
			progress := none.forDesired(web, []string{"vm-a"})
			progress.record(before, before.Begin(tt.written))
			if err := progress.forDesired(tt.service, tt.machines).check(tt.now); (err == nil) != tt.ok {
				t.Errorf("error %v, want one: %v", err, !tt.ok)
			}
		})
	}
}

// failuresOf returns the warnings among events.
func failuresOf(events []string) []string {
	return slices.DeleteFunc(events, func(event string) bool {
		return !strings.HasPrefix(event, corev1.EventTypeWarning)
	})
}
