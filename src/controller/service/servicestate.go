package service

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// cause is why something is written.
type cause string

// The causes, which are also values of a metric's label.
const (
	causeService cause = "service" // the Service is new or another one now, or the process is
	causeNodes   cause = "nodes"   // only its targets are others
	causeDrift   cause = "drift"   // nothing has changed in Kubernetes
	causeRemoval cause = "removal" // it is to have no load balancer any more
)

// memory is what is known of one Service besides what Kubernetes and the cloud have. Nothing in it is needed after a
// restart: it keeps events from being repeated, and says what is new. Who holds its lock works on the Service.
type memory struct {
	sync.Mutex
	knowledge
	facts atomic.Pointer[facts] // for whoever does not hold the lock
}

// knowledge is all that is forgotten when nothing of the Service is left.
type knowledge struct {
	effort

	service  *corev1.Service // as it was last seen to want a load balancer; nil: never
	machines []string        // that its traffic was to go to then
	joining  []string        // those of nodes without a network
	partial  bool            // whether that was not known to be all
	settled  bool            // nothing differed with these, but for what was refused
	refused  string          // why something was
	cause    cause
	written  *written // what the cache may not show yet

	foreign   bool // it has a loadBalancerClass of others, or had one when its type was another
	abandoned bool // it is not ours, and the cloud has something of it that is
	elsewhere bool // the provider said that others make its load balancer

	notices []cloud.Notice // those that the owner was told
	offered []cloud.Notice // those of them that came from the provider
	noticed bool           // in the latest look, so that the notices are those of now
	repair  repair
	health  string    // what is known about the health of targets
	leftOut time.Time // since when a target is not usable; zero: all are
}

// effort is what has happened since the load balancer was last as it should be.
type effort struct {
	ensuring  bool     // the owner was told that its load balancer is being made or changed
	changed   bool     // something was written
	removing  bool     // the owner was told that it is being deleted
	handsOver string   // what the owner is told instead, once it is left to others; "" when it is deleted
	left      []string // what the owner is told that the writes of a deletion have left in the cloud
	repairing bool     // something differs that is not the owner's doing
	drift     string   // what

	wait       wait
	told       map[string]telling // by reason
	unfinished *progress          // of a look that made as many writes as it may; the next look follows at once
	message    string             // what is waited for, or why it goes on no further; "" when nothing
	failure    failure
}

// facts are what a memory tells about its Service while somebody works on it. They are never changed.
type facts struct {
	uid       types.UID // of the Service that wants, or wanted, a load balancer
	state     string    // the cloud's word for the load balancer
	targets   int
	repairing bool
}

// wait is what is waited for: that something serves, or that it is gone.
type wait struct {
	object string
	going  bool
	since  time.Time
}

// failure is the latest one that the owner was told, and for how long the same is not told again.
type failure struct {
	text  string
	at    time.Time
	pause time.Duration
}

// repair is what was put right last, and how often in a row it was the same.
type repair struct {
	what  string
	times int
}

// telling is an event about a Service's load balancer.
type telling struct {
	object string // what it was about, so that another one is told again
	at     time.Time
}

// causeOf says why something may differ for a wish, whose traffic is to go to these machines, and of which something is
// refused, "" for nothing. It remembers wish and machines. What was refused, and is not any more, is still the
// Service's wish.
func (m *memory) causeOf(w wish, machines []string, refused string) cause {
	same := m.service != nil && cloud.SameDesired(m.service, w.service) && (m.refused == "" || m.refused == refused)
	targets := slices.Equal(m.machines, machines) && slices.Equal(m.joining, w.targets.Joining) &&
		m.partial == w.targets.Incomplete
	switch {
	case same && targets && (m.settled || m.cause == causeDrift):
		m.cause = causeDrift
	case same && (m.settled || m.cause == causeNodes || m.cause == causeDrift):
		m.cause = causeNodes
	default:
		m.cause = causeService
		m.forgive()
	}
	m.settled = m.settled && m.cause == causeDrift
	m.service, m.machines, m.joining, m.partial = w.service, machines, w.targets.Joining, w.targets.Incomplete
	return m.cause
}

// seen remembers how things are, for metrics, and since when a target is left out.
func (m *memory) seen(service *corev1.Service, found cloud.Comparison) {
	m.health = found.Health
	leftOut := found.LeftOut || slices.ContainsFunc(found.Notices, func(one cloud.Notice) bool {
		return one.Topic == cloud.Nodes
	})
	if !leftOut {
		m.leftOut = time.Time{}
	} else if m.leftOut.IsZero() {
		m.leftOut = time.Now()
	}
	differs := m.repairing || (m.cause == causeDrift && len(found.Plan) > 0)
	m.facts.Store(&facts{uid: service.UID, state: cmp.Or(found.State, "none"), targets: len(found.Machines),
		repairing: differs})
}

// leaves records what a write that succeeded has left in the cloud.
func (m *memory) leaves(tried cloud.Attempt) {
	if tried.Err == nil && tried.Leaves != "" && !slices.Contains(m.left, tried.Leaves) {
		m.left = append(m.left, tried.Leaves)
	}
}

// wrote remembers that something was written.
func (m *memory) wrote() { m.changed, m.settled = true, false }

// settle remembers that nothing differs from the wish, and that it serves.
func (m *memory) settle(service *corev1.Service, found cloud.Comparison) {
	m.settled, m.refused, m.effort = true, "", effort{}
	m.seen(service, found)
}

// unsettle is for a Service that is to have no load balancer any more.
func (m *memory) unsettle() {
	m.settled, m.cause = false, causeService
	m.forgive()
}

// forgive ends what was said about drift: what differs from now on is the owner's wish.
func (m *memory) forgive() {
	m.repairing, m.drift = false, ""
	delete(m.told, reasonDrifted)
	delete(m.told, reasonNotRepaired)
}

// reset is for a Service of which nothing is left in the cloud.
func (m *memory) reset() {
	m.knowledge = knowledge{}
	m.facts.Store(nil)
}

// waitedSince is since when it is waited for: since it was first seen as it is, whenever it was made.
func (m *memory) waitedSince(w cloud.Wait) time.Time {
	if m.wait.since.IsZero() || m.wait.object != w.Object || m.wait.going != w.Deleting {
		m.wait = wait{object: w.Object, going: w.Deleting, since: time.Now()}
	}
	return m.wait.since
}

// memories are those of all Services, by a key of the caller's choice. The zero value is ready to use.
type memories[K comparable] struct {
	mu    sync.Mutex
	known map[K]*memory
}

// of returns the memory of a Service, an empty one for a new one.
func (m *memories[K]) of(key K) *memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil {
		m.known = map[K]*memory{}
	}
	if m.known[key] == nil {
		m.known[key] = &memory{}
	}
	return m.known[key]
}

// forget is for a Service of which nothing is left. It wants the Service's lock held, so that nobody works on it.
func (m *memories[K]) forget(key K) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.known, key)
}

// has says whether anything is known of a Service.
func (m *memories[K]) has(key K) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.known[key] != nil
}

// all are all that is known.
func (m *memories[K]) all() []*memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Values(m.known))
}

// keys are those of all that is known.
func (m *memories[K]) keys() []K {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Keys(m.known))
}
