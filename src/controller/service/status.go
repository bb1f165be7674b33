package service

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/cloud-provider/service/helpers"
	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/patch"
	"github.com/thalassa-cloud/thalassa-ccm/src/event"
)

// Types of the conditions on Services, besides the topics of notices.
const (
	// conditionManaged: this controller manages the Service. It exists as long as the finalizer of this controller, and
	// records what the next process has to know about the Service.
	conditionManaged = "LoadBalancerManaged"
	// conditionProvisioned: the cloud reports that the load balancer is ready, and the status contains its addresses.
	conditionProvisioned = "LoadBalancerProvisioned"
	// conditionSynced: the cloud contains what the Service requests.
	conditionSynced = "LoadBalancerSynced"
	// conditionDrifted: the actual state differs from the desired state, and the Service did not cause it.
	conditionDrifted = "LoadBalancerDrifted"
)

// Reasons that only conditions have.
const (
	reasonProvisioned     = "Provisioned"
	reasonWaiting         = "Waiting"
	reasonConditionFailed = "Failed"
	reasonAsWanted        = "AsWanted"
	reasonManaged         = "Managed"
)

// Bounds of the messages of conditions, in bytes; the API server takes 32768. Messages of
// notices are as complete as possible: from them, the next process finds out which events were recorded.
const (
	maxMessage = 1024
	maxNotices = 30 << 10
)

// withFinalizer returns a copy of a Service with the finalizer, and with the condition that shows that the finalizer is
// this controller's.
func withFinalizer(service *corev1.Service) *corev1.Service {
	changed := service.DeepCopy()
	changed.Finalizers = append(changed.Finalizers, helpers.LoadBalancerCleanupFinalizer)
	recordManaged(changed, nil)
	return changed
}

// addFinalizer adds the finalizer, with which the Service exists until the cloud has no objects of it any more, unless
// the latest version has it. It returns an error if the Service is being deleted, or if another Service has its name
// now.
func (c *Controller) addFinalizer(ctx context.Context, s *serviceState, service *corev1.Service) error {
	if service = s.latest(service); helpers.HasLBFinalizer(service) {
		return nil
	}
	if err := c.patch(ctx, s, service, withFinalizer(service), ""); err != nil {
		return fmt.Errorf("adding the finalizer that keeps Service %s until its load balancer is removed: %w",
			klog.KObj(service), err)
	}
	return nil
}

// removeFinalizer removes the finalizer that addFinalizer added to the given version of a Service, because another
// program implements its load balancer.
func (c *Controller) removeFinalizer(ctx context.Context, s *serviceState, before *corev1.Service) error {
	if helpers.HasLBFinalizer(before) {
		return nil // it had the finalizer before, perhaps from that program
	}
	if err := c.patch(ctx, s, withFinalizer(before), before, ""); err != nil {
		return fmt.Errorf("taking the finalizer from Service %s, whose load balancer others make: %w",
			klog.KObj(before), err)
	}
	return nil
}

// recordClaim records that a Service is this controller's, and that these addresses are. It returns the Service as
// written.
func (c *Controller) recordClaim(ctx context.Context, s *serviceState, service *corev1.Service,
	own corev1.LoadBalancerStatus) (*corev1.Service, error) {
	desired := service.DeepCopy()
	recordManaged(desired, &own)
	if err := c.patch(ctx, s, service, desired, service.ResourceVersion); err != nil {
		return nil, fmt.Errorf("recording that Service %s has a load balancer to remove: %w", klog.KObj(service), err)
	}
	return s.latest(desired), nil
}

