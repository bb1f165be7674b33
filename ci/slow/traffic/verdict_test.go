package traffic

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/ci/load"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic"
)

const (
	a = "127.64.0.11:30080"
	b = "127.64.0.12:30080"
	// again is a on another node port.
	again = "127.64.0.11:30081"
)

var errReset = errors.New("connection reset")

// at is a time of these tests, in milliseconds.
func at(milliseconds int) time.Time {
	return time.Unix(0, 0).Add(time.Duration(milliseconds) * time.Millisecond)
}

// served are moments, the first at 100 ms, one every 100 ms, each of which took 10 ms to come about.
func served(balancers ...traffic.LoadBalancer) []moment {
	var moments []moment
	for i, lb := range balancers {
		moments = append(moments, moment{at(100*i + 100), at(100*i + 110), &lb})
	}
	return moments
}

func TestGaps(t *testing.T) {
	both, one := []uint16{80, 81}, []uint16{80}
	gone := append(served(serving(both, a)), moment{at(200), at(210), nil})
	for name, test := range map[string]struct {
		moments []moment
		want    []string
	}{
		"nothing":             {served(serving(both, a), serving(both, b), serving(both, a, b)), nil},
		"a port more or less": {served(serving(both, a), serving(append(both, 82), a)), nil},
		"no target for a moment": {served(serving(one, a), serving(one), serving(one, a)),
			[]string{"port 81", "port 81", "port 80 had no target", "port 81"}},
		"no target behind any port": {served(serving([]uint16{80, 81}, a), serving([]uint16{80, 81, 82})),
			[]string{"port 80 had no target", "port 81 had no target", "port 82 had no target"}},
		"no listener for a moment": {served(serving(both, a), serving(one, a), serving(both, a)),
			[]string{"port 81 had no listener"}},
		"no load balancer": {gone, []string{"the load balancer was gone"}},
		"another protocol's port": {served(udp(serving(both, a))), []string{"port 80 had no listener",
			"port 81 had no listener"}},
		"nothing was ever recorded": {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := gaps(test.moments, 80, 81)
			if !slices.EqualFunc(got, test.want, strings.Contains) {
				t.Errorf("gaps %q, want %q", got, test.want)
			}
		})
	}
}

func udp(lb traffic.LoadBalancer) traffic.LoadBalancer {
	for i := range lb.Listeners {
		lb.Listeners[i].Protocol = traffic.UDP
	}
	return lb
}

func names() map[netip.Addr]string {
	return map[netip.Addr]string{netip.MustParseAddr("127.64.0.11"): "a", netip.MustParseAddr("127.64.0.12"): "b"}
}

func TestRemovals(t *testing.T) {
	ports := []uint16{80}
	moments := served(serving(ports, a, b), serving(ports, a, b), serving(ports, b), serving(ports, b, a),
		serving(ports, b, again))
	moments = append(moments, moment{at(600), at(610), nil})
	want := []removal{
		{"a", period{at(300), at(310)}}, {"a", period{at(500), at(510)}},
		{"b", period{at(600), at(610)}}, {"a", period{at(600), at(610)}},
	}
	if got := removals(moments, 80, names()); !slices.Equal(got, want) {
		t.Errorf("removals %v, want %v", got, want)
	}
	if got := removals(moments, 81, names()); len(got) != 0 {
		t.Errorf("removals from a port without listener: %v", got)
	}
	if got := removals(nil, 80, names()); len(got) != 0 {
		t.Errorf("removals without moments: %v", got)
	}
}

func TestUnexpected(t *testing.T) {
	first, second, other := removal{target: "a"}, removal{target: "a", when: period{at(1), at(2)}},
		removal{target: "b"}
	for name, test := range map[string]struct {
		left     []removal
		expected []string
		want     []removal
	}{
		"as expected":         {[]removal{first}, []string{"a"}, nil},
		"fewer than expected": {[]removal{first}, []string{"b", "a"}, nil},
		"once too often":      {[]removal{first, second}, []string{"a", "b"}, []removal{second}},
		"another one":         {[]removal{other, first}, []string{"a"}, []removal{other}},
		"none expected":       {[]removal{first, other}, nil, []removal{first, other}},
	} {
		if got := unexpected(test.left, test.expected); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// TestUnexplained: only the end of its own target, while it was open, excuses a connection.
func TestUnexplained(t *testing.T) {
	left := []removal{{"a", period{at(300), at(310)}}}
	for name, test := range map[string]struct {
		failure load.Attempt
		excused bool
	}{
		"it was open":               {load.Attempt{Began: at(290), Ended: at(320), Target: "a"}, true},
		"it ended in the middle":    {load.Attempt{Began: at(299), Ended: at(305), Target: "a"}, true},
		"nobody had answered":       {load.Attempt{Began: at(299), Ended: at(311)}, true},
		"to another target":         {load.Attempt{Began: at(290), Ended: at(320), Target: "b"}, false},
		"it ended before":           {load.Attempt{Began: at(290), Ended: at(299), Target: "a"}, false},
		"it began afterwards":       {load.Attempt{Began: at(311), Ended: at(320), Target: "a"}, false},
		"unknown and long before":   {load.Attempt{Began: at(100), Ended: at(101)}, false},
		"unknown and just later":    {load.Attempt{Began: at(311), Ended: at(312)}, false},
		"to another one, no answer": {load.Attempt{Began: at(400), Ended: at(500), Target: "b"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			test.failure.Err = errReset
			if got := len(unexplained([]load.Attempt{test.failure}, left)) == 0; got != test.excused {
				t.Errorf("excused: %t, want %t", got, test.excused)
			}
		})
	}
	if got := unexplained([]load.Attempt{{Began: at(290), Ended: at(320), Target: "a", Err: errReset}},
		nil); len(got) != 1 {
		t.Error("excused although no target left")
	}
}

func TestLost(t *testing.T) {
	left := []removal{{"a", period{at(300), at(310)}}}
	for name, test := range map[string]struct {
		stream load.Stream
		lost   bool
	}{
		"it lives": {load.Stream{Target: "b", Began: at(100)}, false},
		"its target left": {load.Stream{Target: "a", Began: at(100), Ended: at(400), Err: errReset},
			false},
		"another target left":          {load.Stream{Target: "b", Began: at(100), Ended: at(400), Err: errReset}, true},
		"before its target left":       {load.Stream{Target: "a", Began: at(100), Ended: at(200), Err: errReset}, true},
		"long after its target's stay": {load.Stream{Target: "a", Began: at(350), Ended: at(400), Err: errReset}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := len(lost([]load.Stream{test.stream}, left)) == 1; got != test.lost {
				t.Errorf("lost: %t, want %t", got, test.lost)
			}
		})
	}
}

func TestPeriod(t *testing.T) {
	p := period{at(100), at(200)}
	for name, test := range map[string]struct {
		began, ended int
		want         bool
	}{
		"before": {10, 99, false}, "up to it": {10, 100, true}, "within": {120, 130, true}, "around": {10, 300, true},
		"from its end": {200, 300, true}, "after": {201, 300, false},
	} {
		if got := p.meets(at(test.began), at(test.ended)); got != test.want {
			t.Errorf("%s: %t, want %t", name, got, test.want)
		}
	}
}
