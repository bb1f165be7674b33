package balancer

import (
	"testing"

	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"

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

// TestForeignAnnotations: annotations with another prefix are not read.
func TestForeignAnnotations(t *testing.T) {
	found := compare(t, config(), Request{Observed: none(), Service: service(func(s *corev1.Service) {
		s.Annotations = map[string]string{"service.beta.kubernetes.io/internal": "true", "example.com/internal": "x"}
	})})
	want(t, "type", applied(t, found).Type, networkingv1alpha1.LoadBalancerTypePublic)
	want(t, "notices", len(found.Notices), 0)
}
