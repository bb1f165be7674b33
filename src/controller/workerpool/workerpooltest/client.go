package workerpooltest

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
)

// A watch of a cluster in memory panics when a test writes more objects than this before its informer has read them.
// The library's own limit is 100.
func init() { watch.DefaultChanSize = 10_000 } //nolint:gochecknoinits // Only a variable of the library sets it.

// NewClient returns a cluster in memory with these objects. It keeps no managed fields, so it refuses server-side
// apply: with them, each write builds a table of all kinds, which takes half of the processor time of tests with many
// Nodes.
func NewClient(objects ...runtime.Object) *fake.Clientset {
	return fake.NewSimpleClientset(objects...)
}
