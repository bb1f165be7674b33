package simulator

import (
	"testing"
	"testing/synctest"
	"time"

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
	want(t, "failed test", apierrors.IsInvalid(err), true)
	removed, err := r.patch(types.JSONPatchType, `[{"op":"test","path":"/spec/prefixes/0/value","value":"100.0.0.1/24"},
		{"op":"remove","path":"/spec/prefixes/0"}]`)
	want(t, "error", err, nil)
	want(t, "prefixes", len(removed.Spec.Prefixes), 0)
	want(t, "first write", r.Writes()[0], "patch networkinterfaces/a-primary")
}

func TestDeletion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Deletion: time.Minute})
		lb := r.createBalancer("lb", unchanged)
		remove := func(p metav1.Preconditions) error {
			return r.clients.LoadBalancers.Delete(t.Context(), "lb", metav1.DeleteOptions{Preconditions: &p})
		}
		other := types.UID("other")
		want(t, "other uid", apierrors.IsConflict(remove(metav1.Preconditions{UID: &other})), true)
		err := remove(metav1.Preconditions{ResourceVersion: &lb.ResourceVersion})
		want(t, "old version", apierrors.IsConflict(err), true)
		held := networkingv1alpha1.LoadBalancer{}
		want(t, "error", r.clients.Delete(t.Context(), "loadbalancers", "lb", metav1.DeleteOptions{}, &held), nil)
		want(t, "answer is the object", held.DeletionTimestamp != nil && held.UID == lb.UID, true)
		want(t, "error of the second time", remove(metav1.Preconditions{UID: &lb.UID}), nil)
		deleted, _ := r.LoadBalancer("lb")
		want(t, "is being deleted", deleted.DeletionTimestamp != nil, true)
		deleted.Finalizers = append(deleted.Finalizers, "example.com/late")
		_, err = r.clients.LoadBalancers.Update(t.Context(), deleted, metav1.UpdateOptions{})
		want(t, "new finalizer", apierrors.IsInvalid(err), true)
		_, err = r.clients.LoadBalancers.Create(t.Context(), balancer("lb"), metav1.CreateOptions{})
		want(t, "cannot be created yet", apierrors.IsAlreadyExists(err), true)
		pass(2 * time.Minute)
		want(t, "gone", apierrors.IsNotFound(remove(metav1.Preconditions{})), true)
		created := r.createBalancer("lb", unchanged)
		want(t, "new uid", created.UID != lb.UID, true)
	})
}
