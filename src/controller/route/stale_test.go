package route

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// TestStale: after a write to an object that has changed, the routes are compared again soon, and no failure is
// reported.
func TestStale(t *testing.T) {
	inRig(t, func(r *rig) {
		r.cloud.writeError = fmt.Errorf("creating: %w", cloud.ErrStale)
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"))
		r.start()
		wantIs(r, "routes", r.routes(), "")
		r.cloud.set(func(c *fakeCloud) { c.writeError = nil })
		<-time.After(4 * time.Second)
		wantIs(r, "routes", r.routes(), "main 10.244.1.0/24 by 10.0.0.1")
		wantIs(r, "events", r.events(), "")
	})
}

// TestAlwaysStale: the pauses after stale writes grow, and a failure is reported if there is no end.
func TestAlwaysStale(t *testing.T) {
	inRig(t, func(r *rig) {
		r.cloud.writeError = fmt.Errorf("creating: %w", cloud.ErrStale)
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"))
		r.start()
		<-time.After(2 * time.Minute)
		if events := r.events(); !strings.Contains(events, "Warning FailedToCreateRoute") {
			t.Errorf("events %q, want a failure", events)
		}
		if got := r.cloud.count(writes); got > 20 {
			t.Errorf("%d writes in two minutes, want at most 20", got)
		}
	})
}
