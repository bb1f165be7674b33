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
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/workerpool"
)

// cause is the reason for a write.
type cause string

// The causes, which are also values of a metric's label.
const (
	causeService cause = "service" // the Service or the process is new, or the Service changed
	causeNodes   cause = "nodes"   // only the targets changed
	causeDrift   cause = "drift"   // nothing has changed in Kubernetes
	causeRemoval cause = "removal" // the Service needs no load balancer any more
)

// serviceState is the state of one Service in this process, in addition to the objects in Kubernetes and in the cloud.
// Nothing in it is needed after a restart: it prevents repeated events, and shows which input has changed. The holder
// of the lock reconciles the Service.
type serviceState struct {
	sync.Mutex
	lifetimeState
	snapshot atomic.Pointer[snapshot] // can be read without the lock
}

// lifetimeState is the state that is discarded when the cloud has no objects of the Service any more.
type lifetimeState struct {
	syncState

	service    *corev1.Service // the latest version that needed a load balancer; nil: never
	machines   []string        // its targets then
	usable     []string        // the machines that could be targets then
	staying    []string        // machines that stayed if they were targets then
	incomplete bool            // the targets were incomplete then
	inSync     bool            // nothing differed then, except what was refused
	refused    string          // why something was refused; "" if nothing was
	cause      cause
	lastWrite  *writtenService           // the cache may not contain it yet
	published  corev1.LoadBalancerStatus // the addresses that this process wrote, or found in the status

	hasLeftovers         bool // it is not managed, and the cloud has managed objects of it
	implementedElsewhere bool // the provider returned cloudprovider.ImplementedElsewhere

	notices         []cloud.Notice // the latest notices, which have been reported
	providerNotices []cloud.Notice // those of them that the provider returned
	noticesKnown    bool           // the notices have been computed
	repair          repair
	health          string    // of the targets, as a sentence
	leftOutSince    time.Time // the time since which a target is not usable; zero: all are
	postponedSince  time.Time // the time since which targets are to change later; zero: none are
}

// syncState is the state that is discarded when the load balancer is in sync.
type syncState struct {
	ensuring     bool     // an event reported the creation or the update
	written      bool     // there was a write
	deleting     bool     // an event reported the deletion
	retains      string   // the message if the load balancer is retained; "" if it is deleted
	left         []string // messages about the objects that a deletion left in the cloud
	drifted      bool     // there is drift
	driftSummary string   // the plan that reverts it, as one line

	wait       wait
	events     map[string]sentEvent // the latest events, by reason
	unfinished *writeProgress       // the writes of a reconciliation that reached maxWrites
	stale      workerpool.Stale     // the plans in a row that were stale
	message    string               // why the load balancer is not ready; "" if it is
	failure    failure
}

// snapshot is the part of the state that metrics and garbage collection read while the Service is being reconciled. It
// is never changed, only replaced.
type snapshot struct {
	uid     types.UID // of the Service that needs or needed a load balancer
	state   string    // the cloud's state of the load balancer
	targets int
	drifted bool
	repairs int // how often the same drift was repaired in a row
}

// wait is the object that is not ready or not deleted yet, and the time since then.
type wait struct {
	object   string
	deleting bool
	since    time.Time
}

// failure is the latest failure that an event reported, and the time in which the same failure is not reported again.
type failure struct {
	text  string
	at    time.Time
	pause time.Duration
}

// repair is the latest repair of drift, and the number of times that it was the same in a row.
type repair struct {
	summary string
	times   int
}

// sentEvent is an event about the load balancer of a Service.
type sentEvent struct {
	object string // the object in the cloud; a different one is reported again
	at     time.Time
}

// updateCause records the request and its machines, and returns the cause of differences: what changed since the last
// reconciliation. If something was refused before and is not refused any more, the cause is the Service. If the plan
// continues a change of targets, the cause is the Nodes.
func (s *serviceState) updateCause(req request, found cloud.Comparison) cause {
	machines, refused := found.Machines, messageOf(found.Refused)
	same := s.service != nil && cloud.SameDesired(s.service, req.service) && (s.refused == "" || s.refused == refused)
	targets := equal(s.machines, machines) && equal(s.usable, found.Usable) && equal(s.staying, req.targets.Staying) &&
		s.incomplete == req.targets.Incomplete && !found.Continues
	switch {
	case same && targets && (s.inSync || s.cause == causeDrift):
		s.cause = causeDrift
	case same && (s.inSync || s.cause == causeNodes || s.cause == causeDrift):
		s.cause = causeNodes
	default:
		s.cause = causeService
		s.clearDrift()
	}
	s.inSync, s.usable = s.inSync && s.cause == causeDrift, found.Usable
	s.service, s.machines, s.staying, s.incomplete = req.service, machines, req.targets.Staying, req.targets.Incomplete
	return s.cause
}

