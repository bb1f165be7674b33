package balancer

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// Compare returns the difference between the desired and the actual state of the Service. Of the selected targets,
// usable are those whose machines exist. With creates, the next write creates a load balancer, or adopts the one that
// Adopts names.
func (r Request) Compare(targets, usable cloud.Targets, references References) (found cloud.Comparison, creates bool) {
	d, notices := r.desire(targets, usable, references)
	o := r.observed
	found = cloud.Comparison{
		Machines: d.machines, Exists: !o.Empty(),
		LeftOut: anyLeftOut(d.selected, usable),
	}
	if d.limited {
		found.Usable = usable.Machines()
	}
	managed, notices := d.open(o, notices, &found)
	found.Postponed = d.postponed(o)
	found.LeftOut = found.LeftOut || d.missing != nil // the missing object may be created or detached in the cloud
	found.Notices = append(notices, d.irremovableNotices(o)...)
	if balancer := o.Balancer(); balancer != nil {
		d.compareWith(r.service, *balancer, o, managed, &found)
	} else {
		creates = d.compareWithNone(r.service, o, managed, &found)
	}
	found.Continues = d.continues(o, usable, found.Plan)
	return found, creates
}

// Await returns the comparison while a load balancer may have been created for the Service already: nothing is written
// before the cloud's lists must show it.
func Await(found cloud.Comparison, within time.Duration) cloud.Comparison {
	found.Exists, found.Plan = true, nil
	found.Wait = waitForLists(within,
		"a load balancer may have been created for this Service recently, by a creation "+
			"without an answer or by the previous leader; the cloud shows within a minute whether it exists")
	return found
}

// Adopts returns the identity of the load balancer that the Service asks to adopt; "" if it asks for none.
func (r Request) Adopts() string { return r.annotations.adopt.From(r.values).Value }

// open determines which ports are opened, and with which security group.
func (d *desired) open(o Observed, notices []cloud.Notice, found *cloud.Comparison) (*managedGroup, []cloud.Notice) {
	all := d.Ports
	d.blocked = blockedReasons(*d, o)
	d.Ports, found.Refused = d.openablePorts(o)
	managed, err := newManagedGroup(*d, o)
	if errors.Is(err, errPings) {
		notices = append(notices, settingNotice(reasonGroupFull, fmt.Sprintf(
			"The security group of the Service: %v. Name fewer networks in %ssecurity-group-icmp-allowed-sources; "+
				"the ports are not concerned.", err, label.AnnotationPrefix)))
	} else if err != nil {
		reason := reasonGroupFull
		if errors.Is(err, errRulePort) {
			reason = reasonUnsupported
		}
		notices = append(notices, settingNotice(reason, err.Error()))
		d.blocked, d.Ports = append(d.blocked, err.Error()), all
		d.Ports, found.Refused = d.openablePorts(o)
	}
	if !d.newNodeRules(o).fits() {
		notices = append(notices, settingNotice(reasonGroupFull, fmt.Sprintf(
			"Security group %s has no room for the rules of all node ports of this Service: nodes cannot be reached "+
				"on some of them. Open the range of node ports in it by one rule, and set %sopen-node-ports to false.",
			d.nodeGroup.Name, label.AnnotationPrefix)))
	}
	found.Refused = errors.Join(found.Refused, d.failed)
	return managed, notices
}

// compareWith completes a comparison for a Service that has a load balancer.
func (d desired) compareWith(service *corev1.Service, balancer resource.LoadBalancer, o Observed, managed *managedGroup,
	found *cloud.Comparison) {
	found.State, found.Status, found.Health = balancer.Status, d.statusOf(service, balancer), healthUnknown
	if balancer.Deleting() {
		found.Refused = nil
		found.Wait = waitForDeletion(balancer)
		return
	}
	found.Plan = d.plan(o, managed)
	found.Notices = append(append(found.Notices, o.Recognised.notices(balancer, d.labels)...),
		d.unmetNotices(service, balancer)...)
	if asked := d.annotations.adopt.From(d.values).Value; asked != "" && asked != balancer.ID {
		found.Notices = append(found.Notices, settingNotice(reasonImmutable, fmt.Sprintf(
			"Annotation %sadopt names %s, but this Service already has load balancer %s, which it keeps. To use the "+
				"other one, delete the Service and create it again.", label.AnnotationPrefix, asked, balancer.ID)))
	}
	if !serves(usesInternalAddresses(service, d.internal.Value, balancer), balancer) {
		found.Wait = waitFor(balancer)
	}
}

// waitForDeletion is the wait for a load balancer in whose place another one is needed.
func waitForDeletion(balancer resource.LoadBalancer) *cloud.Wait {
	return &cloud.Wait{
		Object: balancer.ID, Name: kindBalancer + " " + balancer.Name, Status: balancer.Status,
		Deleting: true, Slow: true,
		Message: fmt.Sprintf("load balancer %s is being deleted; a new one can be created only when it is deleted",
			balancer.Name),
	}
}

// compareWithNone completes a comparison for a Service that has no load balancer. It reports whether one is created.
func (d desired) compareWithNone(service *corev1.Service, o Observed, managed *managedGroup,
	found *cloud.Comparison) (creates bool) {
	adopts := d.annotations.adopt.From(d.values)
	if adopts.Invalid {
		d.missing = errors.Join(d.missing, fmt.Errorf("annotation %sadopt cannot be read", label.AnnotationPrefix))
	}
	if d.failed == nil && d.missing != nil {
		found.Refused = cloud.AlreadyReported(d.missing)
	}
	if d.failed != nil || d.missing != nil || len(d.Ports) == 0 {
		found.Refused = cmp.Or(found.Refused, noPort(service, d))
		return false
	}
	if uncertain := o.Recognised.refusal(d.labels); uncertain != nil && adopts.Value == "" {
		found.Notices = append(found.Notices, settingNotice(o.Recognised.reason(),
			sentence(uncertain.Error())))
		found.Refused, found.Exists, found.Plan = cloud.AlreadyReported(uncertain), true, d.planMachines(o)
		return false
	}
	if adopts.Value == "" {
		found.Plan = d.plan(o, managed)
	}
	return true
}

// noPort returns why a Service without any open port has no load balancer. Notices contain the reason for each port.
func noPort(service *corev1.Service, d desired) error {
	err := cloud.AlreadyReported(errors.New("no port of the Service can be opened"))
	if len(d.Unserved) == len(service.Spec.Ports) {
		return cloud.UntilChanged(err) // which depends on its node ports and protocols
	}
	return err
}

// waitForLists returns the wait until the cloud's lists must show a created object.
func waitForLists(within time.Duration, message string) *cloud.Wait {
	return &cloud.Wait{Name: "the outcome of a creation", Status: "unknown", Within: within, Message: message}
}
