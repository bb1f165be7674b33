package thalassa

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
)

// TestCheckAccess: every kind of objects is read once, and what only a write shows is not known.
func TestCheckAccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{})
		l.emulator.ResetCounters()
		found := l.cloud.checkAccess(t.Context())
		for i, one := range found {
			if last := i == len(found)-1; one.Err != nil || (one.Unknown != "") != last {
				t.Errorf("everything is permitted, and the result is %+v", one)
			}
		}
		if writes := l.emulator.Writes(); len(writes) > 0 {
			t.Errorf("the check wrote: %v", writes)
		}
		if _, err := l.emulator.Inject(fault.Rule{Operation: "GET /v1/loadbalancers", Count: 1,
			Effect: fault.Effect{Kind: fault.Forbidden}}); err != nil {
			t.Fatal(err)
		}
		for _, one := range l.cloud.checkAccess(t.Context()) {
			if (one.Err != nil) != strings.Contains(one.Action, "read load balancers") {
				t.Errorf("only load balancers cannot be read, and the result is %+v", one)
			}
		}
	})
}
