package thalassa

import "github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"

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
func (e *executor) recordRemoval(from, to resource.TargetGroup) {
	switch check := from.HealthCheck.String(); {
	case check == to.HealthCheck.String():
	case to.HealthCheck != nil:
		e.removals.Remove(from.ID)
	default:
		latest, _ := e.removals.Get(from.ID)
		if latest.check != check {
			latest = removal{check: check}
		}
		latest.times++
		e.removals.Put(from.ID, latest)
	}
}

// irremovable returns the identities of the groups that still have a health check that was removed often enough.
func (e *executor) irremovable(groups []resource.TargetGroup) map[string]bool {
	found := map[string]bool{}
	for _, group := range groups {
		latest, _ := e.removals.Get(group.ID)
		if latest.times >= removalTries && group.HealthCheck != nil && latest.check == group.HealthCheck.String() {
			found[group.ID] = true
			e.removals.Put(group.ID, latest) // it is remembered as long as the group is compared
		}
	}
	return found
}
