package thalassa

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// TestSlowCreation: the existing CCM gives up on a slow load balancer after 300 s, and its next sync is a success
// without an address, so nobody comes back. Ours comes back until there is one, and says once that it takes long.
func TestSlowCreation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{Delays: emulator.Delays{LoadbalancerCreate: 8 * time.Minute}})
		nodes, web := l.nodes("a"), service("web", 80)
		began := time.Now()
		if status := l.settle(web, nodes); len(status.Ingress) != 1 || status.Ingress[0].IP == "" {
			t.Errorf("success with the status %+v, want an address", status)
		}
		if took := time.Since(began); took < 8*time.Minute || took > 8*time.Minute+time.Minute {
			t.Errorf("the address came after %s, want within a minute after 8m", took)
		}
		if event := l.nextEvent(); !strings.Contains(event,
			`LoadBalancerSlow Load balancer a0a1b2c3dweb is still "creating" after 5m0s`) {
			t.Errorf("event %q, want one that says it takes long", event)
		}
		if event := l.nextEvent(); event != "" {
			t.Errorf("reported again: %q", event)
		}
	})
}
