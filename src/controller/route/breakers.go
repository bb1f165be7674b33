package route

import (
	"cmp"
	"errors"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// breakers are circuit breakers for the writes to route tables. A token without the permission to write is refused for
// each route, and a cloud that does not answer fails each write, so a table that refuses everything is not called for
// every Node. One write at a time checks whether the table accepts writes again, at growing intervals.
type breakers struct {
	mu      sync.Mutex
	byKey   map[breakerKey]*breaker
	limiter workqueue.TypedRateLimiter[breakerKey]
}

// breakerKey identifies the additions or the removals of a table. They have separate breakers, because a cloud that
// refuses new routes may still delete old ones, and the other way round.
type breakerKey struct {
	table    string
	removals bool
}

func breakerKeyOf(o operation) breakerKey { return breakerKey{o.table.ID, o.verb == remove} }

func (key breakerKey) opposite() breakerKey { return breakerKey{key.table, !key.removals} }

// breaker is the circuit breaker of one key.
type breaker struct {
	err      error // nil: writes are made
	until    time.Time
	failures int           // consecutive failures; without errors that are ReadOnly, which trip at once
	probe    chan struct{} // holds an element while one write checks the table
}

// failureThreshold is the number of consecutive failures, of any kind, after which all writes are taken to fail. A
// table that does not exist any more refuses all writes without an error that says so.
const failureThreshold = 20

func newBreakers() *breakers {
	return &breakers{byKey: map[breakerKey]*breaker{},
		limiter: workqueue.NewTypedItemExponentialFailureRateLimiter[breakerKey](minRetryDelay, maxRetryDelay)}
}

// refusal is the error because of which writes are refused now; nil if a write may be tried.
func (b *breakers) refusal(key breakerKey) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	one := b.get(key)
	if time.Until(one.until) <= 0 {
		return nil
	}
	return one.err
}

// delay is the time until the next write is tried.
func (b *breakers) delay(key breakerKey) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return max(0, time.Until(b.get(key).until))
}

// do makes a write, unless the breaker refuses it. In that case the error is that of an earlier write, and attempted is
// false.
func (b *breakers) do(key breakerKey, write func() error) (attempted bool, err error) {
	probe, tripped := b.probe(key)
	if tripped {
		probe <- struct{}{}
		defer func() { <-probe }()
	}
	if refusal := b.refusal(key); refusal != nil {
		return false, refusal
	}
	err = write()
	b.record(key, err)
	return true, err
}

// probe says whether the latest write failed, so that the next one has to be the only one.
func (b *breakers) probe(key breakerKey) (probe chan struct{}, tripped bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	one := b.get(key)
	return one.probe, one.err != nil
}

// record trips or resets the breakers after a write. An error because the table is full trips nothing: such a table
// accepts other writes, and a sync tries only one more route.
func (b *breakers) record(key breakerKey, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	one, opposite := b.get(key), b.get(key.opposite())
	problem, ok := errors.AsType[*cloud.RouteProblem](err)
	switch {
	case errors.Is(err, cloud.ErrStale): // another write may succeed
	case err == nil:
		one.failures = 0
		b.reset(key)
		if opposite.failures < failureThreshold { // otherwise it tripped because of its own failures
			b.reset(key.opposite())
		}
	case ok && problem.ReadOnly:
		b.trip(key, err)
		b.trip(key.opposite(), err)
	case !ok || !problem.TableFull:
		if one.failures++; one.failures >= failureThreshold {
			b.trip(key, err)
		}
	}
}

// trip requires mu to be held. It keeps the first error, because events with another message would be sent again.
func (b *breakers) trip(key breakerKey, err error) {
	one := b.get(key)
	if one.err != nil && time.Now().Before(one.until) {
		return
	}
	if one.err == nil {
		one.err = err
	}
	one.until = time.Now().Add(b.limiter.When(key))
}

// reset requires mu to be held.
func (b *breakers) reset(key breakerKey) {
	one := b.get(key)
	one.err, one.until = nil, time.Time{}
	b.limiter.Forget(key)
}

// get requires mu to be held.
func (b *breakers) get(key breakerKey) *breaker {
	if b.byKey[key] == nil {
		b.byKey[key] = &breaker{probe: make(chan struct{}, 1)}
	}
	return b.byKey[key]
}

// delayOf is how long a write has to wait after a failure of its own or of its table, and the problem; 0 if it may be
// tried.
func (c *Controller) delayOf(o operation) (p problem, delay time.Duration) {
	if retry := c.state.retryDelay(o.key()); retry > 0 {
		return c.state.lastProblem(o.key()), retry
	}
	if err := c.breakers.refusal(breakerKeyOf(o)); err != nil {
		return problemOf(o, err), c.breakers.delay(breakerKeyOf(o))
	}
	return problem{}, 0
}

// failingLast sorts Nodes by the order in which their routes are written. Nodes with a failed write are last: a write
// for another Node shows sooner whether the table refuses everything. The others are sorted by age, the oldest first.
// While a table refuses writes, the newest is first: a route that was never tried shows most, and a new Node does not
// wait for many failing ones.
func (c *Controller) failingLast(nodes []*corev1.Node, d desired, p plan, refusing bool) []*corev1.Node {
	destinations, failing := c.state.failingDestinations(), map[string]bool{}
	for _, r := range d.routes {
		if destinations[r.destination] {
			failing[r.node.Name] = true
		}
	}
	rank := func(node *corev1.Node) int {
		switch {
		case failing[node.Name]:
			return 2
		case len(p.additions[node.Name]) == 0:
			return 1
		}
		return 0
	}
	return slices.SortedStableFunc(slices.Values(nodes), func(a, b *corev1.Node) int {
		age := a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
		if refusing {
			age = -age
		}
		return cmp.Or(cmp.Compare(rank(a), rank(b)), age)
	})
}

// refusesWrites says whether a table of the planned additions refused the latest write.
func (c *Controller) refusesWrites(p plan) bool {
	for _, operations := range p.additions {
		for _, o := range operations {
			if _, tripped := c.breakers.probe(breakerKeyOf(o)); tripped {
				return true
			}
		}
	}
	return false
}
