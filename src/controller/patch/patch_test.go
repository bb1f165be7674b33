package patch_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/thalassa-cloud/thalassa-ccm/src/controller/patch"
)

// TestSend: a patch names the object and version it was computed for, and null removes a key.
func TestSend(t *testing.T) {
	value := "b"
	body := patch.Body{
		Metadata: patch.Metadata{UID: "u", ResourceVersion: "7", Labels: map[string]*string{"a": nil, "k": &value}},
		Spec:     map[string]any{"unschedulable": true},
	}
	want := `{"metadata":{"uid":"u","resourceVersion":"7","labels":{"a":null,"k":"b"}},"spec":{"unschedulable":true}}`
	method := func(_ context.Context, name string, kind types.PatchType, data []byte, _ metav1.PatchOptions,
		parts ...string) (*corev1.Node, error) {
		if len(parts) != 1 || parts[0] != "status" || string(data) != want {
			t.Errorf("%s of %q: %s, want %s of the status", kind, name, data, want)
		}
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name + " " + string(kind)}}, nil
	}
	if after, err := patch.Merge(t.Context(), method, "x", body, "status"); err != nil ||
		after.Name != "x application/merge-patch+json" {
		t.Errorf("merge: %v, %v", after, err)
	}
	after, err := patch.Strategic(t.Context(), method, "x", body, "status")
	if err != nil || after.Name != "x application/strategic-merge-patch+json" {
		t.Errorf("strategic merge: %v, %v", after, err)
	}
}

// TestTimeout: a request that the API server never answers ends, with the reason.
func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		_, err := patch.Merge(t.Context(), func(ctx context.Context, _ string, _ types.PatchType, _ []byte,
			_ metav1.PatchOptions, _ ...string) (*corev1.Node, error) {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}, "x", patch.Body{})
		if err == nil || err.Error() != "no answer within 30s" || time.Since(began) != patch.Timeout {
			t.Errorf("error %v after %s", err, time.Since(began))
		}
	})
}
