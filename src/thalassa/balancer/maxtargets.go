package balancer

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/service/helpers"

	"github.com/thalassa-cloud/thalassa-ccm/src/annotation"
	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/cloudconfig"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// nameMaxTargets is the annotation that limits how many nodes a load balancer sends to.
const nameMaxTargets = "max-targets"

// registerMaxTargets adds the annotation.
func (a *annotations) registerMaxTargets() {
	a.maxTargets = annotation.Register(a.registry, annotation.Definition{
		Name: nameMaxTargets, Topic: topicPorts, Since: "0.1.0", Example: "250", OneService: true,
		Effect: "The largest number of nodes that receive traffic, evenly from all zones. Each Service has other " +
			"nodes. 0 is no limit. It does not apply with externalTrafficPolicy: Local, where all nodes with a ready " +
			"pod receive traffic.",
		Without: "loadBalancer.maxTargets of the cloud-config",
	}, annotation.Int(0, cloudconfig.MaxTargetsLimit, "nodes"), 0)
}

// limitTargets sets the targets: the usable ones of all, or some of them if their number is limited. With the policy
// Local it is not: only nodes with a ready endpoint are targets then, and each of them has a share of the pods.
//
// Each target group approaches them on its own: the writes of a plan may be done for some groups only.
func (d *desired) limitTargets(r Request, all, usable cloud.Targets) {
	d.Targets, d.selected, d.machines = usable, all, usable.Identities
	if d.limited = r.LimitsTargets(); !d.limited {
		return
	}
	limit, invalid := r.maxTargets()
	uid := string(r.service.UID)
	d.Targets = usable.Subset(uid, limit, nil, nil)
	d.machines, d.selected = d.Targets.Identities, d.Targets
	groups := d.groupsOfPorts(r.observed)
	different := usable.DependOn(d.machines) || slices.ContainsFunc(groups, func(group *resource.TargetGroup) bool {
		write := r.observed.Writes[group.ID]
		return !slices.Equal(group.Machines, d.machines) ||
			write.Recent && !slices.Equal(group.Machines, write.Machines)
	})
	if different {
		d.targetsOf = r.nextTargets(groups, usable, limit, invalid)
	}
	if whole, missing := usable.IfAllExisted(); different || missing {
		d.selected = whole.Subset(uid, limit, machinesOf(groups), nil)
	}
	if len(usable.Identities) >= limit {
		d.selected.Unidentified = nil // other nodes have their places
	}
}

// LimitsTargets reports whether the number of targets is limited.
func (r Request) LimitsTargets() bool {
	limit, _ := r.maxTargets()
	return limit > 0 && !helpers.RequestsOnlyLocalTraffic(r.service)
}

// WithWrites returns the request, given the latest writes of the targets of the Service's target groups, by the
// identities of these. Only requests that limit the targets need them.
func (r Request) WithWrites(writes map[string]TargetWrite) Request {
	r.observed.Writes = writes
	return r
}

// nextTargets returns the targets that target groups get by the next write, by the identities of the groups.
func (r Request) nextTargets(groups []*resource.TargetGroup, usable cloud.Targets, limit int,
	invalid bool) map[string]cloud.Targets {
	all := map[string]cloud.Targets{}
	for _, group := range groups {
		var held []string
		write := r.observed.Writes[group.ID]
		if write.Recent {
			held = write.Machines
		}
		if invalid { // no target is removed because of it: too many are no failure, too few may be one
			held = group.Machines
		}
		next := usable.AcceptedSince(write.Accepted).Subset(string(r.service.UID), limit, group.Machines, held)
		next.Postponed = next.Postponed && !invalid
		all[group.ID] = next
	}
	return all
}

// targets returns the targets that a target group gets by the next write.
func (d desired) targets(group resource.TargetGroup) cloud.Targets {
	if targets, limited := d.targetsOf[group.ID]; limited {
		return targets
	}
	return d.Targets
}

// postponed reports whether a target group of the ports does not get all of its targets by the next write.
func (d desired) postponed(o Observed) bool {
	return len(d.targetsOf) > 0 && slices.ContainsFunc(d.groupsOfPorts(o), func(group *resource.TargetGroup) bool {
		return d.targetsOf[group.ID].Postponed
	})
}

// continues reports whether a plan changes only targets of target groups that have those that were last written. The
// cloud removes machines that are deleted.
func (d desired) continues(o Observed, usable cloud.Targets, plan cloud.Plan) bool {
	return d.limited && len(plan) > 0 && !slices.ContainsFunc(plan, func(operation cloud.Operation) bool {
		write, is := operation.Object.(SetMachines)
		written := o.Writes[write.TargetGroup.ID].Machines
		if !is || written == nil {
			return true
		}
		present := write.TargetGroup.Machines
		added, removed := cloud.Without(present, written), cloud.Without(written, present)
		return len(added) > 0 || len(cloud.Without(removed, usable.Over(written))) < len(removed)
	})
}

// maxTargets returns the largest number of targets; 0 if there is no limit. If the annotation is invalid, that of the
// cluster applies.
func (r Request) maxTargets() (limit int, invalid bool) {
	setting := r.annotations.maxTargets.From(r.values)
	if setting.Given && !setting.Invalid {
		return setting.Value, false
	}
	return r.config.maxTargets, setting.Invalid
}

// groupsOfPorts returns the target groups of the Service's ports. Those of ports that the Service does not have any
// more are about to be deleted, and decide nothing.
func (d desired) groupsOfPorts(o Observed) []*resource.TargetGroup {
	var groups []*resource.TargetGroup
	for _, port := range d.Ports {
		if group := o.group(portLabels(d.labels, port.Key), o.listener(port.Key)); group != nil {
			groups = append(groups, group)
		}
	}
	return groups
}

// machinesOf returns the machines of target groups, sorted.
func machinesOf(groups []*resource.TargetGroup) []string {
	var machines []string
	for i, group := range groups {
		if i == 0 || !slices.Equal(group.Machines, groups[i-1].Machines) {
			machines = append(machines, group.Machines...)
		}
	}
	slices.Sort(machines)
	return slices.Compact(machines)
}

// maxTargetsNotices describes that the number of targets is not limited although the Service asks for it.
func (d desired) maxTargetsNotices(service *corev1.Service) []cloud.Notice {
	setting := d.annotations.maxTargets.From(d.values)
	if !setting.Given || setting.Value == 0 || !helpers.RequestsOnlyLocalTraffic(service) {
		return nil
	}
	return []cloud.Notice{settingNotice(reasonUnsupported, fmt.Sprintf(
		"Annotation %s%s has no effect while spec.externalTrafficPolicy is Local: all nodes with a ready endpoint "+
			"receive traffic. Remove the annotation, or set the policy to Cluster.",
		label.AnnotationPrefix, nameMaxTargets))}
}
