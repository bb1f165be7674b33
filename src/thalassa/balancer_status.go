package thalassa

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/inventory"
)

// What a load balancer shows once it serves, and while it does so and is being changed.
const (
	statusReady    = "ready"
	statusUpdating = "updating"
)

// healthUnknown is what conditions say about the health of targets: no part of the API shows it.
const healthUnknown = "The cloud reports the load balancer as ready. It does not report whether the targets are " +
	"healthy."

// published are the addresses that the Service is reached by: none until the load balancer is ready. The internal ones
// count only for an internal load balancer; a public one may have them before the public ones.
func published(internal bool, balancer inventory.LoadBalancer) []string {
	switch {
	case !strings.EqualFold(balancer.Status, statusReady) && !strings.EqualFold(balancer.Status, statusUpdating):
		return nil
	case internal && len(balancer.ExternalAddresses) == 0:
		return balancer.InternalAddresses
	}
	return balancer.ExternalAddresses
}

func serves(internal bool, balancer inventory.LoadBalancer) bool {
	return len(published(internal, balancer)) > 0
}

// statusOf is what is published: each address with the load balancer's hostname, unless the Service asks for one of
// them only. The mode is Proxy: nodes must not short-cut the address to the pods, because the load balancer may add a
// PROXY header and limits of its own.
func (d desired) statusOf(service *corev1.Service, balancer inventory.LoadBalancer) corev1.LoadBalancerStatus {
	status := corev1.LoadBalancerStatus{}
	addresses := published(reachedInside(service, d.internal.Value, balancer), balancer)
	if d.created {
		addresses = inFamilies(service, addresses)
	}
	publish := d.publishes(service)
	if len(addresses) > 0 && balancer.Hostname != "" && publish == publishHostname {
		status.Ingress = []corev1.LoadBalancerIngress{{Hostname: balancer.Hostname}}
		return status
	}
	mode := corev1.LoadBalancerIPModeProxy
	for _, address := range addresses {
		ingress := corev1.LoadBalancerIngress{IP: address, IPMode: &mode}
		if publish != publishIP {
			ingress.Hostname = balancer.Hostname
		}
		status.Ingress = append(status.Ingress, ingress)
	}
	return status
}

// publishes is what the Service asks to be shown. While that cannot be read it is what is shown already.
func (d desired) publishes(service *corev1.Service) string {
	asked, shown := d.annotations.publish.From(d.values), service.Status.LoadBalancer.Ingress
	switch {
	case !asked.Invalid || len(shown) == 0:
		return asked.Value
	case shown[0].IP == "":
		return publishHostname
	case shown[0].Hostname == "":
		return publishIP
	}
	return publishBoth
}

// inFamilies returns the addresses of the families that the Service has, or all when there is none of them: it is
// better reached by another family than not at all.
func inFamilies(service *corev1.Service, addresses []string) []string {
	if len(service.Spec.IPFamilies) == 0 {
		return addresses
	}
	matching := slices.DeleteFunc(slices.Clone(addresses), func(address string) bool {
		return !slices.Contains(service.Spec.IPFamilies, familyOf(address))
	})
	if len(matching) == 0 {
		return addresses
	}
	return matching
}

func familyOf(address string) corev1.IPFamily {
	if parsed, err := netip.ParseAddr(address); err == nil && parsed.Is6() && !parsed.Is4In6() {
		return corev1.IPv6Protocol
	}
	return corev1.IPv4Protocol
}

// lacking tells what the Service asks for and its load balancer does not publish.
func (d desired) lacking(service *corev1.Service, balancer inventory.LoadBalancer) []cloud.Notice {
	var notices []cloud.Notice
	addresses := published(reachedInside(service, d.internal.Value, balancer), balancer)
	if len(addresses) == 0 {
		return nil
	}
	has := func(family corev1.IPFamily) bool {
		return slices.ContainsFunc(addresses, func(address string) bool { return familyOf(address) == family })
	}
	required := ptr.Deref(service.Spec.IPFamilyPolicy,
		corev1.IPFamilyPolicySingleStack) != corev1.IPFamilyPolicyPreferDualStack
	for _, family := range service.Spec.IPFamilies {
		if d.created && required && !has(family) {
			notices = append(notices, settingNotice(reasonUnsupported, fmt.Sprintf(
				"The load balancer has no %s address, which spec.ipFamilies requests: its addresses are %s. The IP "+
					"families depend on its subnet and region. Choose a subnet with %s by %ssubnet, or remove the "+
					"family.",
				family, strings.Join(addresses, ", "), family, annotationPrefix)))
		}
	}
	if publish := d.annotations.publish.From(d.values); publish.Given && publish.Value == publishHostname &&
		balancer.Hostname == "" {
		notices = append(notices, settingNotice(reasonUnsupported, fmt.Sprintf(
			"Annotation %spublish: the load balancer has no hostname, so its addresses are published.",
			annotationPrefix)))
	}
	return notices
}

// waitFor is waiting for a load balancer that does not serve.
func waitFor(balancer inventory.LoadBalancer) *cloud.Wait {
	return &cloud.Wait{
		Object: balancer.ID, Name: kindBalancer + " " + balancer.Name, Status: balancer.Status,
		Failed:  failed(balancer),
		Message: fmt.Sprintf("load balancer %s is not ready yet, its status is %q", balancer.Name, balancer.Status),
	}
}

// failed says that the cloud has given up on the load balancer; which word it uses is not documented.
func failed(balancer inventory.LoadBalancer) bool {
	return strings.EqualFold(balancer.Status, "failed") || strings.EqualFold(balancer.Status, "error")
}
