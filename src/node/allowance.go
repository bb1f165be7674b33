package node

import (
	"slices"
	"time"
)

// allowance bounds how many Nodes are removed within a time. It is for one goroutine; the zero value allows one Node in no time at all.
type allowance struct {
	share  int // of the Nodes, in percent
	window time.Duration
	spent  []time.Time // when Nodes were removed, oldest first; with monotonic clock readings, so that no change of the clock renews it
}

// left is how many more of so many Nodes, those that were removed already not among them, may be removed now.
func (a *allowance) left(nodes int, now time.Time) int {
	a.spent = slices.DeleteFunc(a.spent, func(at time.Time) bool { return now.Sub(at) >= a.window })
	return max(0, a.limit(nodes)-len(a.spent))
}

// limit is how many of so many Nodes may be removed within the window: the share of all that there were in it, and one in any case.
func (a *allowance) limit(nodes int) int {
	const percent = 100
	return max(1, (nodes+len(a.spent))*a.share/percent)
}

// spend counts a removal.
func (a *allowance) spend(now time.Time) { a.spent = append(a.spent, now) }

// refund takes back the latest removal: it did not happen.
func (a *allowance) refund() { a.spent = a.spent[:len(a.spent)-1] }
