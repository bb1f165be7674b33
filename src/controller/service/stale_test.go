package service

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// TestStale: after a write to an object that has changed, the plan is computed again within a second, and no failure is
// reported.
func TestStale(t *testing.T) {
	inRig(t, func(r *rig) {
		r.cloud.writeErr = fmt.Errorf("creating: %w", cloud.ErrStale)
		r.start(1)
		r.addService("web")
		r.waitForSync()
		if events := r.events(); slices.Contains(events, "Warning SyncLoadBalancerFailed") {
			t.Errorf("events %q", events)
		}
		r.cloud.set(func(p *fakeCloud) { p.writeErr = nil })
		<-time.After(time.Second)
		want(r, "load balancers", len(r.cloud.contents()), 1)
	})
}
