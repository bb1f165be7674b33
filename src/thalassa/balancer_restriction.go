package thalassa

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/loadbalancer"
)

// restricting says whether an annotation of the existing CCM limits who reaches a Service. This version cannot apply
// those yet, and must not open a port to everybody for a Service that asks for less.
func restricting(name string) bool {
	starts := []string{"internal", "acl-", "security-groups", "create-security-group"}
	return slices.ContainsFunc(starts, func(start string) bool { return strings.HasPrefix(name, start) })
}

// refuseOpen returns an error when the plan would open a port although the Service asks for a restriction that cannot be
// applied. Existing listeners keep the restrictions they have, so everything else goes on.
func refuseOpen(service *corev1.Service, plan loadbalancer.Plan) error {
	asked := restrictionOf(service)
	opens := slices.ContainsFunc(plan, func(o loadbalancer.Operation) bool {
		return o.Verb == loadbalancer.Create && o.Kind != kindGroup
	})
	if asked == "" || !opens {
		return nil
	}
	return fmt.Errorf("%s cannot be applied by this version yet, and a port that is open to everybody is not what Service %s/%s asks for: "+
		"nothing is created; remove it if the port may be public", asked, service.Namespace, service.Name)
}

// restrictionOf names what the Service asks for, "" when nothing.
func restrictionOf(service *corev1.Service) string {
	if len(service.Spec.LoadBalancerSourceRanges) > 0 {
		return "spec.loadBalancerSourceRanges"
	}
	for _, full := range slices.Sorted(maps.Keys(service.Annotations)) {
		name, ours := strings.CutPrefix(full, annotationPrefix)
		value := service.Annotations[full]
		if !ours || value == "" || strings.EqualFold(value, "false") {
			continue
		}
		if name == nameType && value != typePublic {
			return fmt.Sprintf("annotation %s: %s", full, value)
		}
		if restricting(name) {
			return "annotation " + full
		}
	}
	return ""
}
