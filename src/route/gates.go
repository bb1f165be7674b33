package route

import (
	"errors"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
)

// gates keep writes from tables that refuse all of them: a token without the right to write refuses each, a cloud that is away answers none,
// and asking once for each Node helps nobody. One write at a time finds out whether it is over, ever more rarely.
type gates struct {
	mu      sync.Mutex
	tables  map[string]*gate
	limiter workqueue.TypedRateLimiter[string]
}

// gate is that of one table.
type gate struct {
	why   error // nil: open
	until time.Time
	probe chan struct{} // holds a token while a write finds out
}

func newGates() *gates {
	return &gates{tables: map[string]*gate{}, limiter: workqueue.NewTypedItemExponentialFailureRateLimiter[string](minRetryDelay, maxRetryDelay)}
}

// shut is why a table refuses writes; nil when one may be tried.
func (g *gates) shut(table string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	one := g.of(table)
	if time.Until(one.until) <= 0 {
		return nil
	}
	return one.why
}

// rest is for how long no write to a table is tried.
func (g *gates) rest(table string) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return max(0, time.Until(g.of(table).until))
}

// pass makes a write, unless the table refuses all of them. Then the error is why, and tried is false.
func (g *gates) pass(table string, write func() error) (tried bool, err error) {
	probe, refused := g.approach(table)
	if refused {
		probe <- struct{}{}
		defer func() { <-probe }()
	}
	if why := g.shut(table); why != nil {
		return false, why
	}
	err = write()
	g.note(table, err)
	return true, err
}

// approach says whether the table refused the latest write, so that the next one has to be alone.
func (g *gates) approach(table string) (probe chan struct{}, refused bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	one := g.of(table)
	return one.probe, one.why != nil
}

// note shuts the gate or opens it. The reason is that of the first refusal, so that nobody is told the same in other words again and again.
func (g *gates) note(table string, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	one := g.of(table)
	problem, told := errors.AsType[*Problem](err)
	switch {
	case told && problem.Closed && (one.why == nil || !time.Now().Before(one.until)):
		if one.why == nil {
			one.why = err
		}
		one.until = time.Now().Add(g.limiter.When(table))
	case err == nil:
		one.why, one.until = nil, time.Time{}
		g.limiter.Forget(table)
	}
}

// of wants mu held.
func (g *gates) of(table string) *gate {
	if g.tables[table] == nil {
		g.tables[table] = &gate{probe: make(chan struct{}, 1)}
	}
	return g.tables[table]
}

// resting is how long a write has to wait that has failed, or whose table refuses all, and why; 0 when it may be tried.
func (c *Controller) resting(o operation) (why notice, rest time.Duration) {
	if pause := c.memory.wait(o.key()); pause > 0 {
		return c.memory.reason(o.key()), pause
	}
	if err := c.gates.shut(o.table.ID); err != nil {
		return noticeOf(o, err), c.gates.rest(o.table.ID)
	}
	return notice{}, 0
}

// luckyFirst puts Nodes last for which a write has failed: whether a table that refused it refuses all is found out sooner by another one.
func (c *Controller) luckyFirst(nodes []*corev1.Node, d demand) []*corev1.Node {
	failing, unlucky := c.memory.refused(), map[string]bool{}
	for _, w := range d.wants {
		if failing[w.destination] {
			unlucky[w.node.Name] = true
		}
	}
	lucky := slices.DeleteFunc(slices.Clone(nodes), func(node *corev1.Node) bool { return unlucky[node.Name] })
	return append(lucky, slices.DeleteFunc(slices.Clone(nodes), func(node *corev1.Node) bool { return !unlucky[node.Name] })...)
}
