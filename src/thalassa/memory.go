package thalassa

import (
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/service/helpers"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/balancer"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/store"
)

// memory is what a process knows about Services in addition to what it reads: what it has written. It is empty when the
// process begins, and only the executor writes it.
type memory struct {
	// alone means that no other process has created objects shortly before this one began. A program that only reads
	// compares as a leader that has nothing in flight.
	alone bool
	// writes are the last writes of objects of Services, by their UIDs. The objects of these Services that the previous
	// leader created were known then.
	writes *store.TTLCache[lastWrite]
	// removals are removals of health checks, by the identities of the target groups.
	removals map[string]removal
	mu       sync.Mutex // of removals
}

func newMemory() *memory {
	return &memory{writes: store.NewTTLCache[lastWrite](time.Hour), removals: map[string]removal{}}
}

// maxDeleted is how many deletions of a Service are remembered: more than it has objects.
const maxDeleted = 500

// lastWrite is the last write of an object of a Service by this process.
type lastWrite struct {
	at      time.Time
	deleted []string // identities of its objects whose deletion was accepted, the latest ones
	// lags means that lists contained an object after its deletion was accepted and new lists were read. Then the next
	// deletion does not wait for new lists, because it would write again.
	lags bool
}

// recordWrite records a write of an object of a Service. If it is a deletion that was accepted, deleted is the identity
// of the object; otherwise it is "".
func (m *memory) recordWrite(service *corev1.Service, deleted string) {
	last, _ := m.writes.Get(string(service.UID))
	last.at = time.Now()
	if deleted != "" {
		last.lags = last.lags || slices.Contains(last.deleted, deleted)
		last.deleted = append(slices.Clip(last.deleted[max(0, len(last.deleted)-maxDeleted):]), deleted)
	}
	m.writes.Put(string(service.UID), last)
}

// removalTries is how often the removal of a target group's health check is written before it counts as impossible. The
// second attempt is for a health check that somebody added again.
const removalTries = 2

// removal is how often a health check was removed from a target group. A cloud may ignore null in an update, so that
// the same write would be repeated without end.
type removal struct {
	check string
	times int
}

// recordRemoval records an update of a target group that succeeded. A removal of its health check is counted; a change
// of the health check resets the count.
func (m *memory) recordRemoval(from, to resource.TargetGroup) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch check := from.HealthCheck.String(); {
	case check == to.HealthCheck.String():
	case to.HealthCheck != nil:
		delete(m.removals, from.ID)
	default:
		latest := m.removals[from.ID]
		if latest.check != check {
			latest = removal{check: check}
		}
		latest.times++
		m.removals[from.ID] = latest
	}
}

// forget discards what is known about a target group that is deleted.
func (m *memory) forget(group string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.removals, group)
}

// irremovable returns the identities of the groups that still have a health check that was removed often enough.
func (m *memory) irremovable(groups []resource.TargetGroup) map[string]bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	found := map[string]bool{}
	for _, group := range groups {
		latest := m.removals[group.ID]
		if latest.times >= removalTries && group.HealthCheck != nil && latest.check == group.HealthCheck.String() {
			found[group.ID] = true
		}
	}
	return found
}

// mayFollow reports whether the previous leader may have created objects of the Service immediately before it ended. It
// has added the finalizer before.
func (m *memory) mayFollow(service *corev1.Service) bool {
	_, wrote := m.writes.Get(string(service.UID))
	return !m.alone && !wrote && helpers.HasLBFinalizer(service)
}

// memoryOf returns what the process knows about a Service with these objects.
func (b *balancers) memoryOf(service *corev1.Service, o balancer.Observed) balancer.Memory {
	m := b.executor.memory
	of := balancer.Memory{Expecting: b.inventory.Expecting(string(service.UID)), Irremovable: m.irremovable(o.Groups)}
	if o.Balancer() == nil && m.mayFollow(service) {
		of.Expecting = max(of.Expecting, -b.inventory.SinceVisible())
	}
	return of
}
