// Package priorityqueue is a work queue of keys that returns the most urgent ones first. No two workers get the same
// key at the same time, and keys whose work failed come again after pauses that grow.
//
//	queue := priorityqueue.New("example", time.Second, time.Minute)
//	queue.Enqueue("default/web", priorityqueue.Urgent, 0)
//	workerpool.Work(ctx, queue, workers, reconcile)
package priorityqueue

import (
	"maps"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"k8s.io/client-go/util/workqueue"
)

// Priority orders the keys that wait for a worker.
type Priority int

// The priorities, most urgent first.
const (
	Urgent  Priority = iota // a user is affected until the work is done
	Normal                  // something changed
	Relaxed                 // a resync
	levels
)

// Queue is a rate-limited work queue with priorities. Keys that are added without a Priority are normal.
type Queue struct {
	workqueue.TypedRateLimitingInterface[string]
	limiter workqueue.TypedRateLimiter[string]
	order   *order
}

// New returns a queue. Its name is that in metrics. The pause after a failure is minDelay, and doubles with each
// further failure up to maxDelay.
func New(name string, minDelay, maxDelay time.Duration) *Queue {
	o := &order{wanted: map[string]Priority{}, level: map[string]queued{}, taken: map[string]queued{},
		failed: map[string]bool{}, pauses: map[string]time.Time{}}
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[string](minDelay, maxDelay)
	base := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[string]{Name: name, Queue: o})
	delaying := workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[string]{Name: name,
		Queue: base})
	config := workqueue.TypedRateLimitingQueueConfig[string]{Name: name, DelayingQueue: delaying}
	return &Queue{
		TypedRateLimitingInterface: workqueue.NewTypedRateLimitingQueueWithConfig(limiter, config), limiter: limiter,
		order: o,
	}
}

// Done implements workqueue.TypedInterface.
func (q *Queue) Done(key string) {
	q.order.done(key)
	q.TypedRateLimitingInterface.Done(key)
}

// Enqueue adds a key after a pause, which may be 0. If the key is queued already, only the more urgent Priority counts.
func (q *Queue) Enqueue(key string, p Priority, pause time.Duration) {
	q.order.want(key, p)
	q.AddAfter(key, pause)
}

// Retry adds a key whose work failed, with the Priority that it had, after a pause that grows with each failure and is
// at least minimum. During a pause the key may be added because something changed. If its work fails again then, the
// next pause does not grow: many changes in a short outage would cause a pause of minutes after it.
func (q *Queue) Retry(key string, minimum time.Duration) {
	q.Again(key, max(minimum, q.order.fail(key, func() time.Duration { return max(minimum, q.limiter.When(key)) })))
}

// Forget implements workqueue.TypedRateLimitingInterface.
func (q *Queue) Forget(key string) {
	q.order.forget(key)
	q.TypedRateLimitingInterface.Forget(key)
}

// RetryNow adds all keys whose work failed at once. The pauses that had begun go on: each of these keys is added once
// more at the end of its pause, even if its work has succeeded meanwhile.
func (q *Queue) RetryNow() {
	for _, key := range q.order.takeFailed() {
		q.Add(key)
	}
}

// Again adds the key that a worker has with the Priority that it had, after a pause.
func (q *Queue) Again(key string, pause time.Duration) { q.Enqueue(key, q.order.was(key), pause) }

// Attributes describe the key that a worker has, for traces: its attempt, Priority, and time in the queue.
func (q *Queue) Attributes(key string) []attribute.KeyValue {
	is, since := q.order.waited(key)
	return []attribute.KeyValue{
		attribute.Int("attempt", q.NumRequeues(key)+1),
		attribute.String("priority", is.String()),
		attribute.Float64("queued_seconds", since.Seconds()),
	}
}

// String returns a word.
func (p Priority) String() string { return [levels]string{"urgent", "normal", "relaxed"}[p] }

// queued is a key in the queue, or the one that a worker has.
type queued struct {
	Priority
	since  time.Time     // when it was added
	waited time.Duration // until a worker got it
}

// order is what workqueue keeps its items in. It locks itself, because Enqueue sets priorities outside of the lock of
// workqueue.
type order struct {
	mu     sync.Mutex
	wanted map[string]Priority  // how urgent an item is that is queued, or will be
	level  map[string]queued    // of each queued item
	taken  map[string]queued    // of each item that a worker has
	failed map[string]bool      // items that wait for another attempt
	pauses map[string]time.Time // the ends of the pauses of items that failed and were not forgotten
	levels [levels][]string     // an item that became more urgent also remains in its former level
	pops   int
}

// Less urgent items do not starve: every few times, one of them comes first.
const (
	turnOfNormal  = 8
	turnOfRelaxed = 32
)

// was is the priority with which a worker got the item; Normal if no worker has it.
func (o *order) was(item string) Priority {
	o.mu.Lock()
	defer o.mu.Unlock()
	if has, taken := o.taken[item]; taken {
		return has.Priority
	}
	return Normal
}

// waited returns the priority of the item that a worker has, and how long it was queued.
func (o *order) waited(item string) (Priority, time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.taken[item].Priority, o.taken[item].waited
}

// first returns the level to begin with.
func (o *order) first() int {
	switch o.pops++; {
	case o.pops%turnOfRelaxed == 0:
		return int(Relaxed)
	case o.pops%turnOfNormal == 0:
		return int(Normal)
	}
	return int(Urgent)
}

// fail records that an item waits for another attempt. It returns the rest of its pause, or begins the next one.
func (o *order) fail(item string, next func() time.Duration) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failed[item] = true
	pause := time.Until(o.pauses[item])
	if pause <= 0 {
		pause = next()
		o.pauses[item] = time.Now().Add(pause)
	}
	return pause
}

// forget ends the pause of an item, whose next failure is the first one again.
func (o *order) forget(item string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.pauses, item)
}

// takeFailed returns the items that wait for another attempt, sorted, and forgets them.
func (o *order) takeFailed() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	items := slices.Sorted(maps.Keys(o.failed))
	clear(o.failed)
	return items
}

// done deletes the priority of an item that no worker has any more.
func (o *order) done(item string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.taken, item)
}

// want makes an item at least as urgent as p, the next time it is queued or touched.
func (o *order) want(item string, p Priority) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if now, known := o.wanted[item]; !known || p < now {
		o.wanted[item] = p
	}
}

// Push implements workqueue.Queue.
func (o *order) Push(item string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.put(item)
}

// Touch implements workqueue.Queue: an item that is queued already is added again.
func (o *order) Touch(item string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if wanted, known := o.wanted[item]; known && wanted < o.level[item].Priority {
		o.put(item)
	}
}

// put requires that mu is held.
func (o *order) put(item string) {
	p, known := o.wanted[item]
	if !known {
		p = Normal
	}
	entry, known := o.level[item]
	if entry.Priority = p; !known {
		entry.since = time.Now()
	}
	o.level[item] = entry
	o.levels[p] = append(o.levels[p], item)
}

// Len implements workqueue.Queue.
func (o *order) Len() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.level)
}

// Pop implements workqueue.Queue: it is only called when there is an item.
func (o *order) Pop() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	first := o.first()
	for i := range o.levels {
		p := (first + i) % len(o.levels)
		for len(o.levels[p]) > 0 {
			item := o.levels[p][0]
			o.levels[p] = o.levels[p][1:]
			if at, waits := o.level[item]; waits && at.Priority == Priority(p) {
				delete(o.level, item)
				delete(o.wanted, item)
				delete(o.failed, item)
				at.waited = time.Since(at.since)
				o.taken[item] = at
				return item
			}
		}
	}
	return ""
}
