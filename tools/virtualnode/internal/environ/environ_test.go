package environ

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
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

func newSource() Source {
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "shop", Name: name} }
	return Source{
		Client: fake.NewClientset(
			&corev1.ConfigMap{ObjectMeta: meta("settings"), Data: map[string]string{"COLOUR": "blue", "SIZE": "4"}},
			&corev1.Secret{ObjectMeta: meta("login"), Data: map[string][]byte{"token": []byte("hush")}},
		),
		Pod: &corev1.Pod{
			ObjectMeta: meta("web-1"),
			Spec:       corev1.PodSpec{NodeName: "node-1", Containers: []corev1.Container{{Name: "other"}}},
			Status:     corev1.PodStatus{HostIP: "127.0.0.2"},
		},
		Base: map[string]string{"KUBERNETES_SERVICE_HOST": "127.0.0.1", "HOME": "/home"},
	}
}

func TestOf(t *testing.T) {
	field := func(path string) *corev1.EnvVarSource {
		return &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}
	}
	ref := func(name string) corev1.LocalObjectReference { return corev1.LocalObjectReference{Name: name} }
	yes := true
	c := &corev1.Container{
		Name: "main",
		EnvFrom: []corev1.EnvFromSource{
			{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: ref("settings")}, Prefix: "APP_"},
			{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: ref("login")}},
			{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: ref("absent"), Optional: &yes}},
			{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: ref("absent"), Optional: &yes}},
		},
		Env: []corev1.EnvVar{
			{Name: "KUBERNETES_SERVICE_HOST", Value: "127.0.0.5"},
			{Name: "HOST_IP", ValueFrom: field("status.hostIP")},
			{Name: "ADDRESS", Value: "$(HOST_IP):$(PORT) $(APP_COLOUR)"},
			{Name: "PORT", Value: "80"},
			{Name: "COLOUR",
				ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: ref(
					"settings"), Key: "COLOUR"}}},
			{Name: "SECRET",
				ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: ref(
					"login"), Key: "token"}}},
			{Name: "NONE",
				ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: ref(
					"login"), Key: "x", Optional: &yes}}},
		},
	}
	got, err := newSource().Of(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"KUBERNETES_SERVICE_HOST": "127.0.0.5", "HOME": "/home",
		"APP_COLOUR": "blue", "APP_SIZE": "4", "token": "hush",
		"HOST_IP": "127.0.0.2", "ADDRESS": "127.0.0.2:$(PORT) blue", "PORT": "80",
		"COLOUR": "blue", "SECRET": "hush",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
}

func TestOfErrors(t *testing.T) {
	ref := func(name string) corev1.LocalObjectReference { return corev1.LocalObjectReference{Name: name} }
	tests := []struct {
		name string
		from *corev1.EnvVarSource
		want string
	}{
		{"no ConfigMap",
			&corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: ref("absent"),
				Key: "k"}}, `setting X: reading ConfigMap "absent"`},
		{"no Secret",
			&corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: ref("absent"),
				Key: "k"}}, `setting X: reading Secret "absent"`},
		{"no key",
			&corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: ref("login"), Key: "k"}},
			`setting X: Secret "login" has no key "k"`},
		{"unknown field", &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "spec.x"}},
			`setting X: unknown field path "spec.x"`},
		{"unsupported", &corev1.EnvVarSource{FileKeyRef: &corev1.FileKeySelector{}},
			"setting X: virtual nodes support"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := &corev1.Container{Env: []corev1.EnvVar{{Name: "X", ValueFrom: tt.from}}}
			if _, err := newSource().Of(t.Context(), c); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("error = %v, want one starting with %q", err, tt.want)
			}
		})
	}
	c :=
		&corev1.Container{EnvFrom: []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: ref(
			"absent")}}}}
	if _, err := newSource().Of(t.Context(), c); err == nil {
		t.Error("envFrom a missing Secret gave no error")
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
