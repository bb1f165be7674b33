package thalassa

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/inventory"
)

// isInternal says whether a load balancer has addresses of the VPC only. The API does not say it in words: of one that
// we made we know, of another one the addresses show it, once it has them.
func isInternal(balancer inventory.LoadBalancer) bool {
	if own := tracesOf(balancer.Annotations); own.created {
		return own.has(settingInternal)
	}
	if len(balancer.InternalAddresses) == 0 {
		return false
	}
	inside := map[string]bool{}
	for _, address := range balancer.InternalAddresses {
		inside[address] = true
	}
	for _, address := range balancer.ExternalAddresses {
		if !inside[address] {
			return false
		}
	}
	return true
}

// reachedInside says whether the Service is reached by addresses of the VPC. Of a load balancer that we made that is
// known; another one that has no public address may have lost it for a moment, unless the Service asks for an internal
// one or has been reached like that.
func reachedInside(service *corev1.Service, asked bool, balancer inventory.LoadBalancer) bool {
	if own := tracesOf(balancer.Annotations); own.created {
		return own.has(settingInternal)
	}
	adopted := tracesOf(balancer.Annotations).has(settingAdopted)
	return isInternal(balancer) && (asked || adopted || slices.ContainsFunc(service.Status.LoadBalancer.Ingress,
		func(ingress corev1.LoadBalancerIngress) bool {
			return slices.Contains(balancer.InternalAddresses, ingress.IP)
		}))
}

// showsKind says that it is known whether the load balancer is internal.
func showsKind(balancer inventory.LoadBalancer) bool {
	return tracesOf(balancer.Annotations).created || len(balancer.InternalAddresses)+len(balancer.ExternalAddresses) > 0
}

// immovable says that the Service asks for the other kind of load balancer than it has; "" when it does not.
func immovable(s settings, balancer *inventory.LoadBalancer) string {
	if balancer == nil || s.internal.Invalid || !showsKind(*balancer) || s.internal.Value == isInternal(*balancer) {
		return ""
	}
	asksNoMore := slices.Contains(tracesOf(balancer.Annotations).applied[settingInternal], askedByService)
	if !s.internal.Given && !asksNoMore {
		return "" // one that was taken over, or made before the cluster's default was another
	}
	is, asked := "public", "internal"
	if !s.internal.Value {
		is, asked = asked, is
	}
	return fmt.Sprintf("This Service requests a load balancer of type %s, but its load balancer is of type %s, which "+
		"cannot be changed. The type does not change, and no new port is opened. "+
		"To change the type, delete the Service and create it again; its address then changes.", asked, is)
}
