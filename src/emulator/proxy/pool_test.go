package proxy

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic"
)

func targets(n int) []traffic.Target {
	var out []traffic.Target
	for i := range n {
		out = append(out, traffic.Target{
			Machine: fmt.Sprintf("vm-%d", i),
			Address: netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 64, 0, byte(i + 2)}), 80),
		})
	}
	return out
}

func machines(from []traffic.Target) []string {
	var out []string
	for _, target := range from {
		out = append(out, target.Machine)
	}
	return out
}

func newTestPool(t *testing.T) *pool {
	t.Helper()
	var running sync.WaitGroup
	t.Cleanup(running.Wait)
	return newPool(t.Context(), prober{sockets: Host{}}, &running)
}

func TestRoundRobinTakesTurns(t *testing.T) {
	p := newTestPool(t)
	p.set(traffic.Group{Targets: targets(3)})
	var first []string
	for range 6 {
		candidates := machines(p.candidates(netip.Addr{}))
		if len(candidates) != 3 {
			t.Fatalf("candidates %v, want all three", candidates)
		}
		first = append(first, candidates[0])
	}
	if want := []string{"vm-0", "vm-1", "vm-2", "vm-0", "vm-1", "vm-2"}; !slices.Equal(first, want) {
		t.Errorf("first choices %v, want %v", first, want)
	}
}

func TestEveryPolicyOffersEveryTargetOnce(t *testing.T) {
	for _, policy := range []traffic.Policy{"", traffic.RoundRobin, traffic.Random, traffic.Maglev} {
		p := newTestPool(t)
		p.set(traffic.Group{Policy: policy, Targets: targets(20)})
		got := machines(p.candidates(netip.MustParseAddr("127.0.0.1")))
		slices.Sort(got)
		want := machines(targets(20))
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("policy %q offers %v", policy, got)
		}
	}
}

func TestMaglevMovesFewSources(t *testing.T) {
	p := newTestPool(t)
	choice := func(n int) map[int]string {
		p.set(traffic.Group{Policy: traffic.Maglev, Targets: targets(n)})
		chosen := map[int]string{}
		for i := range 250 {
			chosen[i] = p.candidates(netip.AddrFrom4([4]byte{127, 1, 1, byte(i)}))[0].Machine
		}
		return chosen
	}
	before, after := choice(10), choice(9)
	for i := range before {
		if before[i] != "vm-9" && before[i] != after[i] {
			t.Errorf("source %d moved from %s to %s although its machine stayed", i, before[i], after[i])
		}
	}
}

func TestThresholds(t *testing.T) {
	tests := map[string]struct {
		healthy, unhealthy int
		results            string // + is a good check, - a bad one
		want               string // h is healthy, u unhealthy, after each
	}{
		"the first result decides":   {3, 3, "+", "h"},
		"the first bad one, too":     {3, 3, "-", "u"},
		"bad ones must be in a row":  {1, 2, "+-+--", "hhhhu"},
		"good ones must be in a row": {2, 1, "-+-++", "uuuuh"},
		"at once":                    {1, 1, "+-+-", "huhu"},
		"three":                      {3, 3, "+---+++", "hhhuuuh"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := newTestPool(t)
			m := &member{target: targets(1)[0], health: traffic.Unhealthy}
			check := traffic.HealthCheck{HealthyThreshold: test.healthy, UnhealthyThreshold: test.unhealthy}
			got := ""
			for _, result := range test.results {
				p.record(t.Context(), m, check, result == '+')
				got += string(m.health[0])
			}
			if got != test.want {
				t.Errorf("results %s give %s, want %s", test.results, got, test.want)
			}
		})
	}
}

func TestLateResultsDoNotCount(t *testing.T) {
	p := newTestPool(t)
	m := &member{health: traffic.Healthy}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p.record(ctx, m, traffic.HealthCheck{UnhealthyThreshold: 1}, false)
	if m.health != traffic.Healthy {
		t.Errorf("a result of a stopped check made the target %s", m.health)
	}
}

func TestUnhealthyTargetsAreLeftOut(t *testing.T) {
	p := newTestPool(t)
	p.set(traffic.Group{Targets: targets(3)})
	p.members[1].health = traffic.Unhealthy
	for range 4 {
		if got := machines(p.candidates(netip.Addr{})); len(got) != 2 || slices.Contains(got, "vm-1") {
			t.Errorf("candidates %v, want the other two", got)
		}
	}
	p.members[0].health, p.members[2].health = traffic.Unhealthy, traffic.Unhealthy
	if got := p.candidates(netip.Addr{}); len(got) != 0 {
		t.Errorf("candidates %v, want none", got)
	}
}

func TestMembersKeepTheirHealth(t *testing.T) {
	p := newTestPool(t)
	p.set(traffic.Group{Targets: targets(2)})
	p.members[0].health = traffic.Healthy
	p.set(traffic.Group{Targets: append(targets(3)[2:], targets(1)...)})
	status := p.status()
	if len(status) != 2 || status[0].Machine != "vm-2" || status[0].Health != traffic.Unchecked ||
		status[1].Health != traffic.Healthy {
		t.Errorf("status %+v, want a new vm-2 and vm-0 as it was", status)
	}
	if p.has(targets(2)[1]) || !p.has(targets(1)[0]) {
		t.Error("has does not follow the members")
	}
}
