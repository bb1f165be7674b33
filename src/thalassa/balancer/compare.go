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

// Memory is what a process knows about a Service in addition to what it reads: what it has written.
type Memory struct {
	// Expecting is how long objects of the Service may still exist that lists do not contain; 0 if there are none.
	Expecting time.Duration
	// Irremovable are the identities of target groups whose health check the cloud does not remove.
	Irremovable map[string]bool
}

// Input is what a comparison depends on, apart from the Service and its objects in the cloud.
type Input struct {
	Candidates Candidates // for its targets
	References References
	Adopted    Lookup[resource.LoadBalancer] // the load balancer that Adopts names
	Memory     Memory
	// Settled means that nothing has changed for some time, so that targets beyond a limit leave.
	Settled bool
}

// Compare returns the difference between the desired and the actual state of the Service.
func (r Request) Compare(in Input) cloud.Comparison {
	found, creates := r.compare(in)
	switch {
	case !creates:
	case in.Memory.Expecting > 0:
		return await(found, in.Memory.Expecting)
	case r.Adopts() == "":
	case in.Adopted.Err != nil:
		found.Refused = fmt.Errorf("looking for the load balancer to adopt: %w", in.Adopted.Err)
	default:
		if found.Plan, found.Refused = r.Adopt(in.Adopted.Object, in.Adopted.Found); found.Refused == nil {
			found.Exists = true
		}
	}
	return found
}

// compare is Compare for what is known. With creates, the next write creates a load balancer, or adopts the one that
// Adopts names.
func (r Request) compare(in Input) (found cloud.Comparison, creates bool) {
	d, notices := r.desire(in)
	o := r.observed
	out := d.leavesOut()
	found = cloud.Comparison{
		Exists:  !o.Empty(),
		Targets: cloud.Choice{Machines: d.machines, LeftOut: len(out.Missing)+len(out.Unknown) > 0},
	}
	if d.limit > 0 {
		found.Targets.Usable = in.Candidates.decisive
	}
	managed, notices := d.open(o, notices, &found)
	if d.missing != nil { // the missing object may be created or detached in the cloud
		found.Targets.LeftOut = true
	}
	found.Notices = append(notices, d.irremovableNotices(o)...)
	if balancer := o.Balancer(); balancer != nil {
		d.compareWith(r.service, *balancer, o, managed, &found)
	} else {
		creates = d.compareWithNone(r.service, o, managed, &found)
	}
	found.Targets.Excess = d.exceeds(o, found.Plan)
	return found, creates
}

// await returns the comparison while a load balancer may have been created for the Service already: nothing is written
// before the cloud's lists must show it.
func await(found cloud.Comparison, within time.Duration) cloud.Comparison {
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
		notices = append(notices, settingNotice(reasonGroupFull, textTooManyPings, err, label.AnnotationPrefix))
	} else if err != nil {
		reason := reasonGroupFull
		if errors.Is(err, errRulePort) {
			reason = reasonUnsupported
		}
		notices = append(notices, settingNotice(reason, "%s", err.Error()))
		d.blocked, d.Ports = append(d.blocked, err.Error()), all
		d.Ports, found.Refused = d.openablePorts(o)
	}
	found.Refused = errors.Join(found.Refused, d.failed)
	return managed, notices
}

// compareWith completes a comparison for a Service that has a load balancer.
func (d desired) compareWith(service *corev1.Service, balancer resource.LoadBalancer, o Observed, managed *managedGroup,
	found *cloud.Comparison) {
	found.Balancer = cloud.Actual{State: balancer.Status, Status: d.statusOf(service, balancer), Health: healthUnknown}
	if balancer.Deleting() {
		found.Refused = nil
		found.Wait = waitFor(balancer)
		return
	}
	found.Plan = d.plan(o, managed)
	found.Notices = append(append(found.Notices, o.Recognised.notices(balancer, d.labels)...),
		d.unmetNotices(service, balancer)...)
	if asked := d.annotations.adopt.From(d.values).Value; asked != "" && asked != balancer.ID {
		found.Notices = append(found.Notices, settingNotice(reasonImmutable, textAdoptsAnother,
			label.AnnotationPrefix, asked, balancer.ID))
	}
	if len(published(service, d.internal.Value, balancer)) == 0 {
		found.Wait = waitFor(balancer)
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
		found.Refused = cloud.Reason{Err: d.missing, Reported: true}
	}
	if d.failed != nil || d.missing != nil || len(d.Ports) == 0 {
		found.Refused = cmp.Or(found.Refused, noPort(service, d))
		return false
	}
	if uncertain := o.Recognised.refusal(d.labels); uncertain != nil && adopts.Value == "" {
		found.Notices = append(found.Notices, settingNotice(o.Recognised.reason(), "%s", sentence(uncertain.Error())))
		found.Refused, found.Exists = cloud.Reason{Err: uncertain, Reported: true}, true
		found.Plan = d.planMachines(o)
		return false
	}
	if adopts.Value == "" {
		found.Plan = d.plan(o, managed)
	}
	return true
}

// noPort returns why a Service without any open port has no load balancer. Notices contain the reason for each port.
func noPort(service *corev1.Service, d desired) error {
	reason := cloud.Reason{Err: errors.New("no port of the Service can be opened"), Reported: true}
	if len(d.Unserved) == len(service.Spec.Ports) {
		reason.Until = cloud.ServiceChanges // they depend on its node ports and protocols
	}
	return reason
}

// waitForLists returns the wait until the cloud's lists must show a created object.
func waitForLists(within time.Duration, message string) *cloud.Wait {
	return &cloud.Wait{Name: "the outcome of a creation", Status: "unknown", Within: within, Message: message}
}
