package thalassa

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// TestBudgetOfConditionalRequests: if nothing changes, no list is sent again. What changes is seen as soon as without
// them.
func TestBudgetOfConditionalRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{Switches: emulator.Switches{ConditionalRequests: true}})
		wire := &scale{next: l.network}
		wire.conditional.Store(true)
		l.network = wire
		l.restart()
		small := newPopulatedCluster(l, 3)
		defer small.run(manyWorkers)()
		small.order(10, 2)
		<-time.After(2 * driftPeriod) // the last lists that differ have been read

		small.forget()
		wire.data.Store(0)
		<-time.After(quietMinutes * time.Minute)
		// A look for drift begins a drift period after the end of the one before, so the last one may be too late.
		fewest := quietMinutes/5 - 1
		if lists := l.emulator.Counters()["GET /v1/loadbalancer-target-groups"]; lists < fewest {
			t.Errorf("%d lists of target groups, want %d", lists, fewest)
		}
		small.within("conditional-data", float64(wire.data.Load()))

		<-time.After(time.Minute) // a look for drift would create again what is being removed
		l.removeByHand()
		<-time.After(driftPeriod + time.Minute)
		if left := len(l.emulator.State().LoadBalancers); left != 10 {
			t.Errorf("%d load balancers a drift period after they were deleted, want 10", left)
		}
	})
}
