package simulator

import (
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
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
	if old != nil {
		problems = append(problems, immutable(lb.Spec.NetworkRef, old.Spec.NetworkRef, spec.Child("networkRef"))...)
	}
	return problems
}
