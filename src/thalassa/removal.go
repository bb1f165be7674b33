package thalassa

import (
	"fmt"
	"sync"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/inventory"
)

// reasonHealthCheckKept: the cloud does not remove a health check.
const reasonHealthCheckKept = "HealthCheckKept"

// removalTries is how often the removal of a target group's health check is written before it counts as impossible:
// twice, because the first time somebody may have put it back.
const removalTries = 2

// removals remembers the health checks that were removed from target groups, because the cloud may take null for "as it
// is" and would be told the same for ever. The zero value is ready to use.
type removals struct {
	mu    sync.Mutex
	tried map[string]removal // by identity of the target group
}

// removal is how often a health check was removed.
type removal struct {
	check string
	times int
}

// wrote remembers what an update did to a group's health check, which the cloud answered with success: a removal
// counts, and with another health check nothing is known of the former one any more.
func (r *removals) wrote(from, to inventory.TargetGroup) {
	switch {
	case healthCheckText(from.HealthCheck) == healthCheckText(to.HealthCheck):
	case to.HealthCheck == nil:
		r.note(from)
	default:
		r.forget(from.ID)
	}
}

// note counts a removal.
func (r *removals) note(group inventory.TargetGroup) {
	r.mu.Lock()
	defer r.mu.Unlock()
	latest := r.tried[group.ID]
	if check := healthCheckText(group.HealthCheck); latest.check != check {
		latest = removal{check: check}
	}
	latest.times++
	if r.tried == nil {
		r.tried = map[string]removal{}
	}
	r.tried[group.ID] = latest
}

// inVain says that the group's health check was removed often enough, and is there.
func (r *removals) inVain(group inventory.TargetGroup) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	latest := r.tried[group.ID]
	return latest.times >= removalTries && group.HealthCheck != nil &&
		latest.check == healthCheckText(group.HealthCheck)
}

// forget is for a group that has another health check, or is gone.
func (r *removals) forget(group string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.tried, group)
}

func (r *removals) none() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.tried) == 0
}

// kept says which health checks cannot be removed.
func (r *removals) kept(d desired, o observed) []cloud.Notice {
	if r.none() {
		return nil // which is so almost always
	}
	var notices []cloud.Notice
	for _, port := range d.Ports {
		group := o.group(portLabels(d.labels, port.Key), o.listener(port.Key))
		switch {
		case group == nil || !r.inVain(*group):
		case d.healthCheck(port).aim(memoOf(group.Annotations, d.free), port, group.HealthCheck) == nil:
			notices = append(notices, settingNotice(reasonHealthCheckKept, fmt.Sprintf(
				"The cloud accepted the removal of the health check of target group %s, but did not remove it: %s. "+
					"Nodes that fail it receive no traffic. Remove it in the cloud. If that is not possible, delete "+
					"the port's listener and this target group there: new ones are then created automatically.",
				group.Name, healthCheckText(group.HealthCheck))))
		}
	}
	return notices
}
