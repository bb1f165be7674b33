package machine

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestTaintOf: the effect is after the last dot.
func TestTaintOf(t *testing.T) {
	for text, want := range map[string]corev1.Taint{
		"NoSchedule": {Key: "k", Effect: "NoSchedule"}, "gpu.NoSchedule": {Key: "k", Value: "gpu",
			Effect: "NoSchedule"},
		"1.2.NoExecute": {Key: "k", Value: "1.2", Effect: "NoExecute"}, "": {Key: "k"},
		"gpu": {Key: "k", Effect: "gpu"},
	} {
		if got := taintOf("k", text); got != want {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
}
