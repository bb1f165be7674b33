package balancer

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
)

// FuzzAnnotations: whatever a Service says, what is sent to the cloud is within the limits of its API, and what is not
// used is reported.
func FuzzAnnotations(f *testing.F) {
	for name, value := range map[string]string{
		"max-connections": "1073741825", "idle-connection-timeout": "-0", "loadbalancing-policy": "maglev",
		"enable-proxy-protocol": "T",
		"type":                  "internal", "acl-": "0.0.0.0/0", "max-conections": "", "": "x",
	} {
		f.Add(name, value)
	}
	f.Fuzz(func(t *testing.T, name, value string) {
		all, problems := newAnnotations().read(&corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{label.AnnotationPrefix + name: value,
				"foreign/" +
					name: value}},
			Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}}},
		})
		read := all.ports[cloud.Key{Protocol: corev1.ProtocolTCP, Port: 80}]
		if limit := read.listener[0].Value; limit < 1 || limit > maxConnectionsLimit {
			t.Errorf("%d connections", limit)
		}
		if limit := read.listener[1].Value; limit < 1 || limit > maxIdleSeconds {
			t.Errorf("%d seconds without traffic", limit)
		}
		if policy := read.policy.Value; !slices.Contains([]string{"ROUND_ROBIN", "RANDOM", "MAGLEV"}, policy) {
			t.Errorf("policy %q", policy)
		}
		reported := slices.ContainsFunc(problems, func(n cloud.Notice) bool {
			return strings.Contains(n.Message, label.AnnotationPrefix+name)
		})
		unused := read.policy.Invalid || read.proxyProtocol.Invalid || read.listener[0].Invalid ||
			read.listener[1].Invalid
		if len(problems) > 1 || reported != (len(problems) == 1) || (unused && !reported) {
			t.Errorf("%s = %q: reported %v, not used %v", name, value, problems, unused)
		}
	})
}
