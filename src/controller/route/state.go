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

// minFreeTime is the shortest time between two checks that find an address free, before a route to it counts as left
// behind.
const minFreeTime = time.Minute

// state is what a process records of earlier syncs. After a restart it is empty: then fewer routes are deleted, and
// events are repeated.
type state struct {
	mu sync.Mutex
	// owned are this cluster's routes; nil before the first sync.
	owned map[routeKey]bool
	// free are the routes whose gateways were free at all checks in a period.
	free map[routeKey]freePeriod
	// failing are writes and comparisons that failed, and wait for a retry.
	failing map[routeKey]failure
	limiter workqueue.TypedRateLimiter[routeKey]
	// events de-duplicates the problems of each Node, by its UID.
	events event.Filter
	// conditions are the desired conditions of Nodes.
	conditions map[types.UID]conditionRecord
	// unknownSince is when the cloud did not show the machine of a Node for the first time.
	unknownSince map[types.UID]time.Time
}

// freePeriod has the times of the first and the latest check that found an address free. After one check both are the
// same.
type freePeriod struct{ first, latest time.Time }

// failure is why a write failed, and when it is retried.
type failure struct {
	until   time.Time
	problem problem
}

// conditionRecord is a desired condition, with the time and the version of the Node at which it was written; the zero
// Time if it was not.
type conditionRecord struct {
	desired condition
	version string
	written time.Time
}

func newState() *state {
	return &state{
		free: map[routeKey]freePeriod{}, failing: map[routeKey]failure{}, conditions: map[types.UID]conditionRecord{},
		unknownSince: map[types.UID]time.Time{},
		limiter:      workqueue.NewTypedItemExponentialFailureRateLimiter[routeKey](minRetryDelay, maxRetryDelay),
	}
}

// recordFree records which of the unmanaged routes have a gateway that no machine has, and forgets the other ones. It
// returns those that are new.
func (s *state) recordFree(routes []routeKey, isFree func(routeKey) bool) (found []routeKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.free
	s.free = map[routeKey]freePeriod{}
	now := time.Now()
	for _, route := range routes {
		if !isFree(route) {
			continue
		}
		s.free[route] = freePeriod{first: now, latest: now}
		if earlier, wasFree := before[route]; wasFree {
			s.free[route] = freePeriod{first: earlier.first, latest: now}
			continue
		}
		found = append(found, route)
	}
	return found
}

// leftBehind are the routes whose gateways were free at two checks or more, with at least minFreeTime between them.
func (s *state) leftBehind() map[routeKey]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := map[routeKey]bool{}
	for route, period := range s.free {
		if period.latest.Sub(period.first) >= minFreeTime {
			found[route] = true
		}
	}
	return found
}

// ownedRoutes are this cluster's routes at the latest sync, and those that were created since.
func (s *state) ownedRoutes() map[routeKey]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.owned)
}

// setOwned records this cluster's routes. Routes whose removal fails are still owned, except those that are owned only
// because their gateway is free: a machine may get the address. Routes in tables that were not listed are still owned.
func (s *state) setOwned(tables []cloud.RouteTable, p plan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.owned
	s.owned = maps.Clone(p.owned)
	for route := range before {
		if !slices.ContainsFunc(tables, func(t cloud.RouteTable) bool { return t.ID == route.table }) {
			s.owned[route] = true
		}
	}
	for _, o := range p.removals {
		if !o.leftBehind {
			s.owned[o.key()] = true
		}
	}
}

// addOwned adds a route that was created.
func (s *state) addOwned(route routeKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.owned[route] = true
}

// removeOwned removes a route that was deleted. Another program may create the same one later.
func (s *state) removeOwned(route routeKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.owned, route)
}

// retryDelay is how long a failed write has to wait.
func (s *state) retryDelay(key routeKey) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(0, time.Until(s.failing[key].until))
}

// failingDestinations are the destinations of failed writes.
func (s *state) failingDestinations() map[netip.Prefix]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := map[netip.Prefix]bool{}
	for key := range s.failing {
		found[key.destination] = true
	}
	return found
}

// recordFailure returns how long a write has to wait, which is longer after each failure.
func (s *state) recordFailure(key routeKey, p problem) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	delay := s.limiter.When(key)
	s.failing[key] = failure{until: time.Now().Add(delay), problem: p}
	return delay
}

// lastProblem is why a waiting write failed.
func (s *state) lastProblem(key routeKey) problem {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failing[key].problem
}

// clearFailure removes the record of failures of a write.
func (s *state) clearFailure(key routeKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.failing, key)
	s.limiter.Forget(key)
}

// prune removes records about writes that are not planned any more, and about Nodes that do not exist any more.
func (s *state) prune(p plan, alive map[types.UID]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	planned := map[routeKey]bool{}
	for _, operations := range append(slices.Collect(maps.Values(p.additions)), p.removals) {
		for _, o := range operations {
			planned[o.key()] = true
		}
	}
	for key := range s.failing {
		if isRoute := key.destination.IsValid(); isRoute && !planned[key] {
			delete(s.failing, key)
			s.limiter.Forget(key)
		}
	}
	s.events.Retain(func(uid types.UID) bool { return alive[uid] })
	maps.DeleteFunc(s.conditions, func(uid types.UID, _ conditionRecord) bool { return !alive[uid] })
	maps.DeleteFunc(s.unknownSince, func(uid types.UID, _ time.Time) bool { return !alive[uid] })
}

// newProblems are those of a Node's problems for which an event is due. The messages of reasonUnknown and reasonQuota
// differ from one attempt to the next, such as in the route that a full table refused, so another message is not a new
// problem.
func (s *state) newProblems(node types.UID, problems []problem) []problem {
	var lasting []event.Warning
	for _, one := range problems {
		lasting = append(lasting, event.Warning{Reason: one.reason, Message: one.message,
			Vague: one.reason == reasonUnknown || one.reason == reasonQuota})
	}
	var found []problem
	for _, one := range s.events.Update(string(node), node, lasting) {
		found = append(found, problem{one.Reason, one.Message})
	}
	return found
}

// setDesiredCondition records the desired condition of a Node.
func (s *state) setDesiredCondition(node types.UID, desired condition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conditions[node].desired != desired {
		s.conditions[node] = conditionRecord{desired: desired}
	}
}

// hasCondition says whether this process wrote a condition, or found that the Node has its routes. A patch may have
// failed, so a pending condition counts only after it was written.
func (s *state) hasCondition(node types.UID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	record, known := s.conditions[node]
	return known && (record.desired.status == corev1.ConditionFalse || !record.written.IsZero())
}

// inSync says whether a Node's current condition is sufficient. It is not if the desired one is unknown.
func (s *state) inSync(node types.UID, current condition) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	record, known := s.conditions[node]
	return known && record.desired.satisfiedBy(current)
}

// mayPatch says whether a condition may be written. It may not if it was written and the Node in the cache is older
// than that. If another writer has changed it since, it may be written again only after minInterval, and the remaining
// time is returned.
func (s *state) mayPatch(node types.UID, version string, current condition,
	minInterval time.Duration) (write bool, wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.conditions[node]
	remaining := minInterval - time.Since(last.written)
	switch {
	case last.written.IsZero():
		return true, 0
	case last.version == version:
		return false, 0
	case current == condition{}, remaining <= 0:
		return true, 0
	}
	return false, remaining
}

// recordPatch records that a Node's desired condition was written.
func (s *state) recordPatch(node types.UID, version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	record := s.conditions[node]
	record.version, record.written = version, time.Now()
	s.conditions[node] = record
}
