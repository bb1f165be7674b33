package service

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

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
	seen atomic.Pointer[seen] // can be read without the lock
	memory
}

// memory is the part of the state that requires the lock.
type memory struct {
	service   *corev1.Service // the latest version that needed or has a load balancer; nil: none
	input     input
	cause     cause
	inSync    bool                      // nothing differed then, except what was refused
	refused   string                    // why something was refused; "" if nothing was
	written   *corev1.Service           // as the API server returned it: the cache may not contain it yet
	published corev1.LoadBalancerStatus // the addresses that this process wrote to the status or found there
	elsewhere bool                      // the provider returned cloudprovider.ImplementedElsewhere
	notices   []cloud.Notice            // the latest notices, which have been reported
	repair    string                    // the latest plan that reverted drift
	repaired  time.Time                 // when it was written
	unfinished
}

// unfinished is the part of the state that is discarded when the load balancer is in sync.
type unfinished struct {
	due    due
	drift  drift
	wait   wait
	events map[string]sentEvent // the latest events, by reason
	stale  workerpool.Stale     // the plans in a row that were stale
}

// seen is what the latest comparison found. It is never changed, only replaced.
type seen struct {
	uid     types.UID // of the Service that needs or needed a load balancer
	state   string    // the cloud's state of the load balancer
	health  string    // of the targets, as a sentence
	targets int
	drifted bool
	leftOut time.Time // the time since which a target is not usable; zero: all are
	excess  bool      // targets leave when the Service is settled
}

// input is what the latest comparison depended on, besides the Service and the cloud.
type input struct {
	machines []string      // the targets
	usable   []string      // the machines from which they were chosen
	targets  cloud.Targets // all machines of the Service
	changed  time.Time     // when the Service or its targets changed, or something was written
}

// due are the events that follow when the load balancer is in sync, or deleted.
type due struct {
	reason, message string
	left            []string // messages about the objects that a deletion left in the cloud
}

// drift is a difference that nothing in Kubernetes has caused.
type drift struct {
	found   bool
	summary string // the plan that reverts it, as one line; "" if there is none
}

// wait is the object that is not ready or not deleted yet, and the time since then.
type wait struct {
	object   string
	deleting bool
	since    time.Time
	message  string // why the load balancer is not ready
}

// sentEvent is an event about the load balancer of a Service.
type sentEvent struct {
	object string // the object in the cloud, or a text; a different one is reported again
	at     time.Time
	pause  time.Duration // in which the same failure is not reported again
}

// updateCause records the request and its machines, and returns the cause of differences: what changed since the last
// reconciliation. If something was refused before and is not refused any more, the cause is the Service. If the plan
// only removes targets that others have replaced, the cause is the Nodes.
func (s *serviceState) updateCause(req request, found cloud.Comparison) cause {
	now := input{found.Targets.Machines, found.Targets.Usable, req.targets, s.input.changed}
	same := s.service != nil && cloud.SameDesired(s.service, req.service) &&
		(s.refused == "" || s.refused == messageOf(found.Refused))
	targets := s.input.equal(now) && !found.Targets.Excess
	if !same || !slices.Equal(s.input.machines, found.Targets.Machines) {
		now.changed = time.Now()
	}
	switch {
	case same && targets && (s.inSync || s.cause == causeDrift):
		s.cause = causeDrift
	case same && (s.inSync || s.cause == causeNodes || s.cause == causeDrift):
		s.cause = causeNodes
	default:
		s.cause = causeService
		s.clearDrift()
	}
	s.inSync = s.inSync && s.cause == causeDrift
	s.service, s.input = req.service, now
	s.expectNone(reasonDeleted, reasonRetained)
	return s.cause
}

// equal reports whether two comparisons depended on the same machines.
func (i input) equal(other input) bool {
	return slices.Equal(i.machines, other.machines) && slices.Equal(i.usable, other.usable) &&
		i.targets.Incomplete() == other.targets.Incomplete() &&
		slices.Equal(cloud.MachinesOf(i.targets.Joining), cloud.MachinesOf(other.targets.Joining))
}

// settled reports whether the Service and its targets have not changed for so long, and no Node since the latest
// comparison.
func (s *serviceState) settled(req request, after time.Duration) bool {
	return s.service != nil && time.Since(s.input.changed) >= after && cloud.SameDesired(s.service, req.service) &&
		s.input.targets.Equal(req.targets)
}

// latestSeen returns what the latest comparison found; the zero value before the first one.
func (s *serviceState) latestSeen() seen {
	if latest := s.seen.Load(); latest != nil {
		return *latest
	}
	return seen{}
}

// observe records what a comparison found.
func (s *serviceState) observe(service *corev1.Service, found cloud.Comparison) {
	var leftOut time.Time
	if found.Targets.LeftOut || slices.ContainsFunc(found.Notices, aboutNodes) {
		leftOut = cmp.Or(s.latestSeen().leftOut, time.Now())
	}
	s.seen.Store(&seen{
		uid: service.UID, state: cmp.Or(found.Balancer.State, "none"), health: found.Balancer.Health,
		targets: len(found.Targets.Machines),
		drifted: s.drift.found || (s.cause == causeDrift && len(found.Plan) > 0),
		leftOut: leftOut, excess: found.Targets.Excess,
	})
}

