package traffic

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic"
)

// carrier is a data plane that takes a second for everything.
type carrier struct{ served, removed []string }

func (*carrier) Network() netip.Prefix { return netip.Prefix{} }
func (c *carrier) Serve(lb traffic.LoadBalancer) {
	<-time.After(time.Second)
	c.served = append(c.served, lb.Identity)
}
func (c *carrier) Remove(identity string) {
	<-time.After(time.Second)
	c.removed = append(c.removed, identity)
}
func (*carrier) Status(string) (traffic.Status, bool) { return traffic.Status{}, true }
func (*carrier) Close() error                         { return nil }

// serving is a load balancer with listeners on ports, each with targets of these addresses.
func serving(ports []uint16, addresses ...string) traffic.LoadBalancer {
	lb := traffic.LoadBalancer{Identity: "lb-1", Name: "web"}
	for _, port := range ports {
		l := traffic.Listener{Protocol: traffic.TCP, Port: port}
		for _, address := range addresses {
			l.Group.Targets = append(l.Group.Targets,
				traffic.Target{Machine: "vm", Address: netip.MustParseAddrPort(address)})
		}
		lb.Listeners = append(lb.Listeners, l)
	}
	return lb
}

func TestRecorderKeepsEveryMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inside := &carrier{}
		w, began := newRecorder(inside), time.Now()
		w.Serve(serving([]uint16{80}, "127.64.0.11:30080"))
		w.Serve(serving([]uint16{80}))
		w.Serve(serving([]uint16{80}, "127.64.0.12:30080"))
		w.Serve(traffic.LoadBalancer{Identity: "lb-2"})
		w.Remove("lb-1")
		if !slices.Equal(inside.served, []string{"lb-1", "lb-1", "lb-1", "lb-2"}) ||
			!slices.Equal(inside.removed, []string{"lb-1"}) {
			t.Errorf("the data plane inside served %v and removed %v", inside.served, inside.removed)
		}
		all := w.since("lb-1", began)
		if len(all) != 4 || all[0].began != began || all[0].ended != began.Add(time.Second) || all[3].serves != nil {
			t.Errorf("moments %+v, want three that serve from the first second on, and one without", all)
		}
		if got := w.since("lb-1", began.Add(1500*time.Millisecond)); len(got) != 4 || got[0].ended != all[0].ended {
			t.Errorf("%d moments since the first one was over, want that and all that followed", len(got))
		}
		if got := w.since("lb-1", time.Now()); len(got) != 1 || got[0].serves != nil {
			t.Errorf("moments now %+v, want the last one", got)
		}
		if got := w.since("lb-3", began); len(got) != 0 {
			t.Errorf("moments of another load balancer %+v, want none", got)
		}
	})
}

func TestRecorderAwaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, began := newRecorder(&carrier{}), time.Now()
		go func() {
			for _, ports := range [][]uint16{{80}, {80, 81}, {80}} {
				<-time.After(time.Minute)
				w.Serve(serving(ports, "127.64.0.11:30080"))
			}
			w.Remove("lb-1")
		}()
		wanted := errors.New("two ports are wanted")
		two := func(lb traffic.LoadBalancer) error {
			if len(lb.Listeners) != 2 {
				return wanted
			}
			return nil
		}
		m, err := w.await(t.Context(), "lb-1", two)
		if at := time.Since(began); err != nil || len(m.serves.Listeners) != 2 || at != 2*(time.Minute+time.Second) {
			t.Errorf("error %v after %s, want the moment when it began, after 2m2s", err, at)
		}
		for _, limit := range []time.Duration{time.Second, time.Hour} {
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			if limit == time.Second {
				two = func(traffic.LoadBalancer) error { return wanted }
			}
			if _, err := w.await(ctx, "lb-1", two); err == nil || limit == time.Second && !errors.Is(err, wanted) {
				t.Errorf("error %v within %s, want what is missing", err, limit)
			}
			cancel()
		}
	})
}
