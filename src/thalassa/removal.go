package thalassa

import (
	"sync"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// removalTries is how often the removal of a target group's health check is written before it counts as impossible. The
// second attempt is for a health check that somebody added again.
const removalTries = 2

// removals counts the removals of health checks from target groups. A cloud may ignore null in an update, so that the
// same write would be repeated without end. The zero value is ready to use.
type removals struct {
	mu    sync.Mutex
	tried map[string]removal // by identity of the target group
}

// removal is how often a health check was removed.
type removal struct {
	check string
	times int
}

// recordResult records an update of a target group that succeeded. A removal of its health check is counted; a change
// of the health check resets the count.
func (r *removals) recordResult(from, to resource.TargetGroup) {
	switch {
	case from.HealthCheck.String() == to.HealthCheck.String():
	case to.HealthCheck == nil:
		r.count(from)
	default:
		r.forget(from.ID)
	}
}

// count counts a removal.
func (r *removals) count(group resource.TargetGroup) {
	r.mu.Lock()
	defer r.mu.Unlock()
	latest := r.tried[group.ID]
	if check := group.HealthCheck.String(); latest.check != check {
		latest = removal{check: check}
	}
	latest.times++
	if r.tried == nil {
		r.tried = map[string]removal{}
	}
	r.tried[group.ID] = latest
}

// irremovable returns the identities of the groups that still have a health check that was removed often enough.
func (r *removals) irremovable(groups []resource.TargetGroup) map[string]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.tried) == 0 {
		return nil // the usual case
	}
	found := map[string]bool{}
	for _, group := range groups {
		latest := r.tried[group.ID]
		if latest.times >= removalTries && group.HealthCheck != nil && latest.check == group.HealthCheck.String() {
			found[group.ID] = true
		}
	}
	return found
}

// forget resets the count of a group that has another health check, or was deleted.
func (r *removals) forget(group string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.tried, group)
}
