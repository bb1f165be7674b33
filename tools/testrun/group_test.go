package testrun

import (
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
)

// TestElsewhere: patterns leave out what only the other tier tests, or a run of its own.
func TestElsewhere(t *testing.T) {
	for folder, tiers := range map[string][2]bool{ // left out of the quick one, of the full one
		"src/configfile": {false, false}, "ci/slow/csi": {true, false}, "ci/slow/soak": {true, true},
		"ci/slow/release": {true, true}, "tools/image": {false, true}, "tools/imagery": {false, false},
	} {
		for i, full := range []string{"", "1"} {
			t.Setenv(tier.Variable, full)
			if got := isElsewhere("github.com/thalassa-cloud/thalassa-ccm/" + folder); got != tiers[i] {
				t.Errorf("%s with FULL=%q: %t, want %t", folder, full, got, tiers[i])
			}
		}
	}
}
