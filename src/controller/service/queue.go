package service

import (
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/thalassa-cloud/thalassa-ccm/src/controller/workerpool"
)

// priority orders the Services that wait for a worker.
type priority int

// The priorities, most urgent first.
const (
	urgent  priority = iota // a target is to go: traffic is lost until it does
	normal                  // somebody changed something
	relaxed                 // looking whether everything is as it should be
	levels
)

// Pauses after failures, as in k8s.io/cloud-provider: 5, 10, 20, … 300 seconds.
const (
	minRetryDelay = 5 * time.Second
	maxRetryDelay = 300 * time.Second
)

// queue hands out the keys of Services, the most urgent ones first. No two workers get the same key at a time.
type queue struct {
	workqueue.TypedRateLimitingInterface[string]
	limiter workqueue.TypedRateLimiter[string]
	order   *order
}

func newQueue() *queue {
	o := &order{wanted: map[string]priority{}, level: map[string]priority{}, taken: map[string]priority{}}
	// The names are those of the library's service controller, and so those of its metrics.
	const name = "service"
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[string](minRetryDelay, maxRetryDelay)
	return &queue{order: o, limiter: limiter, TypedRateLimitingInterface: workerpool.Queue(name, o, limiter)}
}

// Done implements workqueue.TypedInterface.
func (q *queue) Done(key string) {
	q.order.done(key)
	q.TypedRateLimitingInterface.Done(key)
}

// add queues a Service after a pause, which may be 0. One that is queued already becomes more urgent if it is now.
func (q *queue) add(key string, p priority, pause time.Duration) {
	q.order.want(key, p)
	q.AddAfter(key, pause)
}

// again queues a Service whose work failed, as urgent as it was, after a pause that grows with each failure, and not before the cloud
// wants to be asked again.
func (q *queue) again(key string, notBefore time.Duration) {
	q.add(key, q.order.was(key), max(notBefore, q.limiter.When(key)))
}

// order is what workqueue keeps its items in. It locks by itself, because urgency is told from outside.
type order struct {
	mu     sync.Mutex
	wanted map[string]priority // how urgent an item is that is queued, or will be
	level  map[string]priority // of each queued item
	taken  map[string]priority // of each item that somebody works on
	levels [levels][]string    // an item may also be left in a level that it has moved away from
	pops   int
}

// Nothing starves, however long there is something more urgent: every few times it is the turn of those that are less so.
const (
	turnOfNormal  = 8
	turnOfRelaxed = 32
)

// was is how urgent an item was when it was taken out.
func (o *order) was(item string) priority {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.taken[item]
}

// first is the level to begin with.
func (o *order) first() int {
	switch o.pops++; {
	case o.pops%turnOfRelaxed == 0:
		return int(relaxed)
	case o.pops%turnOfNormal == 0:
		return int(normal)
	}
	return int(urgent)
}

// done forgets how urgent an item was that nobody works on any more.
func (o *order) done(item string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.taken, item)
}

// want makes an item at least as urgent as p, the next time it is queued or touched.
func (o *order) want(item string, p priority) {
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
	if wanted, known := o.wanted[item]; known && wanted < o.level[item] {
		o.put(item)
	}
}

// put wants mu held.
func (o *order) put(item string) {
	p, known := o.wanted[item]
	if !known {
		p = normal
	}
	o.level[item] = p
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
			if at, queued := o.level[item]; queued && at == priority(p) {
				delete(o.level, item)
				delete(o.wanted, item)
				o.taken[item] = priority(p)
				return item
			}
		}
	}
	return ""
}
