package trial

import (
	"slices"
	"strings"
	"testing"
)

// TestHonestScenarios meet everything but lists that lie, at each call and at random.
func TestHonestScenarios(t *testing.T) {
	calls := []call{{method: "GET", path: groups, size: 9, again: true}, {method: "POST", path: groups, size: 9}}
	lies := func(name string) bool { return strings.HasPrefix(name, "stale") || strings.HasPrefix(name, "partial") }
	count := func(s Scenario) (all, untrue int) {
		for _, d := range s.faults(calls) {
			all++
			if lies(d.name) {
				untrue++
			}
		}
		return all, untrue
	}
	all, untrue := count(Scenario{})
	kept, left := count(Scenario{Honest: true})
	if untrue == 0 || left > 0 || kept != all-untrue {
		t.Errorf("%d faults with %d lies become %d with %d, want the others and no lie", all, untrue, kept, left)
	}
	drawn := func(honestly bool) string {
		var names []string
		for _, d := range chaos(50, honestly) {
			for n := range chaosCalls {
				if m := d.at(n+1, calls[0]); m != nil {
					names = append(names, m.name)
				}
			}
		}
		return strings.Join(slices.Compact(names), " ")
	}
	if strings.Contains(drawn(true), "stale") || !strings.Contains(drawn(false), "stale") || !strings.Contains(drawn(true), "before") {
		t.Error("chaos of an honest cloud has lies, or that of another none, or nothing happens")
	}
}
