package route

import (
	"fmt"
	"testing"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// TestStale: after a write to an object that has changed, the routes are compared again within a second. (After many in
// a row, the circuit breaker limits them.)
func TestStale(t *testing.T) {
	inRig(t, func(r *rig) {
		r.cloud.writeError = fmt.Errorf("creating: %w", cloud.ErrStale)
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"))
		r.start()
		wantIs(r, "routes", r.routes(), "")
		r.cloud.set(func(c *fakeCloud) { c.writeError = nil })
		<-time.After(time.Second)
		wantIs(r, "routes", r.routes(), "main 10.244.1.0/24 by 10.0.0.1")
	})
}