// release removes the conditions, the addresses and the finalizer from a Service that has no objects in the cloud any
// more. If the Service may be another controller's, addresses and finalizer stay unless they are this controller's. It
// returns a conflict if the Service has changed since it was read: it may need a load balancer again, and then needs
// the finalizer.
func (c *Controller) release(ctx context.Context, s *serviceState, service *corev1.Service, phase phase) error {
	service = s.latest(service)
	desired := service.DeepCopy()
	desired.Status.Conditions = slices.DeleteFunc(desired.Status.Conditions, func(one metav1.Condition) bool {
		return slices.Contains(conditionTypes(), one.Type)
	})
	if phase == phaseDeleting || hasOwnFinalizer(service) {
		desired.Status.LoadBalancer = corev1.LoadBalancerStatus{}
		desired.Finalizers = slices.DeleteFunc(desired.Finalizers, func(one string) bool {
			return one == helpers.LoadBalancerCleanupFinalizer
		})
	}
	if err := c.patch(ctx, s, service, desired, service.ResourceVersion); err != nil {
		return fmt.Errorf("releasing Service %s, which has nothing in the cloud any more: %w", klog.KObj(service), err)
	}
	return nil
}

// writeStatus writes the conditions, and the addresses unless they are nil, if they differ from the status.
func (c *Controller) writeStatus(ctx context.Context, s *serviceState, service *corev1.Service,
	addresses *corev1.LoadBalancerStatus, conditions []metav1.Condition) error {
	service = s.latest(service)
	desired := service.DeepCopy()
	if addresses != nil {
		desired.Status.LoadBalancer = *addresses
	}
	for _, condition := range conditions {
		meta.SetStatusCondition(&desired.Status.Conditions, condition)
	}
	if helpers.HasLBFinalizer(desired) {
		recordManaged(desired, addresses)
	}
	if err := c.patch(ctx, s, service, desired, ""); err != nil {
		return fmt.Errorf("writing the status of Service %s: %w", klog.KObj(service), err)
	}
	if addresses != nil {
		s.published = *addresses
	}
	return nil
}

// patch writes the difference between two states of a Service, if there is one. Its callers read nothing: they compare
// with the Service that they are given, or with the result of the latest write if that is newer. It does not write to
// another Service with the same name. With a version, it returns a conflict if the Service has another version now; ""
// permits any version.
func (c *Controller) patch(ctx context.Context, s *serviceState, from, to *corev1.Service, version string) error {
	if slices.Equal(from.Finalizers, to.Finalizers) && equality.Semantic.DeepEqual(from.Status, to.Status) {
		return nil
	}
	before, err := json.Marshal(corev1.Service{ObjectMeta: metav1.ObjectMeta{Finalizers: from.Finalizers},
		Status: from.Status})
	if err != nil {
		return err
	}
	// The API server refuses the patch if the UID or the version differs.
	after, err := json.Marshal(corev1.Service{ObjectMeta: metav1.ObjectMeta{UID: from.UID, ResourceVersion: version,
		Finalizers: to.Finalizers}, Status: to.Status})
	if err != nil {
		return err
	}
	difference, err := strategicpatch.CreateTwoWayMergePatch(before, after, corev1.Service{})
	if err != nil {
		return err
	}
	updated, err := patch.Strategic(ctx, c.client.CoreV1().Services(from.Namespace).Patch, from.Name,
		json.RawMessage(difference), "status")
	if err != nil {
		return err
	}
	s.written = updated
	return nil
}

// conditionTypes returns the types of the conditions that this controller writes.
func conditionTypes() []string {
	return []string{conditionManaged, conditionProvisioned, conditionSynced, conditionDrifted, string(cloud.Settings),
		string(cloud.Nodes)}
}

// hasConditions reports whether a Service has conditions of this controller.
func hasConditions(service *corev1.Service) bool {
	return slices.ContainsFunc(service.Status.Conditions, func(one metav1.Condition) bool {
		return slices.Contains(conditionTypes(), one.Type)
	})
}

// outcome is the result of a reconciliation.
type outcome struct {
	err error // nil: nothing differs, and the load balancer is ready
	// transient means that the error ends by itself and requires no action.
	transient bool
	// serving means that the Service has addresses, whatever the error is about.
	serving bool
	// partlyInSync means that the load balancer is ready, and that the error is about the rest.
	partlyInSync bool
}

