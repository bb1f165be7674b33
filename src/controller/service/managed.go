package service

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cloud-provider/service/helpers"
	"k8s.io/utils/ptr"

	"github.com/thalassa-cloud/thalassa-ccm/src/event"
)

// recordManaged records in the condition of a managed Service the class with which it is managed, and the addresses of
// its load balancer. If addresses is nil, they are not known now: the recorded ones stay, or are those in the status.
func recordManaged(service *corev1.Service, addresses *corev1.LoadBalancerStatus) {
	if addresses == nil && hasRecordedClass(service) {
		return
	}
	var values []string
	for _, ingress := range ptr.Deref(addresses, service.Status.LoadBalancer).Ingress {
		for _, value := range []string{ingress.IP, ingress.Hostname} {
			if value != "" {
				values = append(values, strconv.Quote(value))
			}
		}
	}
	meta.SetStatusCondition(&service.Status.Conditions, metav1.Condition{
		Type: conditionManaged, Status: metav1.ConditionTrue, Reason: reasonManaged,
		Message: event.Shortened(recordedClass(service)+" Addresses: "+strings.Join(values, ", "),
			maxNotices),
		ObservedGeneration: service.Generation})
}

// recordedClass is the beginning of the message that recordManaged writes for the class of the Service.
func recordedClass(service *corev1.Service) string {
	return fmt.Sprintf("Class: %q.", ptr.Deref(service.Spec.LoadBalancerClass, ""))
}

// hasRecordedClass reports whether a Service still has the class with which it was managed.
func hasRecordedClass(service *corev1.Service) bool {
	managed, _ := findCondition(service.Status.Conditions, conditionManaged)
	return strings.HasPrefix(managed.Message, recordedClass(service))
}

// isManaged reports whether this controller has managed a Service, and has not released it.
func isManaged(service *corev1.Service) bool {
	_, managed := findCondition(service.Status.Conditions, conditionManaged)
	return managed
}

// hasOwnFinalizer reports whether the finalizer and the addresses of a Service are this controller's. All controllers
// use the same finalizer: it is another's if the status has an address that was not recorded.
func hasOwnFinalizer(service *corev1.Service) bool {
	managed, found := findCondition(service.Status.Conditions, conditionManaged)
	recorded := func(value string) bool {
		return value == "" || strings.Contains(managed.Message, strconv.Quote(value))
	}
	return found && !slices.ContainsFunc(service.Status.LoadBalancer.Ingress,
		func(one corev1.LoadBalancerIngress) bool { return !recorded(one.IP) || !recorded(one.Hostname) })
}

// IsHeld reports whether a Service is deleted, and exists until a controller like this one has deleted its load
// balancer and removed the finalizer. All controllers use the same finalizer: a Service with a class may wait for
// another one, unless this controller has managed it.
func IsHeld(service *corev1.Service) bool {
	return service.DeletionTimestamp != nil && helpers.HasLBFinalizer(service) &&
		(service.Spec.LoadBalancerClass == nil || isManaged(service))
}
