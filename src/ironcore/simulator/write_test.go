package simulator

import (
	"testing"

	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func (r *rig) patch(kind types.PatchType, patch string) (*networkingv1alpha1.NetworkInterface, error) {
	r.Helper()
	return r.clients.NetworkInterfaces.Patch(r.Context(), "a-primary", kind, []byte(patch), metav1.PatchOptions{})
}

func TestPatches(t *testing.T) {
	r := newRig(t, Options{})
	r.addMachine("a", "10.0.0.1")
	before, _ := r.NetworkInterface("a-primary")
	same, err := r.patch(types.MergePatchType, `{}`)
	want(t, "error of an empty patch", err, nil)
	want(t, "version after an empty patch", same.ResourceVersion, before.ResourceVersion)
	changed, err := r.patch(types.MergePatchType, `{"metadata":{"resourceVersion":"`+before.ResourceVersion+`"},
		"spec":{"prefixes":[{"value":"100.0.0.1/24"}]}}`)
	want(t, "error", err, nil)
	want(t, "prefix", changed.Spec.Prefixes[0].Value.String(), "100.0.0.1/24")
	_, err = r.patch(types.MergePatchType, `{"metadata":{"resourceVersion":"`+before.ResourceVersion+`"},
		"spec":{"prefixes":[]}}`)
	want(t, "conflict", apierrors.IsConflict(err), true)
	_, err = r.patch(types.JSONPatchType, `[{"op":"test","path":"/spec/prefixes/0/value","value":"1.2.3.0/24"},
		{"op":"remove","path":"/spec/prefixes/0"}]`)
	want(t, "failed test", apierrors.ReasonForError(err), metav1.StatusReasonInvalid)
	removed, err := r.patch(types.JSONPatchType, `[{"op":"test","path":"/spec/prefixes/0/value","value":"100.0.0.1/24"},
		{"op":"remove","path":"/spec/prefixes/0"}]`)
	want(t, "error", err, nil)
	want(t, "prefixes", len(removed.Spec.Prefixes), 0)
	_, err = r.patch(types.MergePatchType, `{"spec":{"networkRef":{"name":"other"}}}`)
	want(t, "immutable", apierrors.IsInvalid(err), true)
	want(t, "first write", r.Writes()[0], "patch networkinterfaces/a-primary")
}
