package balancer

import (
	"strings"
	"testing"

	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/annotation"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/label"
)

// TestMisspeltAnnotations: a name that probably means the annotation for internal load balancers refuses the load
// balancer, because it must not be public. Other unknown names are only reported.
func TestMisspeltAnnotations(t *testing.T) {
	const refused = "Until it is corrected or removed, the load balancer is not created"
	for title, tt := range map[string]struct {
		annotations map[string]string // without the prefix
		kind        networkingv1alpha1.LoadBalancerType
		notices     []string
	}{
		"none":              {nil, "Public", nil},
		"a value":           {map[string]string{"load-balancer-internal": " true "}, "Internal", nil},
		"no boolean":        {map[string]string{"load-balancer-internal": "yes"}, "", []string{refused}},
		"empty":             {map[string]string{"load-balancer-internal": ""}, "", []string{refused}},
		"a letter is wrong": {map[string]string{"load-balancer-internl": "true"}, "", []string{refused}},
		"a dash is missing": {map[string]string{"loadbalancer-internal": "true"}, "", []string{refused}},
		"for a port":        {map[string]string{"load-balancer-internal.80": "true"}, "", []string{refused}},
		"another word":      {map[string]string{"lb-scheme": "private"}, "", []string{refused}},
		"both": {map[string]string{"load-balancer-internal": "true", "loadbalancer-internal": "true"}, "Internal",
			[]string{"did you mean " + label.Internal + "?"}},
		"something else": {map[string]string{"load-balancer-proxy-protocol": "true"}, "Public",
			[]string{"is not known and has no effect; known are load-balancer-internal"}},
		"of the other cloud": {map[string]string{"max-targets": "5"}, "Public",
			[]string{"the number of destinations of a load balancer of IronCore cannot be limited"}},
	} {
		t.Run(title, func(t *testing.T) {
			s := service(func(s *corev1.Service) { s.Annotations = map[string]string{} })
			for name, value := range tt.annotations {
				s.Annotations[label.ServicePrefix+name] = value
			}
			found := compare(t, config(), Request{Service: s, Observed: none()})
			want(t, "is refused", found.Refused != nil, tt.kind == "")
			if tt.kind != "" {
				want(t, "type", applied(t, found).Type, tt.kind)
			} else {
				want(t, "plan", found.Plan.String(), "")
				wantText(t, "refusal", found.Refused.Error(), label.ServicePrefix)
			}
			want(t, "notices", len(found.Notices), len(tt.notices))
			for i, notice := range found.Notices {
				want(t, "reason", notice.Reason, reasonAnnotation)
				wantText(t, "notice", notice.Message, tt.notices[i])
			}
		})
	}
}

// TestForeignAnnotations: internal in another product is not public here. Like spec.loadBalancerSourceRanges, allowed
// sources are reported as not applied. Annotations that nobody knows are not read.
func TestForeignAnnotations(t *testing.T) {
	const beta = "service.beta.kubernetes.io/"
	const sources = "cannot limit the source addresses, and accept all clients: use a NetworkPolicy"
	for title, tt := range map[string]struct {
		annotations map[string]string
		kind        networkingv1alpha1.LoadBalancerType // "" if it is refused
		notice      string                              // "" for none
	}{
		"unknown": {map[string]string{beta + "internal": "true", "example.com/internal": "x"}, "Public", ""},
		"internal in AWS": {map[string]string{beta + "aws-load-balancer-internal": "true"}, "",
			"set " + label.Internal + " to true"},
		"internal on Thalassa Cloud": {map[string]string{"loadbalancer.k8s.thalassa.cloud/internal": "true"}, "",
			"Thalassa Cloud"},
		"its type": {map[string]string{"loadbalancer.k8s.thalassa.cloud/type": "internal"}, "", "Thalassa Cloud"},
		"public on Thalassa Cloud": {map[string]string{"loadbalancer.k8s.thalassa.cloud/type": "public",
			"loadbalancer.k8s.thalassa.cloud/internal": "False"}, "Public", ""},
		"internal in AWS and here": {map[string]string{beta + "aws-load-balancer-internal": "true",
			label.Internal: "true"}, "Internal", ""},
		"internal in AWS and not here": {map[string]string{beta + "aws-load-balancer-internal": "true",
			label.Internal: "false"}, "Public", ""},
		"sources on Thalassa Cloud": {map[string]string{
			"loadbalancer.k8s.thalassa.cloud/acl-port-http": "10.0.0.0/8"}, "Public", sources},
		"sources in Azure": {map[string]string{beta + "azure-allowed-ip-ranges": "10.0.0.0/8"}, "Public", sources},
		"a health check":   {map[string]string{beta + "aws-load-balancer-healthcheck-path": "/x"}, "Public", "Local"},
	} {
		t.Run(title, func(t *testing.T) {
			found := compare(t, config(), Request{Observed: none(), Service: service(func(s *corev1.Service) {
				s.Annotations = tt.annotations
			})})
			want(t, "is refused", found.Refused != nil, tt.kind == "")
			if tt.kind != "" {
				want(t, "type", applied(t, found).Type, tt.kind)
			} else {
				want(t, "plan", found.Plan.String(), "")
			}
			want(t, "notices", len(found.Notices), map[bool]int{true: 0, false: 1}[tt.notice == ""])
			for _, notice := range found.Notices {
				want(t, "reason", notice.Reason, map[bool]string{true: reasonAnnotation,
					false: reasonUnsupported}[tt.kind == ""])
				wantText(t, "notice", notice.Message, tt.notice)
			}
		})
	}
}

// TestEveryConceptHasAReplacement: each annotation in the table is reported.
func TestEveryConceptHasAReplacement(t *testing.T) {
	for _, concept := range annotation.Concepts() {
		own, declared := Registry().Replacement(concept)
		if !declared || own.Instead == "" || strings.HasSuffix(own.Instead, ".") {
			t.Errorf("%s: %+v", concept, own)
		}
	}
}
