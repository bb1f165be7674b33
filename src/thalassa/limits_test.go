package thalassa

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/cloudconfig"
)

// silent is a network without answers.
type silent struct{}

func (silent) RoundTrip(request *http.Request) (*http.Response, error) {
	<-request.Context().Done()
	return nil, request.Context().Err()
}

func TestCallTimeoutIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{})
		l.config.API.CallTimeout = 7
		l.network = silent{}
		l.restart()
		began := time.Now()
		if err := l.cloud.inventory.Probe(t.Context()); err == nil || time.Since(began) != 7*time.Second {
			t.Errorf("after %s: %v; want an error after 7s", time.Since(began), err)
		}
		<-time.After(time.Minute) // the fetch of the token ends too
	})
}

func TestRateIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{})
		l.config.API.RequestsPerSecond, l.config.API.Burst = 1, 3
		l.restart()
		began := time.Now()
		for range 10 {
			if err := l.cloud.inventory.Probe(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began).Round(time.Second); took != 8*time.Second {
			t.Errorf("10 calls and one for the token at 1 a second, 3 of them at once, took %s; want 8s", took)
		}
	})
}

// TestAgesAreKept: what is known is asked again when it is older than the configuration allows, and not before.
func TestAgesAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, age := range []int{10, 100} {
			l := newLab(t, emulator.Config{})
			l.config.Inventory = cloudconfig.Inventory{MachineAge: age, BalancerAge: age}
			l.restart()
			nodes, web := l.nodes("a"), service("web", 80)
			exists := func(node *corev1.Node) {
				if _, err := l.cloud.machines.State(t.Context(), node, time.Time{}); err != nil {
					t.Fatal(err)
				}
			}
			exists(nodes[0])
			l.settle(web, nodes)
			<-time.After(50 * time.Second)
			l.emulator.ResetCounters()
			exists(nodes[0])
			machines := l.emulator.Counters()["GET /v1/machines"] > 0
			if err := l.library.UpdateLoadBalancer(t.Context(), "test", web, nodes); err != nil {
				t.Fatal(err)
			}
			balancers := l.emulator.Counters()["GET /v1/loadbalancers"] > 0
			if want := age < 50; machines != want || balancers != want {
				t.Errorf("after 50s with an age of %ds: asked for machines %v, for load balancers %v; calls %v", age,
					machines, balancers, l.emulator.Counters())
			}
		}
	})
}
