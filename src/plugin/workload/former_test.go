package workload

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestFormer: the existing program is recognised by its executable, its image or its cloud, and this one never is.
func TestFormer(t *testing.T) {
	former := Former{Cloud: "cloudy", Programs: []string{"cloud-provider-cloudy"}}
	for name, test := range map[string]struct {
		container corev1.Container
		want      bool
	}{
		"executable": {corev1.Container{Command: []string{"/bin/cloud-provider-cloudy"}}, true},
		"image": {corev1.Container{Image: "ghcr.io/cloudy/cloud-provider-cloudy/cloud-controller-manager:v1@sha256:0"},
			true},
		"image with a tag":      {corev1.Container{Image: "registry.example:5000/cloud-provider-cloudy:v1"}, true},
		"cloud":                 {corev1.Container{Image: "copy:v1", Args: []string{"--cloud-provider=cloudy"}}, true},
		"this program":          {corev1.Container{Command: []string{"/" + Program, "--cloud-provider=cloudy"}}, false},
		"another cloud":         {corev1.Container{Image: "copy:v1", Args: []string{"--cloud-provider=other"}}, false},
		"a part of its name":    {corev1.Container{Image: "ghcr.io/cloudy/cloud-provider-cloudy-proxy:v1"}, false},
		"something else at all": {corev1.Container{Image: "coredns:v1"}, false},
	} {
		if got := former.is(test.container); got != test.want {
			t.Errorf("%s: got %t, want %t", name, got, test.want)
		}
	}
}
