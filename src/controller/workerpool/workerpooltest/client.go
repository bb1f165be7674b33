package workerpooltest

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
)

// NewClient returns a cluster in memory with these objects. It knows no managed fields, so it refuses server-side apply:
// with them, every write builds a table of all kinds, which takes a twentieth of the time of src/thalassa's tests.
func NewClient(objects ...runtime.Object) *fake.Clientset {
	return fake.NewSimpleClientset(objects...) //nolint:staticcheck // The successor is the one with managed fields.
}
