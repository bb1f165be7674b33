package cloud

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestDesire(t *testing.T) {
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u1"},
		Spec: corev1.ServiceSpec{
			HealthCheckNodePort: 32000,
			Ports: []corev1.ServicePort{
				{Name: "quic", Protocol: corev1.ProtocolUDP, Port: 443, NodePort: 30444},
				{Name: "https", Protocol: corev1.ProtocolTCP, Port: 443, NodePort: 30443},
				{Name: "http", Port: 80, NodePort: 30080},
			},
		},
	}
	owner := OwnerOf("k8s-1", service)
	want := Desired{
		Owner: Owner{Cluster: "k8s-1", Namespace: "shop", Name: "web", UID: "u1"},
		Ports: []Port{
			{Key{corev1.ProtocolTCP, 80}, "http", 30080},
			{Key{corev1.ProtocolTCP, 443}, "https", 30443},
			{Key{corev1.ProtocolUDP, 443}, "quic", 30444},
		},
	}
	got, problems := Desire(owner, service).WithNodePorts()
	if diff := cmp.Diff(want, got); diff != "" || problems != nil {
		t.Errorf("problems %v, desired (-want +got):\n%s", problems, diff)
	}

	service.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
	if got = Desire(owner, service); got.HealthCheckNodePort != 32000 {
		t.Errorf("health check node port with policy Local = %d, want 32000", got.HealthCheckNodePort)
	}

	service.Spec.Ports[0].NodePort = 0
	_, problems = Desire(owner, service).WithNodePorts()
	if len(problems) != 1 || !strings.Contains(problems[0], "port 443 of Service shop/web") ||
		!strings.Contains(problems[0], "allocateLoadBalancerNodePorts") {
		t.Errorf("problems without node port = %v, want one that names the port, the Service and the field to set",
			problems)
	}
	service.Spec.Ports[1].NodePort = 0
	_, problems = Desire(owner, service).WithNodePorts()
	if len(problems) != 1 || !strings.Contains(problems[0], "ports 443, ") {
		t.Errorf("problems of two ports without node ports = %v, want one", problems)
	}
}
