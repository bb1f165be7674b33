package route

import (
	"cmp"
	"errors"
	"sync"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// outcome is the result of a sync. It is safe for concurrent use.
type outcome struct {
	mu         sync.Mutex
	failed     bool
	stale      bool          // a write needs a newer list
	incomplete bool          // some Nodes changed, and are left to the next sync
	retry      time.Duration // when to retry; 0: never
	tables     map[tableVerb]*refusal
	written    []*operation // those that succeeded
	done       map[verb]int // the number of those
	missing    int          // Nodes that lack a route at the end
}

// tableVerb are the writes of one kind to one table: a table that refuses new routes may still delete old ones.
type tableVerb struct {
	table string
	verb  verb
}

// failureThreshold is the number of failures in a row, of any kind, after which a table is taken to refuse all writes
// of a kind. A table that does not exist any more refuses all of them without an error that says so.
const failureThreshold = 20

// refusal has the failures in a row of the writes of one kind to one table, with those of earlier syncs, and the error
// because of which no more of them are made in this sync.
type refusal struct {
	inARow int
	err    error
}

// refusal returns the error because of which a write is not tried in this sync.
func (o *outcome) refusal(one *operation) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.of(one).err
}

// countFailed counts the writes that failed in earlier syncs, and reports whether there are any.
func (o *outcome) countFailed(writes []*operation) (some bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, one := range writes {
		if one.failed.err != nil {
			o.of(one).inARow++
			some = true
		}
	}
	return some
}

// of requires mu to be held.
func (o *outcome) of(one *operation) *refusal {
	key := tableVerb{one.table.ID, one.verb}
	if o.tables[key] == nil {
		o.tables[key] = &refusal{}
	}
	return o.tables[key]
}

// retryAfter requests another sync after a delay.
func (o *outcome) retryAfter(delay time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if delay > 0 && (o.retry == 0 || delay < o.retry) {
		o.retry = delay
	}
}

// countMissing counts a Node that lacks a route.
func (o *outcome) countMissing() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.missing++
}

// leaveNode leaves a Node that changed since the sync began to the next one, which its change has queued.
func (o *outcome) leaveNode() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.incomplete = true
	o.missing++
}

// record records the result of a write.
func (o *outcome) record(one *operation, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	table := o.of(one)
	switch {
	case err == nil:
		table.inARow = 0
		o.written = append(o.written, one)
		o.done[one.verb]++
	case errors.Is(err, cloud.ErrStale):
		o.stale = true
	default:
		o.failed = true
		problem, ok := errors.AsType[*cloud.RouteProblem](err)
		if table.inARow++; table.inARow >= failureThreshold || ok && problem.OfTable {
			table.err = cmp.Or(table.err, err)
		}
	}
}
