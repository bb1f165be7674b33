package source

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

func TestData(t *testing.T) {
	meta := metav1.ObjectMeta{Namespace: "shop", Name: "one"}
	client := fake.NewClientset(
		&corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"a": "config"}},
		&corev1.Secret{ObjectMeta: meta, Data: map[string][]byte{"a": []byte("secret")}},
	)
	tests := []struct {
		name    string
		object  Object
		want    map[string][]byte
		problem string
	}{
		{"ConfigMap", Object{Namespace: "shop", Name: "one"}, map[string][]byte{"a": []byte("config")}, ""},
		{"Secret", Object{Secret: true, Namespace: "shop", Name: "one"}, map[string][]byte{"a": []byte("secret")}, ""},
		{"optional", Object{Secret: true, Namespace: "shop", Name: "two", Optional: true}, nil, ""},
		{"missing", Object{Namespace: "shop", Name: "two"}, nil, `reading ConfigMap "two": configmaps "two" not found`},
		{"missing Secret", Object{Secret: true, Namespace: "x", Name: "one"}, nil,
			`reading Secret "one": secrets "one" not found`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.object.Data(t.Context(), client)
			if (err == nil) != (tt.problem == "") || err != nil && err.Error() != tt.problem {
				t.Errorf("error = %v, want %q", err, tt.problem)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("data (-want +got):\n%s", diff)
			}
		})
	}
}

func TestField(t *testing.T) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1", UID: "uid-1"},
		Spec:       corev1.PodSpec{NodeName: "node-1", ServiceAccountName: "web"},
		Status:     corev1.PodStatus{HostIP: "127.0.0.2", PodIP: "10.244.1.2"},
	}
	for path, want := range map[string]string{
		"metadata.name": "web-1", "metadata.namespace": "shop", "metadata.uid": "uid-1", "spec.nodeName": "node-1",
		"spec.serviceAccountName": "web", "status.hostIP": "127.0.0.2", "status.podIP": "10.244.1.2",
	} {
		if got, err := Field(pod, path); err != nil || got != want {
			t.Errorf("Field(%s) = %q, %v; want %q", path, got, err, want)
		}
	}
	if got, err := Field(pod, "metadata.labels"); err == nil {
		t.Errorf("Field of an unknown path = %q, want an error", got)
	}
}
