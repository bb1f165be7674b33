package simulator

import (
	"strings"
	"testing"

	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	applyv1alpha1 "github.com/ironcore-dev/ironcore/client-go/applyconfigurations/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"
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

func (r *rig) apply(manager string, force bool, port int32) (*networkingv1alpha1.LoadBalancer, error) {
	r.Helper()
	return r.clients.LoadBalancers.Apply(r.Context(), applyv1alpha1.LoadBalancer("lb", "shoot").WithSpec(
		applyv1alpha1.LoadBalancerSpec().WithType(networkingv1alpha1.LoadBalancerTypePublic).
			WithIPFamilies(corev1.IPv4Protocol).WithNetworkRef(corev1.LocalObjectReference{Name: "net"}).
			WithPorts(applyv1alpha1.LoadBalancerPort().WithPort(port))),
		metav1.ApplyOptions{FieldManager: manager, Force: force})
}

func TestApply(t *testing.T) {
	r := newRig(t, Options{})
	first, err := r.apply("one", false, 80)
	if err != nil {
		t.Fatal(err)
	}
	want(t, "type", first.Spec.Type, networkingv1alpha1.LoadBalancerTypePublic)
	current, _ := r.LoadBalancer("lb")
	again, err := r.apply("one", false, 80)
	want(t, "error", err, nil)
	want(t, "version of the same", again.ResourceVersion, current.ResourceVersion)
	_, err = r.apply("two", false, 81)
	want(t, "conflict", apierrors.IsConflict(err), true)
	status, _ := err.(*apierrors.StatusError)
	want(t, "names the manager", strings.Contains(status.ErrStatus.Details.Causes[0].Message, `"one"`), true)
	want(t, "field", status.ErrStatus.Details.Causes[0].Field, ".spec.ports")
	forced, err := r.apply("two", true, 81)
	want(t, "error", err, nil)
	want(t, "port", forced.Spec.Ports[0].Port, 81)
	_, err = r.apply("one", false, 80)
	want(t, "conflict", apierrors.IsConflict(err), true)
}
