package nodelifecycle

import (
	"fmt"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// budget limits how many Nodes are deleted within a window: if more would be, none is. It is for one goroutine; the
// zero value allows none.
type budget struct {
	share  int // of the Nodes, in percent
	window time.Duration
	began  time.Time // of the process: what others removed before is not known
	// when Nodes were removed; with monotonic clock readings, so that no change of the clock renews it
	removals map[types.UID]time.Time
}

// admits says whether all of the wanted Nodes may be removed: they and those that were removed within the window are no
// more than the share of all.
func (a *budget) admits(all, wanted []types.UID, now time.Time) bool {
	maps.DeleteFunc(a.removals, func(_ types.UID, at time.Time) bool { return now.Sub(at) >= a.window })
	return a.with(wanted) <= a.limit(a.with(all), now)
}

// with is how many Nodes these are together with those that were removed: a removal without an answer may not have
// happened.
func (a *budget) with(ids []types.UID) int {
	count := len(a.removals)
	for _, id := range ids {
		if _, removed := a.removals[id]; !removed {
			count++
		}
	}
	return count
}

// limit is how many of so many Nodes may go within the window. One may, if any: else no dead Node of a small cluster
// would ever go.
func (a *budget) limit(nodes int, now time.Time) int {
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
func (a *budget) young(now time.Time) bool { return now.Sub(a.began) < a.window }

// text says how many may go, for people.
func (a *budget) text(now time.Time) string {
	switch {
	case a.share == 0:
		return "no Node is ever deleted, because maxRemovals is 0"
	case a.young(now):
		return fmt.Sprintf("at most one Node is deleted in the first %s after the program starts, because it does "+
			"not know which Nodes were deleted before", a.window)
	}
	return fmt.Sprintf("no more than %d %% of the Nodes may be deleted within %s (maxRemovals, removalWindow)", a.share,
		a.window)
}

// record counts a removal.
func (a *budget) record(id types.UID, now time.Time) {
	if a.removals == nil {
		a.removals = map[types.UID]time.Time{}
	}
	a.removals[id] = now
}

// cancel subtracts a removal that did not happen.
func (a *budget) cancel(id types.UID) { delete(a.removals, id) }
