package simulator

import (
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func admitLoadBalancer(lb, old *networkingv1alpha1.LoadBalancer) field.ErrorList {
	spec := field.NewPath("spec")
	if lb.Spec.Type != networkingv1alpha1.LoadBalancerTypeInternal {
		lb.Spec.IPs = nil // without an error
	}
	problems := validEnum(spec.Child("type"), lb.Spec.Type, networkingv1alpha1.LoadBalancerTypePublic,
		networkingv1alpha1.LoadBalancerTypeInternal)
	problems = append(problems, validName(spec.Child("networkRef", "name"), lb.Spec.NetworkRef.Name)...)
	problems = append(problems, validFamilies(spec.Child("ipFamilies"), lb.Spec.IPFamilies)...)
	problems = append(problems, validIPs(spec.Child("ips"), lb.Spec.IPs, lb.Spec.IPFamilies)...)
	problems = append(problems, metav1validation.ValidateLabelSelector(lb.Spec.NetworkInterfaceSelector,
		metav1validation.LabelSelectorValidationOptions{}, spec.Child("networkInterfaceSelector"))...)
	problems = append(problems, validPorts(spec.Child("ports"), lb.Spec.Ports)...)
	if old != nil {
		problems = append(problems, immutable(lb.Spec.NetworkRef, old.Spec.NetworkRef, spec.Child("networkRef"))...)
	}
	return problems
}

// validPorts checks ports as the server does: the first one of each protocol is not checked.
func validPorts(path *field.Path, ports []networkingv1alpha1.LoadBalancerPort) (problems field.ErrorList) {
	seen := map[corev1.Protocol][]networkingv1alpha1.LoadBalancerPort{}
	for i, p := range ports {
		protocol := protocolOf(p)
		for _, other := range seen[protocol] {
			problems = append(problems, validPort(path.Index(i), protocol, p)...)
			if p.Port <= lastPort(other) && other.Port <= lastPort(p) {
				problems = append(problems, field.Forbidden(path.Index(i), "the range overlaps with another one"))
			}
		}
		seen[protocol] = append(seen[protocol], p)
	}
	return problems
}

func protocolOf(p networkingv1alpha1.LoadBalancerPort) corev1.Protocol {
	if p.Protocol == nil {
		return corev1.ProtocolTCP
	}
	return *p.Protocol
}

func lastPort(p networkingv1alpha1.LoadBalancerPort) int32 {
	if p.EndPort != nil {
		return *p.EndPort
	}
	return p.Port
}

func validPort(
	path *field.Path, protocol corev1.Protocol, p networkingv1alpha1.LoadBalancerPort,
) (problems field.ErrorList) {
	problems = validEnum(path.Child("protocol"), protocol, corev1.ProtocolTCP, corev1.ProtocolUDP,
		corev1.ProtocolSCTP)
	numbers := map[string]int32{"port": p.Port}
	if p.EndPort != nil {
		numbers["endPort"] = *p.EndPort
	}
	for name, port := range numbers {
		for _, problem := range validation.IsValidPortNum(int(port)) {
			problems = append(problems, field.Invalid(path.Child(name), port, problem))
		}
	}
	if lastPort(p) < p.Port {
		problems = append(problems, field.Forbidden(path.Child("endPort"), "must not be less than port"))
	}
	return problems
}
