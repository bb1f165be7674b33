package service

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/service/helpers"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// claim is what a Service and its loadBalancerClass say about who looks after it.
type claim int

const (
	// foreign: it wants no load balancer, or one of another class. Whatever finalizer and addresses it has are not
	// ours.
	foreign claim = iota
	// wanted: it is to have a load balancer of ours.
	wanted
	// ending: it had one, and is to have none any more.
	ending
)

// claimOf says what a Service is to us.
func claimOf(b cloud.LoadBalancerBehaviour, service *corev1.Service) claim {
	balanced := service.Spec.Type == corev1.ServiceTypeLoadBalancer
	switch {
	case ofOthers(b, service):
		return foreign
	case balanced && service.DeletionTimestamp == nil:
		return wanted
	case helpers.HasLBFinalizer(service):
		// The class goes with the type, so of a Service that has another type now nobody can tell whose the finalizer
		// is. The library's controller takes it as its own, too.
		return ending
	}
	return foreign
}

// ofOthers says whether a Service has a load balancer of a class that is not ours.
func ofOthers(b cloud.LoadBalancerBehaviour, service *corev1.Service) bool {
	return service.Spec.Type == corev1.ServiceTypeLoadBalancer && !served(b, service.Spec.LoadBalancerClass)
}

// served says whether Services of a class are ours.
func served(b cloud.LoadBalancerBehaviour, class *string) bool {
	if class == nil {
		return !b.OnlyClass
	}
	return b.Class != "" && *class == b.Class
}
