package route

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestEndOfAnOutage: what failed in an outage is tried again at its end, and not after a delay that has grown.
func TestEndOfAnOutage(t *testing.T) {
	for name, fail := range map[string]func(*fakeCloud, error){
		"lists":  func(c *fakeCloud, err error) { c.readError = err },
		"writes": func(c *fakeCloud, err error) { c.writeError = err },
	} {
		t.Run(name, func(t *testing.T) {
			inRig(t, func(r *rig) {
				reports := make(chan func(), 1)
				r.recovered = func(ctx context.Context, report func()) {
					reports <- report
					<-ctx.Done()
				}
				r.join(node("a", "10.0.0.1", "10.244.1.0/24"))
				r.start()
				<-time.After(time.Minute)
				r.cloud.set(func(c *fakeCloud) { fail(c, errors.New("no answer")) })
				r.join(node("b", "10.0.0.2", "10.244.2.0/24"))
				<-time.After(time.Hour)
				wantIs(r, "condition in the outage", r.condition("b"), "True NoRouteCreated")
				r.cloud.set(func(c *fakeCloud) { fail(c, nil) })
				(<-reports)()
				<-time.After(2 * time.Second)
				wantIs(r, "condition after its end", r.condition("b"), "False RouteCreated")
			})
		})
	}
}
