package thalassa

import (
	"fmt"
	"sync"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// reasonHealthCheckKept: the cloud does not remove a health check.
const reasonHealthCheckKept = "HealthCheckKept"

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

// failed reports whether the group still has a health check that was removed often enough.
func (r *removals) failed(group resource.TargetGroup) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	latest := r.tried[group.ID]
	return latest.times >= removalTries && group.HealthCheck != nil &&
		latest.check == group.HealthCheck.String()
}

// forget resets the count of a group that has another health check, or was deleted.
func (r *removals) forget(group string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.tried, group)
}

func (r *removals) empty() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.tried) == 0
}

// notices describes which health checks cannot be removed.
func (r *removals) notices(d desired, o observed) []cloud.Notice {
	if r.empty() {
		return nil // the usual case
	}
	var notices []cloud.Notice
	for _, port := range d.Ports {
		group := o.group(portLabels(d.labels, port.Key), o.listener(port.Key))
		switch {
		case group == nil || !r.failed(*group):
		case d.healthCheck(port).effectiveWith(newRecordUpdate(group.Annotations, d.adopted), port,
			group.HealthCheck) == nil:
			notices = append(notices, settingNotice(reasonHealthCheckKept, fmt.Sprintf(
				"The cloud accepted the removal of the health check of target group %s, but did not remove it: %s. "+
					"Nodes that fail it receive no traffic. Remove it in the cloud. If that is not possible, delete "+
					"the port's listener and this target group there: new ones are then created automatically.",
				group.Name, group.HealthCheck.String())))
		}
	}
	return notices
}
