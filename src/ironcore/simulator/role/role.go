// Package role has the decisions of the components of IronCore that change the objects of its API: the scheduler, the
// agent of a machine pool, the network provider, and the controllers of load balancers and of generated objects. It
// calls nothing: who plays a role reads and writes the objects, in memory or through an API server.
package role

import (
	"fmt"
	"net/netip"

	commonv1alpha1 "github.com/ironcore-dev/ironcore/api/common/v1alpha1"
	ipamv1alpha1 "github.com/ironcore-dev/ironcore/api/ipam/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"
)

// BalancerFinalizer is that of the network provider on load balancers.
const BalancerFinalizer = "apinet.ironcore.dev/loadbalancer"

// Allocated returns what is allocated for a generated Prefix with this name; false while nothing is.
type Allocated func(name string, spec ipamv1alpha1.PrefixSpec) (netip.Prefix, bool)

// BalancerAddresses returns the addresses that a load balancer has when it is ready: one per IP family if it is public,
// and otherwise one per entry whose Prefix is allocated.
func BalancerAddresses(lb *networkingv1alpha1.LoadBalancer, public func(corev1.IPFamily) netip.Addr,
	allocated Allocated) []commonv1alpha1.IP {
	if lb.Spec.Type != networkingv1alpha1.LoadBalancerTypePublic {
		return Addresses(lb.Name, lb.Spec.IPs, allocated)
	}
	var ips []commonv1alpha1.IP
	for _, family := range lb.Spec.IPFamilies {
		if a := public(family); a.IsValid() {
			ips = append(ips, commonv1alpha1.NewIP(a))
		}
	}
	return ips
}

// Addresses returns the addresses of an object with this name that has these sources: those whose Prefix is allocated.
func Addresses(name string, sources []networkingv1alpha1.IPSource, allocated Allocated) []commonv1alpha1.IP {
	var ips []commonv1alpha1.IP
	for i, source := range sources {
		if source.Value != nil {
			ips = append(ips, *source.Value)
			continue
		}
		if p, ok := allocated(addressName(name, i), source.Ephemeral.PrefixTemplate.Spec); ok {
			ips = append(ips, commonv1alpha1.NewIP(p.Addr()))
		}
	}
	return ips
}

// Prefixes returns the prefixes that are routed to a network interface. A generated one belongs to its index.
func Prefixes(nic *networkingv1alpha1.NetworkInterface, allocated Allocated) []commonv1alpha1.IPPrefix {
	var prefixes []commonv1alpha1.IPPrefix
	for i, source := range nic.Spec.Prefixes {
		if source.Value != nil {
			prefixes = append(prefixes, *source.Value)
			continue
		}
		if p, ok := allocated(prefixName(nic.Name, i), source.Ephemeral.PrefixTemplate.Spec); ok {
			prefixes = append(prefixes, commonv1alpha1.IPPrefix{Prefix: p})
		}
	}
	return prefixes
}

func addressName(owner string, index int) string { return fmt.Sprintf("%s-%d", owner, index) }

func prefixName(owner string, index int) string { return fmt.Sprintf("%s-pf-%d", owner, index) }

// Templates returns the Prefixes that are generated for the sources of an object, by name.
func Templates(
	owner string, addresses []networkingv1alpha1.IPSource, prefixes []networkingv1alpha1.PrefixSource,
) map[string]*ipamv1alpha1.PrefixTemplateSpec {
	templates := map[string]*ipamv1alpha1.PrefixTemplateSpec{}
	for i, source := range addresses {
		if source.Ephemeral != nil {
			templates[addressName(owner, i)] = source.Ephemeral.PrefixTemplate
		}
	}
	for i, source := range prefixes {
		if source.Ephemeral != nil {
			templates[prefixName(owner, i)] = source.Ephemeral.PrefixTemplate
		}
	}
	return templates
}

// Length returns the length of a prefix of which the length and the IP family are given, or only the IP family.
func Length(spec ipamv1alpha1.PrefixSpec, otherwise4, otherwise6 int) int {
	switch {
	case spec.PrefixLength != 0:
		return int(spec.PrefixLength)
	case spec.IPFamily == corev1.IPv6Protocol:
		return otherwise6
	}
	return otherwise4
}
