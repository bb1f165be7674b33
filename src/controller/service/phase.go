package service

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/service/helpers"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// phase is what this controller does for a Service, according to its type, class, finalizer, conditions and deletion.
type phase int

const (
	// phaseUnmanaged: the Service needs no load balancer of this controller, and has none.
	phaseUnmanaged phase = iota
	// phaseManaged: the Service has, or gets, a managed load balancer.
	phaseManaged
	// phaseDeleting: the Service is deleted, and its class is managed. All that it has is removed.
	phaseDeleting
	// phaseLeaving: the Service needs no load balancer of this controller any more, and may have had one. Its addresses
	// and its finalizer may be those of another controller.
	phaseLeaving
)

// phaseOf returns the phase of a Service. Known means that this process has managed it, or has found objects of it.
//
// A Service of another class that has the class with which it was managed is not managed because of a change of the
// configuration: nothing is deleted before it is deleted or gets another class.
func phaseOf(b cloud.LoadBalancerBehaviour, service *corev1.Service, known bool) phase {
	deleted := service.DeletionTimestamp != nil
	mayHave := known || hasConditions(service) || helpers.HasLBFinalizer(service)
	changed := known || isManaged(service) && !hasRecordedClass(service)
	switch {
	case service.Spec.Type != corev1.ServiceTypeLoadBalancer && mayHave,
		hasOtherClass(b, service) && (changed || deleted && mayHave):
		return phaseLeaving
	case service.Spec.Type != corev1.ServiceTypeLoadBalancer, hasOtherClass(b, service):
		return phaseUnmanaged
	case !deleted:
		return phaseManaged
	case mayHave:
		return phaseDeleting
	}
	return phaseUnmanaged
}

// hasOtherClass reports whether a Service has a load balancer of another class.
func hasOtherClass(b cloud.LoadBalancerBehaviour, service *corev1.Service) bool {
	return service.Spec.Type == corev1.ServiceTypeLoadBalancer && !classMatches(b, service.Spec.LoadBalancerClass)
}

// classMatches reports whether Services of a class are reconciled.
func classMatches(b cloud.LoadBalancerBehaviour, class *string) bool {
	if class == nil {
		return !b.OnlyClass
	}
	return b.Class != "" && *class == b.Class
}
