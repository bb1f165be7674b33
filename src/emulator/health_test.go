package emulator

import (
	"net/netip"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic"
)

// TestHealthOfFamilies: a family in which no target is healthy does not count, if another has healthy ones.
func TestHealthOfFamilies(t *testing.T) {
	const good, bad, none = traffic.Healthy, traffic.Unhealthy, traffic.Unchecked
	type pair struct{ v4, v6 traffic.Health }
	for _, tt := range []struct {
		name     string
		one, two pair
		want     [2]traffic.Health // of the first and the second machine
	}{
		{"both families", pair{good, good}, pair{good, bad}, [2]traffic.Health{good, bad}},
		{"IPv4 only", pair{good, bad}, pair{bad, bad}, [2]traffic.Health{good, bad}},
		{"IPv6 only", pair{bad, good}, pair{bad, bad}, [2]traffic.Health{good, bad}},
		{"nothing answers", pair{bad, bad}, pair{bad, bad}, [2]traffic.Health{bad, bad}},
		{"no check", pair{none, none}, pair{none, none}, [2]traffic.Health{none, none}},
	} {
		var targets []traffic.TargetStatus
		add := func(machine, address string, health traffic.Health) {
			targets = append(targets, traffic.TargetStatus{Machine: machine, Address: netip.MustParseAddrPort(address),
				Health: health})
		}
		for machine, health := range map[string]pair{"one": tt.one, "two": tt.two} {
			add(machine, "10.0.0.1:80", health.v4)
			add(machine, "[fd00::1]:80", health.v6)
		}
		got := byMachine(targets)
		if got := [2]traffic.Health{got["one"].all, got["two"].all}; got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
		if got := got["one"]; got.v4 != tt.one.v4 || got.v6 != tt.one.v6 {
			t.Errorf("%s: families %s and %s, want %v", tt.name, got.v4, got.v6, tt.one)
		}
	}
}
