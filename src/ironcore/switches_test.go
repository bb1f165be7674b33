package ironcore

import (
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/controller/conformance"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/simulator"
)

// switches are how servers of other versions may behave in place of the default, which is that of IronCore v0.5.0.
func switches() map[string]simulator.Options {
	return map[string]simulator.Options{
		"NoGC":        {NoGC: true},
		"NoWatchList": {NoWatchList: true},
		"all":         {NoGC: true, NoWatchList: true},
	}
}

// TestConformanceOfServers: all controllers work whichever way the server behaves, one difference at a time and all
// together.
func TestConformanceOfServers(t *testing.T) {
	for name, options := range switches() {
		if name != "all" && !tierSize().eachSwitch {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conformance.Run(t, func(t *testing.T) conformance.Cloud {
				t.Helper()
				return newUserViewOf(t, name == "all", options).cloud()
			})
		})
	}
}