// latest returns the Service with the finalizers and the status of the latest write, if the Service was read before
// that write.
func (s *serviceState) latest(service *corev1.Service) *corev1.Service {
	wrote := s.written
	if service == nil || wrote == nil {
		return service
	}
	older, err := resourceversion.CompareResourceVersion(service.ResourceVersion, wrote.ResourceVersion)
	if err != nil || older >= 0 || service.UID != wrote.UID {
		s.written = nil
		return service
	}
	latest := *service // the cached object is not modified
	latest.ResourceVersion, latest.Finalizers, latest.Status = wrote.ResourceVersion, wrote.Finalizers, wrote.Status
	return &latest
}

// expect records the event that follows when the load balancer is in sync or deleted, and reports whether another one
// or none was expected before.
func (s *serviceState) expect(reason, message string) (changed bool) {
	changed = s.due.reason != reason
	s.due.reason, s.due.message = reason, message
	return changed
}

// expectNone discards the event that follows, if it has one of these reasons.
func (s *serviceState) expectNone(reasons ...string) {
	if slices.Contains(reasons, s.due.reason) {
		s.expect("", "")
	}
}

// recordAttempt records a write that succeeded, and the objects that it left in the cloud.
func (s *serviceState) recordAttempt(tried cloud.Attempt) {
	if tried.Err != nil {
		return
	}
	s.input.changed = time.Now()
	if tried.Leaves != "" && !slices.Contains(s.due.left, tried.Leaves) {
		s.due.left = append(s.due.left, tried.Leaves)
	}
}

// recordWrite records that there was a write.
func (s *serviceState) recordWrite(cause cause) {
	s.inSync = false
	if cause == causeNodes && s.due.reason == "" {
		s.expect(reasonUpdated, textUpdated)
	}
}

// recordInSync records that nothing differs and that the load balancer is ready.
func (s *serviceState) recordInSync(service *corev1.Service, found cloud.Comparison) {
	s.inSync, s.refused = true, ""
	s.unfinished = unfinished{}
	s.observe(service, found)
}

// recordRefused records that nothing differs except what is refused.
func (s *serviceState) recordRefused(service *corev1.Service, found cloud.Comparison) {
	s.clearDrift()
	s.inSync, s.refused = true, messageOf(found.Refused)
	s.observe(service, found)
}

// repairPause returns how long the repair waits: nothing, unless the same one was the latest, less than that time ago.
func (s *serviceState) repairPause(plan cloud.Plan, interval time.Duration) time.Duration {
	if plan.String() != s.repair {
		return 0
	}
	return max(0, min(interval, repairInterval)-time.Since(s.repaired))
}

// recordEvent records an event. It returns the time of the event; fresh means that there was none before with the same
// reason and object since the load balancer was last in sync.
func (s *serviceState) recordEvent(reason, object string) (at time.Time, fresh bool) {
	if before, reported := s.events[reason]; reported && before.object == object {
		return before.at, false
	}
	if s.events == nil {
		s.events = map[string]sentEvent{}
	}
	now := time.Now()
	s.events[reason] = sentEvent{object: object, at: now, pause: minRetryDelay}
	return now, true
}

// recordFailure records a failure, and reports whether it becomes an event: a different one at once, the same one with
// increasing intervals.
func (s *serviceState) recordFailure(text string) bool {
	at, fresh := s.recordEvent(reasonSyncFailed, text)
	pause := s.events[reasonSyncFailed].pause
	if fresh || time.Since(at) < pause {
		return fresh
	}
	s.events[reasonSyncFailed] = sentEvent{object: text, at: time.Now(), pause: min(2*pause, maxRetryDelay)}
	return true
}

// prepareDeletion is called before the load balancer of the Service is deleted.
func (s *serviceState) prepareDeletion() {
	s.inSync, s.cause = false, causeService
	s.expectNone(reasonEnsured, reasonUpdated)
	s.clearDrift()
}

// clearDrift discards what was reported about drift, because the Service has changed.
func (s *serviceState) clearDrift() {
	s.drift = drift{}
	delete(s.events, reasonDrifted)
	delete(s.events, reasonNotRepaired)
}

// reset discards the state when the cloud has no objects of the Service any more.
func (s *serviceState) reset() {
	s.memory = memory{}
	s.seen.Store(nil)
}

// waitedSince records why the load balancer is not ready, and returns the time at which the object was first found in
// this state. The time of its creation does not matter.
func (s *serviceState) waitedSince(w cloud.Wait) time.Time {
	if s.wait.since.IsZero() || s.wait.object != w.Object || s.wait.deleting != w.Deleting {
		s.wait = wait{object: w.Object, deleting: w.Deleting, since: time.Now(), message: s.wait.message}
	}
	return s.wait.since
}

// stateStore contains the states of all Services, by a key that the caller chooses. The zero value is empty.
type stateStore struct{ states sync.Map } // of *serviceState

// get returns the state of a Service, and creates it if there is none.
func (s *stateStore) get(key string) *serviceState {
	found, _ := s.states.LoadOrStore(key, &serviceState{})
	state, _ := found.(*serviceState)
	return state
}

// remove removes the state of a Service. The caller holds its lock, so that no other goroutine reconciles the Service.
func (s *stateStore) remove(key string) { s.states.Delete(key) }

// has reports whether there is a state of the Service.
func (s *stateStore) has(key string) bool {
	_, known := s.states.Load(key)
	return known
}

// keys returns the keys of all states.
func (s *stateStore) keys() (keys []string) {
	for found := range s.states.Range {
		key, _ := found.(string)
		keys = append(keys, key)
	}
	return keys
}

// seen returns what the latest comparison of each Service found.
func (s *stateStore) seen() (all []*seen) {
	for _, found := range s.states.Range {
		state, _ := found.(*serviceState)
		if seen := state.seen.Load(); seen != nil {
			all = append(all, seen)
		}
	}
	return all
}
