package thalassa

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestDifferences: what changes for a Service is found in the Service.
func TestDifferences(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*corev1.Service)
		want   []string // parts of the sentences, in order
	}{
		"nothing": {func(*corev1.Service) {}, nil},
		"another type": {func(s *corev1.Service) {
			s.Spec.Type = corev1.ServiceTypeNodePort
			ranges("10.0.0.0/8")(s)
		}, nil},
		"source ranges": {ranges("10.0.0.0/8", "192.0.2.0/24"), []string{"spec.loadBalancerSourceRanges had no " +
			"effect and is applied: clients outside 10.0.0.0/8, 192.0.2.0/24"}},
		"source ranges by annotation": {func(s *corev1.Service) {
			s.Annotations[corev1.AnnotationLoadBalancerSourceRangesKey] = "10.0.0.0/8"
		}, []string{"the annotation " + corev1.AnnotationLoadBalancerSourceRangesKey + " had no effect"}},
		"single addresses": {annotated("acl-allowed-sources", "10.0.0.0/8, 192.0.2.10", "acl-port-80", "2001:db8::1"),
			[]string{"192.0.2.10 in the annotation", "2001:db8::1 in the annotation"}},
		"an address in the spec": {func(s *corev1.Service) { s.Spec.LoadBalancerIP = "192.0.2.1" },
			[]string{"spec.loadBalancerIP 192.0.2.1 still has no effect"}},
		"type internal": {annotated("type", "internal"), []string{"type: internal is applied to new load balancers"}},
		"internal":      {annotated("internal", "true"), []string{"The address in the subnet is published"}},
	} {
		t.Run(name, func(t *testing.T) {
			one := service("web", 80)
			test.change(one)
			got := Differences(one)
			if len(got) != len(test.want) {
				t.Fatalf("got %q, want %q", got, test.want)
			}
			for i, part := range test.want {
				if !strings.Contains(got[i], part) {
					t.Errorf("%q lacks %q", got[i], part)
				}
			}
		})
	}
}
