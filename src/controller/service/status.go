package service

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/cloud-provider/service/helpers"
	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/patch"
)

// Types of the conditions on Services, besides the topics of notices.
const (
	// conditionProvisioned: the cloud says that the load balancer is ready, and the status has its addresses.
	conditionProvisioned = "LoadBalancerProvisioned"
	// conditionSynced: the cloud has what the Service asks for.
	conditionSynced = "LoadBalancerSynced"
	// conditionDrifted: the cloud has something else than the Service should have, and not because the Service changed.
	conditionDrifted = "LoadBalancerDrifted"
)

// Reasons in conditions that are no reasons of events.
const (
	reasonProvisioned = "Provisioned"
	reasonWaiting     = "Waiting"
	reasonTrouble     = "Failed"
	reasonAsWanted    = "AsWanted"
)

// Bounds of the messages of conditions, in bytes; the API server takes 32768. Those of notices are whole if at all
// possible: they are how the next process knows what the owner was told.
const (
	maxMessage = 1024
	maxNotices = 30 << 10
)

// writer writes finalizers and status of Services. It reads nothing: what it compares with is the Service it is given,
// or what the API server answered to the latest write, if that is newer.
type writer struct {
	services typedcorev1.ServicesGetter
}

// written is a Service after a write of ours.
type written struct {
	uid        types.UID
	version    string
	finalizers []string
	status     corev1.ServiceStatus
}

// newest is the Service with finalizers and status as they are after the latest write of ours, if it was read before
// that.
func (m *memory) newest(service *corev1.Service) *corev1.Service {
	if service == nil || m.written == nil {
		return service
	}
	older, err := resourceversion.CompareResourceVersion(service.ResourceVersion, m.written.version)
	if err != nil || older >= 0 || service.UID != m.written.uid {
		m.written = nil
		return service
	}
	newest := *service // nothing that is shared is changed
	newest.ResourceVersion, newest.Finalizers, newest.Status = m.written.version, m.written.finalizers, m.written.status
	return &newest
}

// withFinalizer is a copy of a Service that is kept until nothing of it is left in the cloud.
func withFinalizer(service *corev1.Service) *corev1.Service {
	protected := service.DeepCopy()
	protected.Finalizers = append(protected.Finalizers, helpers.LoadBalancerCleanupFinalizer)
	return protected
}

// protect adds the finalizer that keeps a Service until nothing of it is left in the cloud. It fails when the Service
// is being deleted, or another one has its name now.
func (w writer) protect(ctx context.Context, m *memory, service *corev1.Service) error {
	if service = m.newest(service); helpers.HasLBFinalizer(service) {
		return nil
	}
	if err := w.patch(ctx, m, service, withFinalizer(service), ""); err != nil {
		return fmt.Errorf("adding the finalizer that keeps Service %s until its load balancer is removed: %w",
			klog.KObj(service), err)
	}
	return nil
}

// unprotect takes the finalizer back that protect added to a Service as it was then: its load balancer turned out to be
// made by others.
func (w writer) unprotect(ctx context.Context, m *memory, before *corev1.Service) error {
	if helpers.HasLBFinalizer(before) {
		return nil // it had it already, perhaps from them
	}
	if err := w.patch(ctx, m, withFinalizer(before), before, ""); err != nil {
		return fmt.Errorf("taking the finalizer from Service %s, whose load balancer others make: %w",
			klog.KObj(before), err)
	}
	return nil
}

// protectOnce returns what protects a Service, and writes at most once: the Service as it was read does not show that
// it was.
func (w writer) protectOnce(m *memory, service *corev1.Service) func(context.Context) error {
	done := false
	return func(ctx context.Context) error {
		if done {
			return nil
		}
		err := w.protect(ctx, m, service)
		done = err == nil
		return err
	}
}

// release takes addresses, conditions and finalizer from a Service that has nothing in the cloud any more. It fails
// with a conflict when the Service has changed since it was read: it may ask for a load balancer again, and then needs
// the finalizer.
func (w writer) release(ctx context.Context, m *memory, service *corev1.Service) error {
	service = m.newest(service)
	wanted := service.DeepCopy()
	wanted.Finalizers = slices.DeleteFunc(wanted.Finalizers, func(one string) bool {
		return one == helpers.LoadBalancerCleanupFinalizer
	})
	wanted.Status.LoadBalancer = corev1.LoadBalancerStatus{}
	wanted.Status.Conditions = slices.DeleteFunc(wanted.Status.Conditions, func(one metav1.Condition) bool {
		return slices.Contains(conditionTypes(), one.Type)
	})
	if err := w.patch(ctx, m, service, wanted, service.ResourceVersion); err != nil {
		return fmt.Errorf("releasing Service %s, which has nothing in the cloud any more: %w", klog.KObj(service), err)
	}
	return nil
}

// publish makes conditions, and addresses unless they are nil, those of the Service, if they are not yet.
func (w writer) publish(ctx context.Context, m *memory, service *corev1.Service, addresses *corev1.LoadBalancerStatus,
	conditions []metav1.Condition) error {
	service = m.newest(service)
	wanted := service.DeepCopy()
	if addresses != nil {
		wanted.Status.LoadBalancer = *addresses
	}
	for _, condition := range conditions {
		meta.SetStatusCondition(&wanted.Status.Conditions, condition)
	}
	if err := w.patch(ctx, m, service, wanted, ""); err != nil {
		return fmt.Errorf("writing the status of Service %s: %w", klog.KObj(service), err)
	}
	return nil
}

