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

// gates keep writes from tables that refuse all of them: a token without the right to write refuses each, a cloud that
// is away answers none, and asking once for each Node helps nobody. One write at a time finds out whether it is over,
// ever more rarely.
type gates struct {
	mu      sync.Mutex
	doors   map[door]*gate
	limiter workqueue.TypedRateLimiter[door]
}

// door is the writes of one kind to a table: a cloud that takes no new route may well let go of an old one, and the
// other way round.
type door struct {
	table    string
	removals bool
}

func doorOf(o operation) door { return door{o.table.ID, o.verb == remove} }

func (d door) other() door { return door{d.table, !d.removals} }

// gate is that of one door.
type gate struct {
	why      error // nil: open
	until    time.Time
	failures int           // in a row, not counted those that say themselves that all are refused
	probe    chan struct{} // holds a token while a write finds out
}

// patience is how many writes may fail in a row, each for whatever reason, before it is taken for that of all: a table
// that is gone, or a cloud that has come to refuse what it took before, does not say so.
const patience = 20

func newGates() *gates {
	return &gates{doors: map[door]*gate{},
		limiter: workqueue.NewTypedItemExponentialFailureRateLimiter[door](minRetryDelay, maxRetryDelay)}
}

// shut is why a door is shut; nil when a write may be tried.
func (g *gates) shut(d door) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	one := g.of(d)
	if time.Until(one.until) <= 0 {
		return nil
	}
	return one.why
}

// rest is for how long no write is tried.
func (g *gates) rest(d door) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return max(0, time.Until(g.of(d).until))
}

// pass makes a write, unless all are refused. Then the error is why, and tried is false.
func (g *gates) pass(d door, write func() error) (tried bool, err error) {
	probe, refused := g.approach(d)
	if refused {
		probe <- struct{}{}
		defer func() { <-probe }()
	}
	if why := g.shut(d); why != nil {
		return false, why
	}
	err = write()
	g.note(d, err)
	return true, err
}

// approach says whether the latest write was refused, so that the next one has to be alone.
func (g *gates) approach(d door) (probe chan struct{}, refused bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	one := g.of(d)
	return one.probe, one.why != nil
}

// note shuts gates or opens them. A table that has no room for one more route takes other writes, and a pass asks it
// but once.
func (g *gates) note(d door, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	one, other := g.of(d), g.of(d.other())
	problem, told := errors.AsType[*cloud.RouteProblem](err)
	switch {
	case err == nil:
		one.failures = 0
		g.open(d)
		if other.failures < patience { // then it is shut, if at all, because the table refused everything
			g.open(d.other())
		}
	case told && problem.ReadOnly:
		g.close(d, err)
		g.close(d.other(), err)
	case !told || !problem.TableFull:
		if one.failures++; one.failures >= patience {
			g.close(d, err)
		}
	}
}

// close wants mu held. The reason is that of the first refusal, so that nobody is told the same in other words again
// and again.
func (g *gates) close(d door, why error) {
	one := g.of(d)
	if one.why != nil && time.Now().Before(one.until) {
		return
	}
	if one.why == nil {
		one.why = why
	}
	one.until = time.Now().Add(g.limiter.When(d))
}

// open wants mu held.
func (g *gates) open(d door) {
	one := g.of(d)
	one.why, one.until = nil, time.Time{}
	g.limiter.Forget(d)
}

// of wants mu held.
func (g *gates) of(d door) *gate {
	if g.doors[d] == nil {
		g.doors[d] = &gate{probe: make(chan struct{}, 1)}
	}
	return g.doors[d]
}

// resting is how long a write has to wait that has failed, or whose table refuses all, and why; 0 when it may be tried.
func (c *Controller) resting(o operation) (why notice, rest time.Duration) {
	if pause := c.memory.wait(o.key()); pause > 0 {
		return c.memory.reason(o.key()), pause
	}
	if err := c.gates.shut(doorOf(o)); err != nil {
		return noticeOf(o, err), c.gates.rest(doorOf(o))
	}
	return notice{}, 0
}

// luckyFirst puts Nodes last for which a write has failed: whether a table that refused it refuses all is found out
// sooner by another one. Of the others the oldest is the first, but while a table refuses writes the newest: what
// nobody has tried yet tells most, and nobody who comes waits behind many that are refused.
func (c *Controller) luckyFirst(nodes []*corev1.Node, d demand, p plan, refusing bool) []*corev1.Node {
	failing, unlucky := c.memory.refused(), map[string]bool{}
	for _, w := range d.wants {
		if failing[w.destination] {
			unlucky[w.node.Name] = true
		}
	}
	rank := func(node *corev1.Node) int {
		switch {
		case unlucky[node.Name]:
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

// refusing says whether a table that is to be added to has refused the latest write.
func (c *Controller) refusing(p plan) bool {
	for _, operations := range p.additions {
		for _, o := range operations {
			if _, refused := c.gates.approach(doorOf(o)); refused {
				return true
			}
		}
	}
	return false
}
