package thalassa

import (
	"context"
	"errors"
	"fmt"
	"net/http"
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

// TestHangingCloud: the existing CCM's calls have no time limit, so one connection that hangs holds its only worker.
func TestHangingCloud(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{})
		good := l.network
		l.network = roundTrip(func(request *http.Request) (*http.Response, error) {
			<-request.Context().Done()
			return nil, context.Cause(request.Context())
		})
		l.restart()
		began := time.Now()
		if _, err := l.ensure(service("web", 80), nil); err == nil {
			t.Error("a sync without an answer is a success")
		}
		if took := time.Since(began); took > time.Minute {
			t.Errorf("the worker was held for %s", took)
		}
		<-time.After(10 * time.Minute) // whatever is still under way ends
		l.network = good
		l.restart()
		l.settle(service("web", 80), l.nodes("a"))
	})
}

// throttled is the answer of a cloud that wants to be left alone for so many seconds.
func throttled(seconds string) *http.Response {
	return &http.Response{StatusCode: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {seconds}},
		Body: http.NoBody}
}

// TestShortPauses: a cloud that throttles every second call costs time, and neither an error nor a second object.
func TestShortPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{})
		good, calls := l.network, 0
		l.network = roundTrip(func(request *http.Request) (*http.Response, error) {
			if calls++; calls%2 == 0 {
				return throttled("2"), nil
			}
			return good.RoundTrip(request)
		})
		l.restart()
		if _, err := l.ensure(service("web", 80, 443), l.nodes("a")); err != nil {
			t.Errorf("a sync that was throttled for seconds failed: %v", err)
		}
		if left := l.leftovers(); len(left) != 3 {
			t.Errorf("in the cloud: %v, want one load balancer and two target groups", left)
		}
	})
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
