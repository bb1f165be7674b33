package downward

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestField(t *testing.T) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web-1", UID: "uid-1",
			Labels:      map[string]string{"tier": "front", "app.kubernetes.io/name": "web"},
			Annotations: map[string]string{"note": "two\nlines"},
		},
		Spec: corev1.PodSpec{NodeName: "node-1", ServiceAccountName: "web"},
		Status: corev1.PodStatus{
			HostIP: "127.0.0.2", HostIPs: []corev1.HostIP{{IP: "127.0.0.2"}},
			PodIP: "10.244.1.2", PodIPs: []corev1.PodIP{{IP: "10.244.1.2"}, {IP: "fd00::2"}},
		},
	}
	for path, want := range map[string]string{
		"metadata.name":                             "web-1",
		"metadata.namespace":                        "shop",
		"metadata.uid":                              "uid-1",
		"metadata.labels":                           "app.kubernetes.io/name=\"web\"\ntier=\"front\"",
		"metadata.annotations":                      `note="two\nlines"`,
		"metadata.labels['tier']":                   "front",
		"metadata.labels['app.kubernetes.io/name']": "web",
		"metadata.labels['none']":                   "",
		"metadata.annotations['note']":              "two\nlines",
		"spec.nodeName":                             "node-1",
		"spec.serviceAccountName":                   "web",
		"status.hostIP":                             "127.0.0.2",
		"status.hostIPs":                            "127.0.0.2",
		"status.podIP":                              "10.244.1.2",
		"status.podIPs":                             "10.244.1.2,fd00::2",
	} {
		t.Run(path, func(t *testing.T) {
			if got, err := Field(pod, path); err != nil || got != want {
				t.Errorf("Field = %q, %v; want %q", got, err, want)
			}
		})
	}
	if got, err := Field(pod, "spec.tolerations"); err == nil {
		t.Errorf("Field of an unknown path = %q, want an error", got)
	}
}

func TestResource(t *testing.T) {
	c := &corev1.Container{Resources: corev1.ResourceRequirements{
		Limits:   corev1.ResourceList{"cpu": resource.MustParse("1500m"), "memory": resource.MustParse("1Gi")},
		Requests: corev1.ResourceList{"cpu": resource.MustParse("200m")},
	}}
	node := corev1.ResourceList{"cpu": resource.MustParse("4"), "ephemeral-storage": resource.MustParse("10Gi")}
	tests := []struct{ name, resource, divisor, want string }{
		{"limit rounds up", "limits.cpu", "", "2"},
		{"in millicores", "limits.cpu", "1m", "1500"},
		{"memory in Mi", "limits.memory", "1Mi", "1024"},
		{"request", "requests.cpu", "1m", "200"},
		{"no request", "requests.memory", "", "0"},
		{"no limit is the node's", "limits.ephemeral-storage", "1Gi", "10"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ref := &corev1.ResourceFieldSelector{Resource: tt.resource}
			if tt.divisor != "" {
				ref.Divisor = resource.MustParse(tt.divisor)
			}
			if got, err := Resource(c, node, ref); err != nil || got != tt.want {
				t.Errorf("Resource(%s) = %q, %v; want %q", tt.resource, got, err, tt.want)
			}
		})
	}
	if _, err := Resource(c, node, &corev1.ResourceFieldSelector{Resource: "cpu"}); err == nil {
		t.Error("Resource of an unknown kind gave no error")
	}
}
