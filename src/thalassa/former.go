package thalassa

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
)

// Differences returns what this program does differently for a Service from the existing cloud controller manager
// (version 0.12.0), one sentence each, as far as the Service itself shows it.
func Differences(service *corev1.Service) []string {
	if service.Spec.Type != corev1.ServiceTypeLoadBalancer {
		return nil
	}
	differences := slices.Concat(rangesApplied(service), addressesApplied(service))
	if address := service.Spec.LoadBalancerIP; address != "" {
		differences = append(differences, fmt.Sprintf("spec.loadBalancerIP %s still has no effect on the existing "+
			"load balancer, and an event reports this. To have the address, use the annotation %sreserved-ip.", address,
			label.AnnotationPrefix))
	}
	asked := func(name string) string { return service.Annotations[label.AnnotationPrefix+name] }
	if asked("type") == "internal" && asked("internal") != "true" {
		differences = append(differences, "type: internal is applied to new load balancers. A public load balancer "+
			"stays public, and an event reports this.")
	}
	if asked("internal") == "true" {
		differences = append(differences, "The address in the subnet is published in the status of the Service.")
	}
	return differences
}

// rangesApplied is about source ranges, which had no effect.
func rangesApplied(service *corev1.Service) []string {
	source, ranges := "spec.loadBalancerSourceRanges", strings.Join(service.Spec.LoadBalancerSourceRanges, ", ")
	if ranges == "" {
		source = "the annotation " + corev1.AnnotationLoadBalancerSourceRangesKey
		ranges = strings.TrimSpace(service.Annotations[corev1.AnnotationLoadBalancerSourceRangesKey])
	}
	if ranges == "" {
		return nil
	}
	return []string{fmt.Sprintf("%s had no effect and is applied: clients outside %s are refused. Ask the owner "+
		"whether the networks are right.", source, ranges)}
}

// addressesApplied is about single addresses among allowed sources, which were dropped.
func addressesApplied(service *corev1.Service) []string {
	var found []string
	for key, value := range service.Annotations {
		if !strings.HasPrefix(key, label.AnnotationPrefix+"acl-") {
			continue
		}
		for source := range strings.SplitSeq(value, ",") {
			if address, err := netip.ParseAddr(strings.TrimSpace(source)); err == nil {
				found = append(found, fmt.Sprintf("%s in the annotation %s had no effect and is applied: if the port "+
					"has no other network, all other clients are refused. Ask the owner whether it is "+
					"right.", address, key))
			}
		}
	}
	slices.Sort(found)
	return found
}
