package thalassa

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// isInternal reports whether a load balancer has only addresses of the VPC. The API has no field for this. If this
// program created the load balancer, its record says it; otherwise its addresses show it, as soon as it has them.
func isInternal(balancer resource.LoadBalancer) bool {
	if record := lastAppliedOf(balancer.Annotations); record.created {
		return record.has(settingInternal)
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

// usesInternalAddresses reports whether the Service publishes addresses of the VPC. If this program created the load
// balancer, its record says it. Another load balancer without a public address may lack it temporarily, so the Service
// must also ask for an internal one, or have published such an address before.
func usesInternalAddresses(service *corev1.Service, asked bool, balancer resource.LoadBalancer) bool {
	if record := lastAppliedOf(balancer.Annotations); record.created {
		return record.has(settingInternal)
	}
	adopted := lastAppliedOf(balancer.Annotations).has(settingAdopted)
	return isInternal(balancer) && (asked || adopted || slices.ContainsFunc(service.Status.LoadBalancer.Ingress,
		func(ingress corev1.LoadBalancerIngress) bool {
			return slices.Contains(balancer.InternalAddresses, ingress.IP)
		}))
}

// typeKnown reports whether it is known if the load balancer is internal.
func typeKnown(balancer resource.LoadBalancer) bool {
	return lastAppliedOf(balancer.Annotations).created || len(balancer.InternalAddresses)+
		len(balancer.ExternalAddresses) > 0
}

// immutableTypeText describes that the Service asks for the other type of load balancer than it has; "" if it does not.
func immutableTypeText(s settings, balancer *resource.LoadBalancer) string {
	if balancer == nil || s.internal.Invalid || !typeKnown(*balancer) || s.internal.Value == isInternal(*balancer) {
		return ""
	}
	asksNoMore := slices.Contains(lastAppliedOf(balancer.Annotations).applied[settingInternal], askedByService)
	if !s.internal.Given && !asksNoMore {
		return "" // it was adopted, or created before the cluster's default changed
	}
	is, asked := "public", "internal"
	if !s.internal.Value {
		is, asked = asked, is
	}
	return fmt.Sprintf("This Service requests a load balancer of type %s, but its load balancer is of type %s, which "+
		"cannot be changed. The type does not change, and no new port is opened. "+
		"To change the type, delete the Service and create it again; its address then changes.", asked, is)
}
