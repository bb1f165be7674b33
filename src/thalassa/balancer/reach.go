package balancer

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/thalassa-cloud/thalassa-ccm/src/annotation"
	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// isInternal reports whether a load balancer has only addresses of the VPC. The API has no field for this. If this
// program created the load balancer, its record says it; otherwise its addresses show it, as soon as it has them.
func isInternal(balancer resource.LoadBalancer) bool {
	if record := lastAppliedOf(balancer.Annotations); record.created {
		return record.has(settingInternal)
	}
	return len(balancer.InternalAddresses) > 0 && !slices.ContainsFunc(balancer.ExternalAddresses,
		func(address string) bool { return !slices.Contains(balancer.InternalAddresses, address) })
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
			return slices.ContainsFunc(balancer.InternalAddresses, func(address string) bool {
				return cloud.CanonicalAddress(address) == cloud.CanonicalAddress(ingress.IP)
			})
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
	return fmt.Sprintf(textImmutableType, asked, is)
}

// Status of a load balancer that accepts connections.
const (
	statusReady    = "ready"
	statusUpdating = "updating"
)

// healthUnknown is the part of conditions about the health of targets, which the API does not report.
const healthUnknown = "The cloud reports the load balancer as ready. It does not report whether the targets are " +
	"healthy."

// published returns the addresses to publish for a Service that asks for an internal load balancer, or not: none until
// the load balancer is ready. Internal addresses are published only for an internal load balancer; a public one may
// have internal addresses before its public ones.
func published(service *corev1.Service, asked bool, balancer resource.LoadBalancer) []string {
	switch {
	case !strings.EqualFold(balancer.Status, statusReady) && !strings.EqualFold(balancer.Status, statusUpdating):
		return nil
	case len(balancer.ExternalAddresses) == 0 && usesInternalAddresses(service, asked, balancer):
		return balancer.InternalAddresses
	}
	return balancer.ExternalAddresses
}

// statusOf returns the status to publish: each address with the load balancer's hostname, unless the Service asks for
// only one of them. The mode is Proxy, so that nodes do not send traffic for the address directly to the pods: the load
// balancer may add a PROXY header and has limits.
func (d desired) statusOf(service *corev1.Service, balancer resource.LoadBalancer) corev1.LoadBalancerStatus {
	status := corev1.LoadBalancerStatus{}
	addresses := published(service, d.internal.Value, balancer)
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

// publishes returns which of hostname and addresses to publish. If the annotation is not valid, it is what is published
// already.
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

// inFamilies returns the addresses of the Service's IP families, or all addresses if none is of these families: an
// address of another family is better than none.
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

// unmetNotices describes what the Service asks for and its load balancer does not publish.
func (d desired) unmetNotices(service *corev1.Service, balancer resource.LoadBalancer) []cloud.Notice {
	var notices []cloud.Notice
	addresses := published(service, d.internal.Value, balancer)
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
			notices = append(notices, settingNotice(reasonUnsupported, textNoAddressOfFamily,
				family, strings.Join(addresses, ", "), family, label.AnnotationPrefix))
		}
	}
	if publish := d.annotations.publish.From(d.values); publish.Given && publish.Value == publishHostname &&
		balancer.Hostname == "" {
		notices = append(notices, settingNotice(reasonUnsupported, textNoHostname, label.AnnotationPrefix))
	}
	return notices
}

// waitFor returns the wait for a load balancer that is not ready, or in whose place another one is needed.
func waitFor(balancer resource.LoadBalancer) *cloud.Wait {
	wait := &cloud.Wait{
		Object: balancer.ID, Name: kindBalancer + " " + balancer.Name, Status: balancer.Status,
		Failed:  failed(balancer),
		Message: fmt.Sprintf("load balancer %s is not ready yet, its status is %q", balancer.Name, balancer.Status),
	}
	if balancer.Deleting() {
		wait.Deleting, wait.Slow = true, true
		wait.Message = fmt.Sprintf(
			"load balancer %s is being deleted; a new one can be created only when it is deleted", balancer.Name)
	}
	return wait
}

// failed reports whether the cloud has given up on the load balancer. Which word the cloud uses is not documented.
func failed(balancer resource.LoadBalancer) bool {
	return strings.EqualFold(balancer.Status, "failed") || strings.EqualFold(balancer.Status, "error")
}

// registerReach adds the annotations about addresses.
func (a *annotations) registerReach() {
	r := a.registry
	a.kind = annotation.Register(r, annotation.Definition{
		Name: nameType, Topic: topicReach, Since: since, Example: typeInternal,
		Effect: "Where the load balancer can be reached from. public gives it an address on the internet; internal " +
			"gives it an address of its subnet only. " +
			"It cannot be changed after the load balancer is created.",
	}, annotation.Enum(typePublic, typeInternal), typePublic)
	a.internal = annotation.Register(r, annotation.Definition{
		Name: nameInternal, Topic: topicReach, Since: since, Example: "true",
		Effect: "true has the same effect as type: internal, and takes precedence over type.",
	}, annotation.Bool(), false)
	a.subnet = annotation.Register(r, annotation.Definition{
		Name: "subnet", Topic: topicReach, Since: since, Example: "subnet-0123456789",
		Effect:  "The subnet of the load balancer. Only a public load balancer can be moved to another subnet.",
		Without: "the subnet of the cloud-config",
	}, identityWord("the identity or slug of a subnet in the cluster's VPC"), "")
	a.reservedIP = annotation.Register(r, annotation.Definition{
		Name: "reserved-ip", Topic: topicReach, Since: since, Example: "rip-0123456789", OneService: true,
		Effect: "The reserved IP that is used as the load balancer's address. An empty value, or removal of the " +
			"annotation, detaches " +
			"the reserved IP if this annotation attached it.",
		Without: "an address that the cloud chooses",
	}, annotation.Word(`(?:[0-9A-Za-z][0-9A-Za-z._:-]*)?`, "the identity, slug or address of a reserved IP, or empty"),
		"")
	a.publish = annotation.Register(r, annotation.Definition{
		Name: "publish", Topic: topicReach, Since: since, Example: publishHostname,
		Effect: "What is written into the Service's status: the load balancer's IP addresses, its host name, or both.",
	}, annotation.Enum(publishIP, publishHostname, publishBoth), publishBoth)
}
