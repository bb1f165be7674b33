package route

import (
	"errors"
	"sync"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// outcome is the result of a sync. It is safe for concurrent use.
type outcome struct {
	mu         sync.Mutex
	failed     bool
	stale      bool            // a write needs a newer list
	incomplete bool            // some Nodes changed, and are left to the next sync
	retry      time.Duration   // when to retry; 0: never
	full       map[string]bool // tables that accept no more routes
	written    []*operation    // those that succeeded
	done       map[verb]int    // the number of those
	missing    int             // Nodes that lack a route at the end
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
	problem, ok := errors.AsType[*cloud.RouteProblem](err)
	switch {
	case err == nil:
		o.written = append(o.written, one)
		o.done[one.verb]++
	case errors.Is(err, cloud.ErrStale):
		o.stale = true
	default:
		o.failed = true
		o.full[one.table.ID] = o.full[one.table.ID] || ok && problem.TableFull
	}
}

func (o *outcome) isFull(table string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.full[table]
}
