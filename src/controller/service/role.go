package service

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cloud-provider/service/helpers"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// role is what this controller does for a Service, according to its type, class, finalizer, conditions and deletion.
type role int

const (
	// roleUnmanaged: the Service needs no load balancer of this controller, and has none.
	roleUnmanaged role = iota
	// roleManaged: the Service has, or gets, a managed load balancer.
	roleManaged
	// roleDeleting: the Service is deleted, and its class is managed. All that it has is removed.
	roleDeleting
	// roleLeaving: the Service needs no load balancer of this controller any more, and may have had one. Its addresses
	// and its finalizer may be those of another controller.
	roleLeaving
)

// roleOf returns the role of a Service. Known means that this process has managed it, or has found objects of it.
//
// The conditions of this controller prove that it managed the Service: they are written together with the finalizer,
// whose name all controllers share.
func roleOf(b cloud.LoadBalancerBehaviour, service *corev1.Service, known bool) role {
	deleted := service.DeletionTimestamp != nil
	mayHave := known || hasConditions(service) || helpers.HasLBFinalizer(service)
	switch {
	case service.Spec.Type != corev1.ServiceTypeLoadBalancer && mayHave,
		hasOtherClass(b, service) && (known || hasChangedClass(service) || deleted && mayHave):
		return roleLeaving
	case service.Spec.Type != corev1.ServiceTypeLoadBalancer, hasOtherClass(b, service):
		return roleUnmanaged
	case !deleted:
		return roleManaged
	case mayHave:
		return roleDeleting
	}
	return roleUnmanaged
}

// hasChangedClass reports whether a Service of another class certainly got that class after it was managed. The class
// changes only with the type, and the API server removes the addresses then. Otherwise the configured class may be what
// has changed, and nothing is deleted.
func hasChangedClass(service *corev1.Service) bool {
	provisioned, _ := findCondition(service.Status.Conditions, conditionProvisioned)
	return provisioned.Status == metav1.ConditionTrue && provisioned.ObservedGeneration != service.Generation &&
		len(service.Status.LoadBalancer.Ingress) == 0
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
