package thalassa

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// TestEndOfDeletionIsConfirmed: a look that does not know of the last write, as one after an error, does not conclude
// from older lists that nothing is left.
func TestEndOfDeletionIsConfirmed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{})
		web := service("web", 80)
		l.settle(web, l.nodes("a"))
		var confirmed bool
		for range 10 {
			found, err := l.cloud.balancers.PlanDelete(t.Context(), web, false)
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case !found.Exists && !confirmed:
				t.Fatal("nothing is left at once after the last write")
			case !found.Exists:
				return
			case found.Wait != nil && found.Wait.Within == deletionWindow:
				confirmed = true
				<-time.After(deletionWindow)
			case len(found.Plan) == 0:
				<-time.After(time.Minute)
			}
			if _, err := l.cloud.balancers.Apply(t.Context(), web, found.Plan); err != nil {
				t.Fatal(err)
			}
		}
		t.Error("the deletion does not end")
	})
}
