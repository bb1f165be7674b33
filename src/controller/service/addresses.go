package service

import (
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/event"
)

// withValidAddresses returns the comparison with the addresses that the API server accepts, in their canonical
// spelling, and with a notice that names the others. The API server refuses a status with one invalid address as a
// whole, so this one would hide the valid ones. If none is valid, the published ones stay, and Refused has the reason.
func withValidAddresses(found cloud.Comparison) cloud.Comparison {
	var valid []corev1.LoadBalancerIngress
	var invalid []string
	for _, ingress := range found.Balancer.Status.Ingress {
		canonical, problems := validIngress(ingress)
		invalid = append(invalid, problems...)
		if canonical.IP != "" || canonical.Hostname != "" {
			valid = append(valid, canonical)
		}
	}
	found.Balancer.Status.Ingress = valid
	if len(invalid) == 0 {
		return found
	}
	slices.Sort(invalid)
	invalid = slices.Compact(invalid)
	found.Notices = append(slices.Clone(found.Notices), cloud.Notice{Topic: cloud.Settings,
		Reason: reasonAddressInvalid, Message: fmt.Sprintf(textAddressInvalid, event.Names(invalid))})
	if len(valid) == 0 && found.Refused == nil {
		found.Refused = cloud.Reason{Reported: true,
			Err: errors.New("the load balancer has no address that can be published: " + event.Names(invalid))}
	}
	return found
}

// validIngress returns what the API server accepts of an address, and the values that it does not accept.
func validIngress(ingress corev1.LoadBalancerIngress) (valid corev1.LoadBalancerIngress, invalid []string) {
	ip, hostname := cloud.CanonicalAddress(ingress.IP), cloud.CanonicalAddress(ingress.Hostname)
	if ip != "" && !isIP(ip) {
		invalid = append(invalid, fmt.Sprintf("IP address %.*q", maxValue, ingress.IP))
		ip = ""
	}
	if hostname != "" && (isIP(hostname) || len(validation.IsDNS1123Subdomain(hostname)) > 0) {
		invalid = append(invalid, fmt.Sprintf("hostname %.*q", maxValue, ingress.Hostname))
		hostname = ""
	}
	ingress.IP, ingress.Hostname = ip, hostname
	mode := ptr.Deref(ingress.IPMode, corev1.LoadBalancerIPModeVIP)
	known := mode == corev1.LoadBalancerIPModeVIP || mode == corev1.LoadBalancerIPModeProxy
	if !known {
		invalid = append(invalid, fmt.Sprintf("IP mode %.*q", maxValue, mode))
	}
	if ip == "" || !known { // a mode without an IP address is not permitted, and there is a default
		ingress.IPMode = nil
	}
	return ingress, invalid
}

// maxValue is the maximum length of an invalid address in a message, in characters: no valid one is longer.
const maxValue = validation.DNS1123SubdomainMaxLength

// isIP reports whether the API server accepts an IP address in the status of a Service.
func isIP(address string) bool {
	return len(validation.IsValidIPForLegacyField(field.NewPath("ip"), address, true, nil)) == 0
}
