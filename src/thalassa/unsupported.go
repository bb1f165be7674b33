package thalassa

import (
	"fmt"
	"slices"

	"github.com/thalassa-cloud/client-go/iaas"
	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/loadbalancer"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/inventory"
)

// unsupported tells what the Service's spec asks for and load balancers of this cloud do not have, and what to use instead.
func unsupported(service *corev1.Service, s settings) []loadbalancer.Notice {
	var notices []loadbalancer.Notice
	if service.Spec.SessionAffinity == corev1.ServiceAffinityClientIP && !s.keepsClients() {
		notices = append(notices, settingNotice(reasonUnsupported, fmt.Sprintf(
			"spec.sessionAffinity ClientIP: load balancers of Thalassa Cloud have no session affinity, and without it a client reaches another node each time. Set %sloadbalancing-policy to MAGLEV, which keeps a client on the same node.",
			annotationPrefix)))
	}
	return notices
}

// keepsClients says that every port keeps a client on the same node.
func (s settings) keepsClients() bool {
	for _, port := range s.ports {
		if port.policy.Value != string(iaas.LoadbalancingPolicyMagLev) {
			return false
		}
	}
	return true
}

// isInternal says whether a load balancer has addresses of the VPC only. The API does not say it in words: of one that we made we know,
// of another one the addresses show it, once it has them.
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

// reachedInside says whether the Service is reached by addresses of the VPC. Of a load balancer that we made that is known; another one
// that has no public address may have lost it for a moment, unless the Service asks for an internal one or has been reached like that.
func reachedInside(service *corev1.Service, asked bool, balancer inventory.LoadBalancer) bool {
	if own := tracesOf(balancer.Annotations); own.created {
		return own.has(settingInternal)
	}
	adopted := tracesOf(balancer.Annotations).has(settingAdopted)
	return isInternal(balancer) && (asked || adopted || slices.ContainsFunc(service.Status.LoadBalancer.Ingress, func(ingress corev1.LoadBalancerIngress) bool {
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
	return fmt.Sprintf("This Service asks for one kind of load balancer (%s) and has the other (%s), which cannot be changed: it stays as it is, and a new port is not opened. "+
		"Delete the Service and make it anew to get the other kind; its address changes then.", asked, is)
}
