package balancer

import (
	"slices"

	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// recreation returns the difference for which a load balancer is deleted and created again; "" if there is none.
// IronCore accepts these changes of a load balancer that exists, and its network never carries them out.
func recreation(actual *networkingv1alpha1.LoadBalancer, wanted networkingv1alpha1.LoadBalancerSpec) string {
	if actual == nil {
		return ""
	}
	switch {
	case actual.Spec.Type != wanted.Type:
		return reason(actual.Spec, wanted, "type")
	case replacesPrefix(actual.Spec.IPs, wanted.IPs):
		return reason(actual.Spec, wanted, "ips")
	}
	return ""
}

// replacesPrefix reports whether a generated Prefix would have to change: its name has the index of the address, and
// one that exists stays as it is.
func replacesPrefix(actual, wanted []networkingv1alpha1.IPSource) bool {
	both := min(len(actual), len(wanted))
	return !slices.EqualFunc(actual[:both], wanted[:both], func(was, is networkingv1alpha1.IPSource) bool {
		return was.Ephemeral == nil || is.Ephemeral == nil || sourceText(was) == sourceText(is)
	})
}

// planRecreation returns what deletes a load balancer; IronCore collects its routing. The next plan creates it when it
// is gone, because its addresses are in use until then.
func planRecreation(actual *networkingv1alpha1.LoadBalancer, wanted networkingv1alpha1.LoadBalancerSpec) cloud.Plan {
	last := deletion(kindLoadBalancer, actual)
	last.Why = recreation(actual, wanted) + ", which needs another load balancer: it is created when this one is gone"
	return cloud.Plan{last}
}

// recreationNotices announces that a load balancer gets other addresses. One that has none yet loses nothing.
func recreationNotices(service *corev1.Service, actual *networkingv1alpha1.LoadBalancer,
	wanted networkingv1alpha1.LoadBalancerSpec) []cloud.Notice {
	if why := recreation(actual, wanted); why != "" && hasClients(service, actual) {
		return []cloud.Notice{settingNotice(reasonImmutable, textRecreated, actual.Name, why)}
	}
	return nil
}
