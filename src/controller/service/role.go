package service

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/service/helpers"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// role is what this controller does for a Service, according to its type, class, finalizer and deletion.
type role int

const (
	// roleUnmanaged: the Service needs no load balancer, or one of another class. Its finalizer and addresses, if it
	// has any, are not managed.
	roleUnmanaged role = iota
	// roleManaged: the Service has, or gets, a managed load balancer.
	roleManaged
	// roleDeleting: the Service had a load balancer, and needs none any more.
	roleDeleting
)

// roleOf returns the role of a Service.
func roleOf(b cloud.LoadBalancerBehaviour, service *corev1.Service) role {
	isLoadBalancer := service.Spec.Type == corev1.ServiceTypeLoadBalancer
	switch {
	case hasOtherClass(b, service):
		return roleUnmanaged
	case isLoadBalancer && service.DeletionTimestamp == nil:
		return roleManaged
	case helpers.HasLBFinalizer(service):
		// When the type changes, the API server removes the class. Therefore it is not known which controller added the
		// finalizer. The controller of k8s.io/cloud-provider deletes the load balancer in this case, too.
		return roleDeleting
	}
	return roleUnmanaged
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
