package nodelifecycle

import (
	"fmt"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// allowance bounds how many Nodes go within a time: when more would, none does. It is for one goroutine; the zero value allows none.
type allowance struct {
	share  int // of the Nodes, in percent
	window time.Duration
	began  time.Time               // of the process: what others removed before is not known
	spent  map[types.UID]time.Time // when Nodes were removed; with monotonic clock readings, so that no change of the clock renews it
}

// admits says whether all of the wanted Nodes may be removed: they and those that were removed within the window are no more than the share of all.
func (a *allowance) admits(all, wanted []types.UID, now time.Time) bool {
	maps.DeleteFunc(a.spent, func(_ types.UID, at time.Time) bool { return now.Sub(at) >= a.window })
	return a.with(wanted) <= a.limit(a.with(all), now)
}

// with is how many Nodes these are together with those that were removed: a removal without an answer may not have happened.
func (a *allowance) with(ids []types.UID) int {
	count := len(a.spent)
	for _, id := range ids {
		if _, removed := a.spent[id]; !removed {
			count++
		}
	}
	return count
}

// limit is how many of so many Nodes may go within the window. One may, if any: else no dead Node of a small cluster would ever go.
func (a *allowance) limit(nodes int, now time.Time) int {
	const percent = 100
	switch {
	case a.share == 0:
		return 0
	case a.young(now):
		return 1
	}
	return max(1, nodes*a.share/percent)
}

// young says that those before this process may have removed Nodes within the window.
func (a *allowance) young(now time.Time) bool { return now.Sub(a.began) < a.window }

// text says how many may go, for people.
func (a *allowance) text(now time.Time) string {
	switch {
	case a.share == 0:
		return "no Node is ever deleted, because maxRemovals is 0"
	case a.young(now):
		return fmt.Sprintf("at most one Node is deleted in the first %s after the program starts, because it does not know which Nodes were deleted before", a.window)
	}
	return fmt.Sprintf("no more than %d %% of the Nodes may be deleted within %s (maxRemovals, removalWindow)", a.share, a.window)
}

// spend counts a removal.
func (a *allowance) spend(id types.UID, now time.Time) {
	if a.spent == nil {
		a.spent = map[types.UID]time.Time{}
	}
	a.spent[id] = now
}

// refund takes back a removal: it did not happen.
func (a *allowance) refund(id types.UID) { delete(a.spent, id) }