// writeOutcome writes the status of a Service after a reconciliation with this error. The addresses are nil unless the
// load balancer is ready.
func (c *Controller) writeOutcome(ctx context.Context, s *serviceState, service *corev1.Service,
	addresses *corev1.LoadBalancerStatus, err error) error {
	o := outcome{err: err, serving: len(service.Status.LoadBalancer.Ingress) > 0}
	if err != nil {
		o.transient, _ = c.provider.ClassifyError(err)
		o.partlyInSync = addresses != nil
	}
	return c.writeStatus(ctx, s, service, addresses, s.conditions(service, o))
}

// conditions returns the conditions of a Service. They do not change unless the state changes.
func (s *serviceState) conditions(service *corev1.Service, o outcome) []metav1.Condition {
	var all []metav1.Condition
	_, shown := findCondition(service.Status.Conditions, conditionProvisioned)
	if shown || !cloud.ReasonOf(o.err).Lasts() {
		all = s.provisionedConditions(o)
	}
	if s.service == service { // otherwise this version was not compared, and its notices are not known
		all = append(all, s.noticeCondition(cloud.Settings), s.noticeCondition(cloud.Nodes))
	}
	_, drifted := findCondition(service.Status.Conditions, conditionDrifted)
	switch {
	case s.drift.summary != "":
		all = append(all, condition(conditionDrifted, metav1.ConditionTrue, reasonDrifted, s.drift.summary))
	case drifted: // a Service without drift does not need the condition
		all = append(all, condition(conditionDrifted, metav1.ConditionFalse, reasonAsWanted, ""))
	}
	for i := range all {
		all[i].ObservedGeneration = service.Generation
	}
	return all
}

// provisionedConditions returns the conditions about the load balancer itself. A failed reconciliation does not mean
// that a ready load balancer has stopped.
func (s *serviceState) provisionedConditions(o outcome) []metav1.Condition {
	serves := condition(conditionProvisioned, metav1.ConditionTrue, reasonProvisioned, s.latestSeen().health)
	waits := cloud.ReasonOf(o.err).Waits()
	switch {
	case o.err == nil:
		return []metav1.Condition{serves, condition(conditionSynced, metav1.ConditionTrue, reasonAsWanted, "")}
	case errors.Is(o.err, errDriftReported):
		return nil
	case waits && o.serving && s.wait.message == "": // more writes follow
		return nil
	case waits:
		return []metav1.Condition{condition(conditionProvisioned, metav1.ConditionFalse, reasonWaiting,
			cmp.Or(s.wait.message, o.err.Error()))}
	case o.serving && o.transient:
		return nil
	}
	failed := condition(conditionSynced, metav1.ConditionFalse, reasonConditionFailed, o.err.Error())
	switch {
	case o.partlyInSync:
		return []metav1.Condition{serves, failed}
	case o.serving:
		return []metav1.Condition{failed}
	}
	return []metav1.Condition{condition(conditionProvisioned, metav1.ConditionFalse, reasonConditionFailed,
		o.err.Error()), failed}
}

// noticeCondition returns the condition with the notices of a topic.
func (s *serviceState) noticeCondition(topic cloud.Topic) metav1.Condition {
	var reason string
	var messages []string
	for _, notice := range s.notices {
		if notice.Topic == topic {
			reason, messages = notice.Reason, append(messages, notice.Message)
		}
	}
	if len(messages) == 0 {
		return condition(string(topic), metav1.ConditionTrue, reasonAsWanted, "")
	}
	return metav1.Condition{Type: string(topic), Status: metav1.ConditionFalse, Reason: reason,
		Message: event.Shortened(event.Sentences(messages...), maxNotices)}
}

// condition returns a condition with at most the beginning of a message.
func condition(kind string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: event.Shortened(message, maxMessage)}
}

// findCondition returns the condition of a type, and whether there is one.
func findCondition(conditions []metav1.Condition, kind string) (metav1.Condition, bool) {
	condition := meta.FindStatusCondition(conditions, kind)
	if condition == nil {
		return metav1.Condition{}, false
	}
	return *condition, true
}
