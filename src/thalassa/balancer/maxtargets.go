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
)

// nameMaxTargets is the annotation that limits how many nodes a load balancer sends to.
const nameMaxTargets = "max-targets"

// registerMaxTargets adds the annotation.
func (a *annotations) registerMaxTargets() {
	a.maxTargets = annotation.Register(a.registry, annotation.Definition{
		Name: nameMaxTargets, Topic: topicPorts, Since: "0.2.0", Example: "250", OneService: true,
		Effect: "The largest number of nodes that receive traffic, evenly from all zones. Each Service has other " +
			"nodes. 0 is no limit. It does not apply with externalTrafficPolicy: Local, where all nodes with a ready " +
			"pod receive traffic.",
		Without: "loadBalancer.maxTargets of the cloud-config",
	}, annotation.Int(0, cloudconfig.MaxTargetsLimit, "nodes"), 0)
}

// limitTargets sets the targets: the usable ones of all, or some of them if their number is limited. With the policy
// Local it is not: only nodes with a ready endpoint are targets then, and each of them has a share of the pods.
func (d *desired) limitTargets(r Request, all, usable cloud.Targets) {
	d.Targets, d.selected, d.machines = usable, all, usable.Identities
	limit, invalid := r.maxTargets()
	if limit == 0 || helpers.RequestsOnlyLocalTraffic(r.service) {
		return
	}
	observed, uid := d.observedTargets(r.observed, invalid), string(r.service.UID)
	d.Targets = usable.Subset(uid, limit, observed, invalid || r.observed.Settling)
	d.machines = d.Targets.Identities
	if d.Targets.Postponed || usable.DependOn(observed) {
		d.machines = usable.Subset(uid, limit, nil, false).Identities
	}
	if invalid { // no target of all ports is removed because of it: too many are no failure, too few may be one
		d.Targets.Postponed = false
	}
	d.selected = d.Targets
	if len(usable.Identities)+len(usable.Joining) < len(all.Machines()) {
		d.selected = all.Preferred(uid, limit, observed)
	}
	if len(usable.Identities) >= limit {
		d.selected.Unidentified = nil // other nodes have their places
	}
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

// observedTargets returns the machines of the target groups of the Service's ports, sorted: of any of them, or of all.
// Those of ports that the Service does not have any more are about to be deleted, and decide nothing.
func (d desired) observedTargets(o Observed, ofAll bool) []string {
	var machines []string
	groups := 0
	for _, port := range d.Ports {
		if group := o.group(portLabels(d.labels, port.Key), o.listener(port.Key)); group != nil {
			machines = append(machines, group.Machines...)
			groups++
		}
	}
	slices.Sort(machines)
	if !ofAll || groups < 2 {
		return slices.Compact(machines)
	}
	var common []string
	for i, machine := range machines {
		// It is in each group once, so that its last place is that many after its first one.
		if last := i + groups - 1; last < len(machines) && machines[last] == machine {
			common = append(common, machine)
		}
	}
	return common
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
