package thalassa

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
)

// afterOutage is the longest time from the end of an outage until a Service that was created in it has its load
// balancer.
const afterOutage = 10 * time.Second

// blackHole is a network that loses requests while it is on. They are never answered, also not after it.
type blackHole struct {
	next http.RoundTripper
	on   atomic.Bool
}

// RoundTrip implements http.RoundTripper.
func (b *blackHole) RoundTrip(request *http.Request) (*http.Response, error) {
	if b.on.Load() {
		<-request.Context().Done()
		return nil, context.Cause(request.Context())
	}
	return b.next.RoundTrip(request)
}

// TestServiceCreatedInABlackHole: connections that were begun before the end of the outage do not delay the end.
func TestServiceCreatedInABlackHole(t *testing.T) {
	for _, lasts := range []time.Duration{4 * time.Second, 16 * time.Second, time.Minute, time.Hour} {
		t.Run(lasts.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t, emulator.Config{})
				network := &blackHole{next: l.network}
				l.network = network
				l.restart()
				small := newPopulatedCluster(l, 3)
				defer small.run(manyWorkers)()
				small.order(1, 1)
				<-time.After(time.Minute)
				network.on.Store(true)
				small.order(1, 1)
				<-time.After(lasts)
				network.on.Store(false)
				<-time.After(afterOutage)
				if missing := small.addressless(); missing > 0 {
					t.Errorf("%d Services have no address %s after the end: %v", missing, afterOutage,
						small.reported.seen())
				}
			})
		})
	}
}

// TestServiceCreatedInAnOutage gets its load balancer soon after the end of the outage, however long it was and
// whatever the cloud did meanwhile. The outage costs few calls.
func TestServiceCreatedInAnOutage(t *testing.T) {
	for name, effect := range map[string]fault.Effect{
		"server errors": {Kind: fault.Refuse, Status: 503}, "resets": {Kind: fault.Reset},
		"an answer of a proxy": {Kind: fault.NotJSON, Status: 502},
	} {
		for _, lasts := range []time.Duration{4 * time.Second, 16 * time.Second, time.Minute, time.Hour} {
			t.Run(name+" for "+lasts.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					l := newLab(t, emulator.Config{})
					small := newPopulatedCluster(l, 3)
					defer small.run(manyWorkers)()
					small.order(1, 1)
					<-time.After(time.Minute)
					if _, err := l.emulator.Inject(fault.Rule{Operation: "*", Effect: effect}); err != nil {
						t.Fatal(err)
					}
					small.order(1, 1)
					small.forget()
					<-time.After(lasts)
					if calls, _ := small.counted(); calls > 40+int(lasts/time.Second) {
						t.Errorf("%d calls in an outage of %s", calls, lasts)
					}
					l.emulator.ClearFaults()
					<-time.After(afterOutage)
					if missing := small.addressless(); missing > 0 {
						t.Errorf("%d Services have no address %s after the end: %v", missing, afterOutage,
							small.reported.seen())
					}
				})
			})
		}
	}
}

// TestOutageIsNoDrift: when nothing is known, nothing is changed or reported.
func TestOutageIsNoDrift(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{})
		line := &cutLine{next: l.network}
		l.network = line
		l.restart()
		web := service("web", 80)
		l.settle(web, l.nodes("a"))
		l.watching(web)
		before := l.picture()
		line.cut.Store(true)
		<-time.After(2*driftPeriod + time.Minute)
		line.cut.Store(false)
		<-time.After(driftPeriod)
		if after := l.picture(); !slices.Equal(before, after) {
			t.Errorf("after an outage the cloud has %v, want %v", after, before)
		}
		if event := l.nextEvent(); event != "" {
			t.Errorf("event %q", event)
		}
	})
}

// cutLine is a network that can be cut.
type cutLine struct {
	next http.RoundTripper
	cut  atomic.Bool
}

func (c *cutLine) RoundTrip(request *http.Request) (*http.Response, error) {
	if c.cut.Load() {
		return nil, errors.New("the line is cut")
	}
	return c.next.RoundTrip(request)
}
