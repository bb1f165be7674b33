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

// openable returns the ports that may be open although the Service asks for a restriction that cannot be applied: those that are
// open already, with the restrictions they have. The error is about the others, which stay closed; everything else goes on.
func openable(service *corev1.Service, ports []loadbalancer.Port, o observed) ([]loadbalancer.Port, error) {
	asked := restrictionOf(service)
	if asked == "" {
		return fitting(service, ports, o)
	}
	open := openOf(ports, o)
	if len(open) == len(ports) {
		return ports, nil
	}
	return open, restrictionError{fmt.Errorf("%s cannot be applied by this version yet, and a port that is open to everybody is not what Service %s/%s asks for: "+
		"%d of its ports are not opened; remove it if they may be public", asked, service.Namespace, service.Name, len(ports)-len(open))}
}

// restrictionError is why ports are not opened.
type restrictionError struct{ error }

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
