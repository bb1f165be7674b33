package environ

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestExpand(t *testing.T) {
	values := map[string]string{"HOST": "127.0.0.2", "EMPTY": "", "REF": "$(HOST)"}
	tests := []struct{ in, want string }{
		{"--bind-address=$(HOST)", "--bind-address=127.0.0.2"},
		{"$(HOST)$(HOST)", "127.0.0.2127.0.0.2"},
		{"$(EMPTY)x", "x"},
		{"$(UNKNOWN)", "$(UNKNOWN)"},
		{"$$(HOST)", "$(HOST)"},
		{"$$$(HOST)", "$127.0.0.2"},
		{"$(HOST", "$(HOST"},
		{"$HOST and ${HOST}", "$HOST and ${HOST}"},
		{"ends with $", "ends with $"},
		{"$(REF)", "$(HOST)"},
		{"", ""},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			if got := Expand(tt.in, values); got != tt.want {
				t.Errorf("Expand(%q) = %q, want %q", tt.in, got, tt.want)
			}
		})
	}
}

func FuzzExpand(f *testing.F) {
	f.Add("$(A) $$(B) $(")
	f.Fuzz(func(t *testing.T, text string) {
		if got := Expand(strings.ReplaceAll(text, "$", "$$"), map[string]string{"A": "x"}); got != text {
			t.Errorf("escaped %q expanded to %q", text, got)
		}
	})
}

func newPod() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1", UID: "uid-1"},
		Spec:       corev1.PodSpec{NodeName: "node-1", ServiceAccountName: "web"},
		Status:     corev1.PodStatus{HostIP: "127.0.0.2", PodIP: "10.244.1.2"},
	}
}

func TestOf(t *testing.T) {
	base := map[string]string{"KUBERNETES_SERVICE_HOST": "127.0.0.1", "HOME": "/home"}
	got, err := Of(newPod(), &corev1.Container{Env: []corev1.EnvVar{
		{Name: "KUBERNETES_SERVICE_HOST", Value: "127.0.0.5"},
		{Name: "HOST_IP",
			ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.hostIP"}}},
		{Name: "ADDRESS", Value: "$(HOST_IP):$(PORT)"},
		{Name: "PORT", Value: "80"},
	}}, base)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"KUBERNETES_SERVICE_HOST": "127.0.0.5", "HOME": "/home",
		"HOST_IP": "127.0.0.2", "ADDRESS": "127.0.0.2:$(PORT)", "PORT": "80",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	if base["KUBERNETES_SERVICE_HOST"] != "127.0.0.1" {
		t.Errorf("the base has become %v", base)
	}
}

func TestOfErrors(t *testing.T) {
	x := func(from corev1.EnvVarSource) corev1.Container {
		return corev1.Container{Env: []corev1.EnvVar{{Name: "X", ValueFrom: &from}}}
	}
	for want, c := range map[string]corev1.Container{
		`setting X: unknown field path "spec.x"`: x(corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{
			FieldPath: "spec.x"}}),
		"setting X: virtual nodes support value and fieldRef only": x(corev1.EnvVarSource{
			SecretKeyRef: &corev1.SecretKeySelector{}}),
		"virtual nodes do not support envFrom": {EnvFrom: []corev1.EnvFromSource{{}}},
	} {
		if _, err := Of(newPod(), &c, nil); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error = %v, want one starting with %q", err, want)
		}
	}
}

func TestField(t *testing.T) {
	for path, want := range map[string]string{
		"metadata.name": "web-1", "metadata.namespace": "shop", "metadata.uid": "uid-1", "spec.nodeName": "node-1",
		"spec.serviceAccountName": "web", "status.hostIP": "127.0.0.2", "status.podIP": "10.244.1.2",
	} {
		if got, err := Field(newPod(), path); err != nil || got != want {
			t.Errorf("Field(%s) = %q, %v; want %q", path, got, err, want)
		}
	}
}

func TestCommandLine(t *testing.T) {
	values := map[string]string{"HOST_IP": "127.0.0.2"}
	tests := []struct {
		name          string
		command, args []string
		want          []string
	}{
		{"neither", nil, nil, []string{"/bin/ccm"}},
		{"args only", nil, []string{"--bind-address=$(HOST_IP)"}, []string{"/bin/ccm", "--bind-address=127.0.0.2"}},
		{"command names the program", []string{"/ccm"}, []string{"--v=2"}, []string{"/bin/ccm", "--v=2"}},
		{"command with words", []string{"/ccm", "run", "$$x"}, []string{"--v=2"}, []string{"/bin/ccm", "run", "$x",
			"--v=2"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := CommandLine("/bin/ccm", &corev1.Container{Command: tt.command, Args: tt.args}, values)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("CommandLine (-want +got):\n%s", diff)
			}
		})
	}
}
