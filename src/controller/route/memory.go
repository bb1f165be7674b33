package route

import (
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/event"
)

// vacantGrace is the least time between two looks that say that nobody has an address, before a route to it counts as
// left behind.
const vacantGrace = time.Minute

// memory is what a process knows of earlier passes. All of it can be lost: then less is removed, and more is told
// twice.
type memory struct {
	mu sync.Mutex
	// owned are this cluster's routes; nil before the first pass.
	owned map[pair]bool
	// vacant are the looks that found nobody at a route's end, and no look since found somebody.
	vacant map[pair]vacancy
	// failing are writes that are not tried again before their time, and looks that failed.
	failing map[pair]failure
	limiter workqueue.TypedRateLimiter[pair]
	// told are the notices of each Node, by its UID.
	told event.Filter
	// wishes are what the conditions of Nodes should say.
	wishes map[types.UID]wish
	// unseen is since when the machines of Nodes have not been shown.
	unseen map[types.UID]time.Time
}

// vacancy is when looks found nobody at a route's end. One look that is long ago is still one look.
type vacancy struct{ first, latest time.Time }

// failure is until when a write is not tried again, and why.
type failure struct {
	until time.Time
	why   notice
}

// wish is what a condition should say, and when that was written, upon which version of the Node; the zero Time if it
// was not.
type wish struct {
	wanted  state
	version string
	written time.Time
}

func newMemory() *memory {
	return &memory{
		vacant: map[pair]vacancy{}, failing: map[pair]failure{}, wishes: map[types.UID]wish{},
		unseen:  map[types.UID]time.Time{},
		limiter: workqueue.NewTypedItemExponentialFailureRateLimiter[pair](minRetryDelay, maxRetryDelay),
	}
}

// noteVacant remembers which of the strangers lead to nobody; the others are not doubted any more. It returns those of
// which that is new.
func (m *memory) noteVacant(strangers []pair, vacant func(pair) bool) (found []pair) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.vacant
	m.vacant = map[pair]vacancy{}
	now := time.Now()
	for _, s := range strangers {
		if !vacant(s) {
			continue
		}
		m.vacant[s] = vacancy{first: now, latest: now}
		if known, was := before[s]; was {
			m.vacant[s] = vacancy{first: known.first, latest: now}
			continue
		}
		found = append(found, s)
	}
	return found
}

// abandoned are the routes that led to nobody by two looks at least, with long enough between them.
func (m *memory) abandoned() map[pair]bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	found := map[pair]bool{}
	for route, looks := range m.vacant {
		if looks.latest.Sub(looks.first) >= vacantGrace {
			found[route] = true
		}
	}
	return found
}

// known are this cluster's routes as of the latest pass, with what was made since.
func (m *memory) known() map[pair]bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.owned)
}

// keep makes these the routes that are known. What fails to be removed stays known, but not what is this cluster's only
// because nobody is where it leads to: somebody may come. Nothing is learnt of tables that the look did not show.
func (m *memory) keep(tables []cloud.RouteTable, p plan) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.owned
	m.owned = maps.Clone(p.owned)
	for route := range before {
		if !slices.ContainsFunc(tables, func(t cloud.RouteTable) bool { return t.ID == route.table }) {
			m.owned[route] = true
		}
	}
	for _, o := range p.removals {
		if !o.doubted {
			m.owned[o.key()] = true
		}
	}
}

// own adds a route that was made.
func (m *memory) own(route pair) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.owned[route] = true
}

// disown forgets a route that was removed: who has it later is not known.
func (m *memory) disown(route pair) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.owned, route)
}

// wait is how long a write has to wait that has failed.
func (m *memory) wait(key pair) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return max(0, time.Until(m.failing[key].until))
}

// refused are the destinations of writes that have failed.
func (m *memory) refused() map[netip.Prefix]bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	found := map[netip.Prefix]bool{}
	for key := range m.failing {
		found[key.destination] = true
	}
	return found
}

// failed lets a write wait, longer each time, and says how long.
func (m *memory) failed(key pair, why notice) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	pause := m.limiter.When(key)
	m.failing[key] = failure{until: time.Now().Add(pause), why: why}
	return pause
}

// reason is why a write failed that waits.
func (m *memory) reason(key pair) notice {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.failing[key].why
}

// succeeded forgets failures of a write.
func (m *memory) succeeded(key pair) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.failing, key)
	m.limiter.Forget(key)
}

// forget drops what is remembered of writes and Nodes that there are no more.
func (m *memory) forget(p plan, alive map[types.UID]bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	wanted := map[pair]bool{}
	for _, operations := range append(slices.Collect(maps.Values(p.additions)), p.removals) {
		for _, o := range operations {
			wanted[o.key()] = true
		}
	}
	for key := range m.failing {
		if route := key.destination.IsValid(); route && !wanted[key] {
			delete(m.failing, key)
			m.limiter.Forget(key)
		}
	}
	m.told.Retain(func(uid types.UID) bool { return alive[uid] })
	maps.DeleteFunc(m.wishes, func(uid types.UID, _ wish) bool { return !alive[uid] })
	maps.DeleteFunc(m.unseen, func(uid types.UID, _ time.Time) bool { return !alive[uid] })
}

// news are those of a Node's notices that its owner is told now. How the cloud gives no answer changes from one attempt
// to the next, and so does which route it was that a full table refused.
func (m *memory) news(node types.UID, notices []notice) []notice {
	var lasting []event.Warning
	for _, one := range notices {
		lasting = append(lasting, event.Warning{Reason: one.reason, Message: one.message,
			Vague: one.reason == reasonUnknown || one.reason == reasonQuota})
	}
	var news []notice
	for _, one := range m.told.Update(string(node), node, lasting) {
		news = append(news, notice{one.Reason, one.Message})
	}
	return news
}

// wish notes what the condition of a Node should say.
func (m *memory) wish(node types.UID, wanted state) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.wishes[node].wanted != wanted {
		m.wishes[node] = wish{wanted: wanted}
	}
}

// hasWish says whether the routes of a Node were compared, or waited for and that was written: a patch may have failed.
func (m *memory) hasWish(node types.UID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	one, known := m.wishes[node]
	return known && (one.wanted.status == corev1.ConditionFalse || !one.written.IsZero())
}

// content says whether a Node's condition is as it should be. It is not, as long as nobody knows how it should be.
func (m *memory) content(node types.UID, present state) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	one, known := m.wishes[node]
	return known && one.wanted.accepts(present)
}

// mayPatch says whether a condition may be written: not if it was, and the Node as we know it is from before, and not
// again within the pause if another one has written it since; then the rest of the pause is returned.
func (m *memory) mayPatch(node types.UID, version string, present state,
	pause time.Duration) (write bool, wait time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	last := m.wishes[node]
	rest := pause - time.Since(last.written)
	switch {
	case last.written.IsZero():
		return true, 0
	case last.version == version:
		return false, 0
	case present == state{}, rest <= 0:
		return true, 0
	}
	return false, rest
}

// notePatched remembers that a Node's condition was made what it should be.
func (m *memory) notePatched(node types.UID, version string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	one := m.wishes[node]
	one.version, one.written = version, time.Now()
	m.wishes[node] = one
}
