package providerid

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// TestMachineOf: a provider ID names the machine of its Node: one in the namespace, with the name of the Node.
func TestMachineOf(t *testing.T) {
	for name, tt := range map[string]struct {
		node, id string
		want     string // "" is an error
	}{
		"of the Node":           {"a", "ironcore://shoot/a", "a"},
		"another name":          {"a", "ironcore://shoot/b", ""},
		"another namespace":     {"a", "ironcore://other/a", ""},
		"beginning of the name": {"ab", "ironcore://shoot/a", ""},
		"no machine":            {"", "ironcore://shoot/", ""},
		"a path":                {"a/b", "ironcore://shoot/a/b", ""},
		"another cloud":         {"a", "thalassa://shoot/a", ""},
		"none":                  {"a", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := MachineOf("shoot", &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: tt.node},
				Spec: corev1.NodeSpec{ProviderID: tt.id}})
			if got != tt.want || errors.Is(err, cloud.ErrInvalidProviderID) != (tt.want == "") {
				t.Errorf("got %q and %v, want %q", got, err, tt.want)
			}
		})
	}
}
