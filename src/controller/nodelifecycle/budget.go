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
	share   int // of the Nodes, in percent
	window  time.Duration
	started time.Time // of the process: earlier removals are not known
	// when Nodes were deleted; with monotonic clock readings, so that a change of the clock does not renew the budget
	removals map[types.UID]time.Time
}

// permits reports whether all candidates may be deleted: together with the Nodes that were deleted within the window
// they are at most the share of all.
func (b *budget) permits(all, candidates []types.UID, now time.Time) bool {
	maps.DeleteFunc(b.removals, func(_ types.UID, at time.Time) bool { return now.Sub(at) >= b.window })
	return b.countWith(candidates) <= b.limit(b.countWith(all), now)
}

// countWith is the number of these Nodes together with those that were deleted. A deletion without an answer may not
// have happened, so its Node may be in both.
func (b *budget) countWith(ids []types.UID) int {
	count := len(b.removals)
	for _, id := range ids {
		if _, removed := b.removals[id]; !removed {
			count++
		}
	}
	return count
}

// limit is how many of so many Nodes may be deleted within the window. It is at least one, unless the share is 0:
// otherwise Nodes of a small cluster would never be deleted.
func (b *budget) limit(nodes int, now time.Time) int {
	const percent = 100
	switch {
	case b.share == 0:
		return 0
	case b.startedRecently(now):
		return 1
	}
	return max(1, nodes*b.share/percent)
}

// startedRecently says that an earlier process may have deleted Nodes within the window.
func (b *budget) startedRecently(now time.Time) bool { return now.Sub(b.started) < b.window }

// text describes the limit for people.
func (b *budget) text(now time.Time) string {
	switch {
	case b.share == 0:
		return limitNone
	case b.startedRecently(now):
		return fmt.Sprintf(limitStarted, b.window)
	}
	return fmt.Sprintf(limitShare, b.share, b.window)
}

// record counts a removal.
func (b *budget) record(id types.UID, now time.Time) {
	if b.removals == nil {
		b.removals = map[types.UID]time.Time{}
	}
	b.removals[id] = now
}

// cancel subtracts a removal that did not happen.
func (b *budget) cancel(id types.UID) { delete(b.removals, id) }