// equal reports whether two lists are equal. Those of thousands of machines are the same one in the usual case.
func equal(before, after []string) bool {
	same := len(before) == len(after) && len(before) > 0 && &before[0] == &after[0]
	return same || slices.Equal(before, after)
}

// observe records the comparison for metrics, and the time since which a target is not usable.
func (s *serviceState) observe(service *corev1.Service, found cloud.Comparison) {
	s.health = found.Health
	leftOut := found.LeftOut || slices.ContainsFunc(found.Notices, func(one cloud.Notice) bool {
		return one.Topic == cloud.Nodes
	})
	s.leftOutSince = since(s.leftOutSince, leftOut)
	differs := s.drifted || (s.cause == causeDrift && len(found.Plan) > 0)
	s.snapshot.Store(&snapshot{uid: service.UID, state: cmp.Or(found.State, "none"), targets: len(found.Machines),
		drifted: differs, repairs: s.repair.times})
}

// since returns the time since which something is so, given the time until now; zero if it is not.
func since(before time.Time, is bool) time.Time {
	switch {
	case !is:
		return time.Time{}
	case before.IsZero():
		return time.Now()
	}
	return before
}

// recordLeft records the objects that a successful write left in the cloud.
func (s *serviceState) recordLeft(tried cloud.Attempt) {
	if tried.Err == nil && tried.Leaves != "" && !slices.Contains(s.left, tried.Leaves) {
		s.left = append(s.left, tried.Leaves)
	}
}

// recordWrite records that there was a write.
func (s *serviceState) recordWrite() { s.written, s.inSync = true, false }

// recordInSync records that nothing differs and that the load balancer is ready.
func (s *serviceState) recordInSync(service *corev1.Service, found cloud.Comparison) {
	s.inSync, s.refused, s.syncState = true, "", syncState{}
	s.postponedSince = since(s.postponedSince, found.Postponed)
	s.observe(service, found)
}

// prepareDeletion is called before the load balancer of the Service is deleted.
func (s *serviceState) prepareDeletion() {
	s.inSync, s.cause = false, causeService
	s.clearDrift()
}

// clearDrift discards what was reported about drift, because the Service has changed.
func (s *serviceState) clearDrift() {
	s.drifted, s.driftSummary = false, ""
	delete(s.events, reasonDrifted)
	delete(s.events, reasonNotRepaired)
}

// reset discards the state when the cloud has no objects of the Service any more.
func (s *serviceState) reset() {
	s.lifetimeState = lifetimeState{}
	s.snapshot.Store(nil)
}

// waitedSince returns the time at which the object was first found in this state. The time of its creation does not
// matter.
func (s *serviceState) waitedSince(w cloud.Wait) time.Time {
	if s.wait.since.IsZero() || s.wait.object != w.Object || s.wait.deleting != w.Deleting {
		s.wait = wait{object: w.Object, deleting: w.Deleting, since: time.Now()}
	}
	return s.wait.since
}

// stateStore contains the states of all Services, by a key that the caller chooses. The zero value is empty.
type stateStore struct {
	mu     sync.Mutex
	states map[string]*serviceState
}

// get returns the state of a Service, and creates it if there is none.
func (s *stateStore) get(key string) *serviceState {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.states == nil {
		s.states = map[string]*serviceState{}
	}
	if s.states[key] == nil {
		s.states[key] = &serviceState{}
	}
	return s.states[key]
}

// remove removes the state of a Service. The caller holds its lock, so that no other goroutine reconciles the Service.
func (s *stateStore) remove(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.states, key)
}

// has reports whether there is a state of the Service.
func (s *stateStore) has(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.states[key] != nil
}

// all returns all states.
func (s *stateStore) all() []*serviceState {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.states))
}

// keys returns the keys of all states.
func (s *stateStore) keys() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.states))
}

// repairPause returns how long a report of the cloud waits: nothing, unless another program reverts each repair.
func (s *serviceState) repairPause() time.Duration {
	snapshot := s.snapshot.Load()
	if snapshot == nil || snapshot.repairs <= maxRepairs {
		return 0
	}
	return min(time.Second<<min(snapshot.repairs-maxRepairs, 10), maxRecheckDelay)
}
