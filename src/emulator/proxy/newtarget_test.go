package proxy

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic"
)

// changing is a network in which targets answer or not, and that counts checks.
type changing struct {
	Sockets
	mu     sync.Mutex
	up     bool
	silent bool // it does not refuse connections either
	checks int
}

// Dial implements Sockets.
func (c *changing) Dial(ctx context.Context, _ string, _ netip.Addr, _ netip.AddrPort) (net.Conn, error) {
	c.mu.Lock()
	c.checks++
	up, silent := c.up, c.silent
	c.mu.Unlock()
	if !up && silent {
		<-ctx.Done()
	}
	if !up {
		return nil, errors.New("refused")
	}
	ours, _ := net.Pipe()
	return ours, nil
}

func (c *changing) set(up bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.up = up
}

// during lets some time pass, and returns how many checks there were since the call before, or since the beginning.
func (c *changing) during(d time.Duration) int {
	<-time.After(d)
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	defer func() { c.checks = 0 }()
	return c.checks
}

// checkEvery10s is a health check, in whose time a test lives.
var checkEvery10s = traffic.HealthCheck{Protocol: "tcp", Port: 80, Period: 10 * time.Second, Timeout: time.Second,
	UnhealthyThreshold: 3, HealthyThreshold: 2}

// TestNewTarget: a target that does not answer yet is checked in quick succession, until it is healthy or has failed
// for as long as makes a healthy one unhealthy.
func TestNewTarget(t *testing.T) {
	for _, tt := range []struct {
		name          string
		serves        time.Duration // after the target was attached; 0: never
		quick, steady int           // checks in the first 30 seconds, and in the 60 after them
		health        traffic.Health
	}{
		{"at once", time.Nanosecond, 1 + 3, 6, traffic.Healthy},
		{"after a moment", 2500 * time.Millisecond, 5 + 2, 6, traffic.Healthy},
		{"never", 0, 31, 6, traffic.Unhealthy},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testNewTarget(t, tt.serves, tt.quick, tt.steady, tt.health) })
		})
	}
}

func testNewTarget(t *testing.T, serves time.Duration, quick, steady int, health traffic.Health) {
	t.Helper()
	network := &changing{up: serves == time.Nanosecond}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	p := newPool(ctx, prober{sockets: network, second: time.Second}, &running)
	p.set(traffic.Group{Health: &checkEvery10s, Targets: targets(1)})
	if serves > 0 {
		timer := time.AfterFunc(serves, func() { network.set(true) })
		defer timer.Stop()
	}
	got := network.during(5 * time.Second)
	if now := p.status()[0].Health; now != health {
		t.Errorf("after 5 seconds it is %s, want %s", now, health)
	}
	if got += network.during(25*time.Second + time.Millisecond); got != quick {
		t.Errorf("%d checks in the first 30 seconds, want %d", got, quick)
	}
	if got := network.during(time.Minute); got != steady {
		t.Errorf("%d checks in the minute after them, want %d", got, steady)
	}
	stop()
	running.Wait()
}

// TestSilentTarget: checks begin as often when each of them lasts until its timeout.
func TestSilentTarget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := &changing{silent: true}
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		p := newPool(ctx, prober{sockets: network, second: time.Second}, &running)
		check := checkEvery10s
		check.Timeout = 5 * time.Second
		p.set(traffic.Group{Health: &check, Targets: targets(1)})
		if got := network.during(30 * time.Second); got != 6 { // one after the other
			t.Errorf("%d checks in the first 30 seconds, want 6", got)
		}
		if got := network.during(time.Minute); got != 6 {
			t.Errorf("%d checks in the minute after them, want 6", got)
		}
		stop()
		running.Wait()
	})
}

// TestKnownTargetFails: one that was healthy is unhealthy after as many failures as the check says, and not sooner.
func TestKnownTargetFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := &changing{up: true}
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		p := newPool(ctx, prober{sockets: network, second: time.Second}, &running)
		p.set(traffic.Group{Health: &checkEvery10s, Targets: targets(1)})
		network.during(time.Second)
		network.set(false)
		network.during(28 * time.Second)
		if now := p.status()[0].Health; now != traffic.Healthy {
			t.Errorf("after two failures it is %s", now)
		}
		network.during(2 * time.Second)
		if now := p.status()[0].Health; now != traffic.Unhealthy {
			t.Errorf("after three failures it is %s", now)
		}
		stop()
		running.Wait()
	})
}