// patch writes the difference between two states of a Service, if there is one, but not to another Service of that
// name. With a version it also fails, with a conflict, when the Service has another version by now; "" stands for any.
func (w writer) patch(ctx context.Context, m *memory, from, to *corev1.Service, version string) error {
	if slices.Equal(from.Finalizers, to.Finalizers) && equality.Semantic.DeepEqual(from.Status, to.Status) {
		return nil
	}
	before, err := json.Marshal(corev1.Service{ObjectMeta: metav1.ObjectMeta{Finalizers: from.Finalizers},
		Status: from.Status})
	if err != nil {
		return err
	}
	// The UID and the version are conditions.
	after, err := json.Marshal(corev1.Service{ObjectMeta: metav1.ObjectMeta{UID: from.UID, ResourceVersion: version,
		Finalizers: to.Finalizers}, Status: to.Status})
	if err != nil {
		return err
	}
	difference, err := strategicpatch.CreateTwoWayMergePatch(before, after, corev1.Service{})
	if err != nil {
		return err
	}
	answer, err := patch.Strategic(ctx, w.services.Services(from.Namespace).Patch, from.Name,
		json.RawMessage(difference), "status")
	if err != nil {
		return err
	}
	m.written = &written{uid: answer.UID, version: answer.ResourceVersion, finalizers: answer.Finalizers,
		status: answer.Status}
	return nil
}

// conditionTypes are those of all conditions that are ours.
func conditionTypes() []string {
	return []string{conditionProvisioned, conditionSynced, conditionDrifted, string(cloud.Settings),
		string(cloud.Nodes)}
}

// hasConditions says whether a Service has conditions that are ours.
func hasConditions(service *corev1.Service) bool {
	return slices.ContainsFunc(service.Status.Conditions, func(one metav1.Condition) bool {
		return slices.Contains(conditionTypes(), one.Type)
	})
}

// state is how a look at a Service ended.
type state struct {
	err error // nil: nothing differs, and it serves
	// quiet says that nobody has to do anything about the error.
	quiet bool
	// serving says that the Service has had addresses, whatever the error is about.
	serving bool
	// partly says that it serves, and that the error is about the rest.
	partly bool
}

// stateOf judges an error.
func (c *Controller) stateOf(service *corev1.Service, err error) state {
	s := state{err: err, serving: len(service.Status.LoadBalancer.Ingress) > 0}
	if err != nil {
		s.quiet, _ = c.provider.ClassifyError(err)
	}
	return s
}

// conditions are what is known of a Service's load balancer. Nothing in them changes while nothing happens.
func (m *memory) conditions(service *corev1.Service, s state) []metav1.Condition {
	var all []metav1.Condition
	if _, shown := find(service.Status.Conditions, conditionProvisioned); shown || !lasts(s.err) {
		all = m.provisioned(s)
	}
	if m.noticed { // otherwise nobody has looked
		all = append(all, m.conditionOf(cloud.Settings), m.conditionOf(cloud.Nodes))
	}
	_, drifted := find(service.Status.Conditions, conditionDrifted)
	switch {
	case m.drift != "":
		all = append(all, metav1.Condition{Type: conditionDrifted, Status: metav1.ConditionTrue, Reason: reasonDrifted,
			Message: short(m.drift)})
	case drifted: // nobody needs to read that it never did
		all = append(all, metav1.Condition{Type: conditionDrifted, Status: metav1.ConditionFalse,
			Reason: reasonAsWanted})
	}
	for i := range all {
		all[i].ObservedGeneration = service.Generation
	}
	return all
}

// provisioned are the conditions about the load balancer itself. That something fails says nothing about one that
// serves.
func (m *memory) provisioned(s state) []metav1.Condition {
	serves := metav1.Condition{Type: conditionProvisioned, Status: metav1.ConditionTrue, Reason: reasonProvisioned,
		Message: short(m.health)}
	synced := metav1.Condition{Type: conditionSynced, Status: metav1.ConditionTrue, Reason: reasonAsWanted}
	switch {
	case s.err == nil:
		return []metav1.Condition{serves, synced}
	case errors.Is(s.err, errReported):
		return nil
	case isWait(s.err) && s.serving && m.message == "": // more is to be written
		return nil
	case isWait(s.err):
		serves.Status, serves.Reason, serves.Message = metav1.ConditionFalse, reasonWaiting,
			short(cmp.Or(m.message, s.err.Error()))
		return []metav1.Condition{serves}
	case s.serving && s.quiet:
		return nil
	}
	synced.Status, synced.Reason, synced.Message = metav1.ConditionFalse, reasonTrouble, short(s.err.Error())
	switch {
	case s.partly:
		return []metav1.Condition{serves, synced}
	case s.serving:
		return []metav1.Condition{synced}
	}
	serves.Status, serves.Reason, serves.Message = metav1.ConditionFalse, reasonTrouble, synced.Message
	return []metav1.Condition{serves, synced}
}

// conditionOf is what the notices of a topic say.
func (m *memory) conditionOf(topic cloud.Topic) metav1.Condition {
	var reason string
	var messages []string
	for _, notice := range m.notices {
		if notice.Topic == topic {
			reason, messages = notice.Reason, append(messages, notice.Message)
		}
	}
	if len(messages) == 0 {
		return metav1.Condition{Type: string(topic), Status: metav1.ConditionTrue, Reason: reasonAsWanted}
	}
	return metav1.Condition{Type: string(topic), Status: metav1.ConditionFalse, Reason: reason,
		Message: cut(strings.Join(messages, " "), maxNotices)}
}

func find(conditions []metav1.Condition, kind string) (metav1.Condition, bool) {
	condition := meta.FindStatusCondition(conditions, kind)
	if condition == nil {
		return metav1.Condition{}, false
	}
	return *condition, true
}

// short cuts a message to what a condition has room for.
func short(message string) string { return cut(message, maxMessage) }

// cut shortens a text to so many bytes, and shows that it did.
func cut(text string, limit int) string {
	const more = " …"
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit-len(more)], "") + more
}
