package thalassa

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// TestEventsWithoutAClient: the existing CCM only logs that it has no Kubernetes client, and then uses it. Ours works
// without: its events go nowhere.
func TestEventsWithoutAClient(t *testing.T) {
	l := newLab(t, emulator.Config{})
	l.cloud.Start(t.Context(), clients{err: errors.New("forbidden")})
	web := service("web", 80)
	annotated("max-connections", "many")(web)
	if status, err := l.library.EnsureLoadBalancer(t.Context(), "", web, l.nodes("a")); err != nil ||
		len(status.Ingress) != 1 {
		t.Errorf("status %+v, error %v; want an address", status, err)
	}
}

// TestConcurrentCallsShareOneToken: the existing CCM's token is not guarded against concurrent renewal.
func TestConcurrentCallsShareOneToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{Delays: emulator.Delays{TokenLifetime: 10 * time.Minute}})
		nodes := l.nodes("a")
		services := make([]*corev1.Service, 20)
		for i := range services {
			services[i] = service(fmt.Sprintf("web%d", i), 80)
		}
		for _, when := range []string{"at first", "after it expired"} {
			l.emulator.ResetCounters()
			var all sync.WaitGroup
			for _, s := range services {
				all.Go(func() {
					if _, err := l.ensure(s, nodes); err != nil {
						t.Errorf("%s: %v", when, err)
					}
				})
			}
			all.Wait()
			if got := l.emulator.Counters()["POST /oidc/token"]; got != 1 {
				t.Errorf("%s: %d tokens for %d Services at once, want 1", when, got, len(services))
			}
			<-time.After(11 * time.Minute)
		}
	})
}
