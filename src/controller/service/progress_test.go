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

// TestNodesJoinDuringALongPlan: a plan that needs several looks becomes longer because nodes join. Nothing is wrong
// with the cloud, and all is written.
func TestNodesJoinDuringALongPlan(t *testing.T) {
	inRig(t, func(r *rig) {
		r.cloud.oneByOne = true
		r.serve(2)
		r.cloud.done()
		writes := 0
		r.cloud.set(func(p *plain) {
			p.during = func() {
				if writes++; writes <= maxWrites { // so that the second plan is longer than the first
					r.addNode(fmt.Sprintf("late-%d", writes))
				}
			}
		})
		for i := range maxWrites + 5 {
			r.addNode(fmt.Sprintf("n-%d", i))
		}
		<-time.After(time.Minute)
		wantList(r, "events", failuresOf(r.toldInFull()))
		want(r, "machines", len(strings.Fields(r.cloud.has()["web"]))-len(strings.Fields("80/TCP to 30080 on")),
			2+2*maxWrites+5)
		want(r, "writes", len(r.cloud.done()), 2*maxWrites+5)
	})
}

// TestCloudThatForgets: a write that is needed again right after it was made is reported, and made again only after a
// pause, whether the plan fits into one look or not.
func TestCloudThatForgets(t *testing.T) {
	for name, nodes := range map[string]int{"a short plan": 1, "a long plan": maxWrites + 5} {
		t.Run(name, func(t *testing.T) {
			inRig(t, func(r *rig) {
				r.cloud.oneByOne, r.cloud.forgetful = true, true
				r.serve(2)
				r.cloud.done()
				for i := range nodes {
					r.addNode(fmt.Sprintf("n-%02d", i))
				}
				r.settle()
				told := failuresOf(r.toldInFull())
				if len(told) != 1 || !strings.Contains(told[0], `does not keep what is written: "update load balancer web: vm-n-00 is added" was written and is needed again`) {
					r.Errorf("events %q", told)
				}
				if writes := r.cloud.done(); len(writes) == 0 || len(writes) > 2*maxWrites {
					r.Errorf("%d writes within seconds: %q", len(writes), writes)
				}
			})
		})
	}
}

// TestCloudThatForgetsADeletion: the same for the writes of a deletion that takes several looks. It goes on once the
// cloud keeps them.
func TestCloudThatForgetsADeletion(t *testing.T) {
	inRig(t, func(r *rig) {
		r.serve(2)
		r.cloud.set(func(p *plain) {
			p.forgetful = true
			for _, balancer := range p.balancers {
				balancer.parts = maxWrites + 5
			}
		})
		r.toldInFull()
		r.cloud.done()
		r.deleteService("web")
		r.settle()
		told := failuresOf(r.toldInFull())
		const again = `"delete load balancer web: a part" was written and is needed again`
		if len(told) != 1 || !strings.Contains(told[0], again) {
			r.Errorf("events %q", told)
		}
		if writes := r.cloud.done(); len(writes) == 0 || len(writes) > 2*maxWrites {
			r.Errorf("%d writes within seconds", len(writes))
		}
		r.cloud.set(func(p *plain) { p.forgetful = false })
		<-time.After(time.Hour)
		wantList(r, "failures", failuresOf(r.toldInFull()))
		want(r, "load balancers", len(r.cloud.has()), 0)
	})
}

// TestProgress: what counts as written and needed again.
func TestProgress(t *testing.T) {
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
		kept     bool
	}{
		"all is kept":                         {web, []string{"vm-a"}, 2, cloud.Plan{other}, true},
		"one of two that look alike is left":  {web, []string{"vm-a"}, 1, cloud.Plan{twin, other}, true},
		"none of two that look alike is kept": {web, []string{"vm-a"}, 2, cloud.Plan{twin, twin, other}, false},
		"one of them is not kept":             {web, []string{"vm-a"}, 2, cloud.Plan{twin, other}, false},
		"more is needed, and nothing of it again": {web, []string{"vm-a"}, 2, slices.Repeat(cloud.Plan{other}, 5),
			true},
		"other machines are wanted":           {web, []string{"vm-b"}, 3, before, true},
		"the Service asks for something else": {changed, []string{"vm-a"}, 3, before, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var none *progress
			done := none.towards(web, []string{"vm-a"})
			done.note(before, before.Begin(tt.written))
			if err := done.towards(tt.service, tt.machines).check(tt.now); (err == nil) != tt.kept {
				t.Errorf("error %v, want one: %v", err, !tt.kept)
			}
		})
	}
}

// failuresOf are the warnings among events.
func failuresOf(events []string) []string {
	return slices.DeleteFunc(events, func(event string) bool {
		return !strings.HasPrefix(event, corev1.EventTypeWarning)
	})
}
