package simulator

import (
	"testing"
	"testing/synctest"
	"time"

	commonv1alpha1 "github.com/ironcore-dev/ironcore/api/common/v1alpha1"
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

func TestUpdates(t *testing.T) {
	r := newRig(t, Options{})
	created := r.createBalancer("lb", unchanged)
	update := func(change func(*networkingv1alpha1.LoadBalancer)) (*networkingv1alpha1.LoadBalancer, error) {
		lb, _ := r.LoadBalancer("lb")
		change(lb)
		return r.clients.LoadBalancers.Update(t.Context(), lb, metav1.UpdateOptions{})
	}
	_, err := update(func(lb *networkingv1alpha1.LoadBalancer) { lb.ResourceVersion = "" })
	want(t, "without version", apierrors.IsInvalid(err), true)
	_, err = update(func(lb *networkingv1alpha1.LoadBalancer) { lb.ResourceVersion = created.ResourceVersion })
	want(t, "version before the finalizer", apierrors.IsConflict(err), true)
	_, err = update(func(lb *networkingv1alpha1.LoadBalancer) { lb.UID = "other" })
	want(t, "other uid", apierrors.IsConflict(err), true)
	_, err = update(func(lb *networkingv1alpha1.LoadBalancer) { lb.Name = "none" })
	want(t, "name without object", apierrors.IsNotFound(err), true)
	updated, err := update(func(lb *networkingv1alpha1.LoadBalancer) { lb.Spec.Ports[0].Port = 81 })
	want(t, "error", err, nil)
	want(t, "port", updated.Spec.Ports[0].Port, 81)
	same, err := update(unchanged)
	want(t, "error", err, nil)
	want(t, "version of the same", same.ResourceVersion, updated.ResourceVersion)
	_, err = r.clients.LoadBalancers.Create(t.Context(), balancer("lb"), metav1.CreateOptions{})
	want(t, "created twice", apierrors.IsAlreadyExists(err), true)
}

func TestStatusSubresource(t *testing.T) {
	r := newRig(t, Options{Provision: time.Hour})
	r.addMachine("a", "10.0.0.1")
	r.createBalancer("lb", unchanged)
	lb, _ := r.LoadBalancer("lb")
	lb.Status.IPs = []commonv1alpha1.IP{commonv1alpha1.NewIP(parse(r, "1.1.1.1"))}
	lb.Spec.Ports[0].Port = 99
	updated, err := r.clients.LoadBalancers.UpdateStatus(t.Context(), lb, metav1.UpdateOptions{})
	want(t, "error", err, nil)
	want(t, "address", updated.Status.IPs[0].String(), "1.1.1.1")
	want(t, "port is kept", updated.Spec.Ports[0].Port, 80)
	want(t, "write", r.Writes()[1], "update loadbalancers/lb/status")
	nic, _ := r.NetworkInterface("a-primary")
	nic.Spec.ProviderID, nic.Status.State = "x", networkingv1alpha1.NetworkInterfaceStateError
	changed, err := r.clients.NetworkInterfaces.UpdateStatus(t.Context(), nic, metav1.UpdateOptions{})
	want(t, "error", err, nil)
	want(t, "state", changed.Status.State, networkingv1alpha1.NetworkInterfaceStateError)
	want(t, "provider ID is kept", changed.Spec.ProviderID != "x", true)
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

func TestClientRemovesFinalizer(t *testing.T) {
	r := newRig(t, Options{})
	r.addMachine("a", "10.0.0.1")
	r.ChangeNetworkInterface("a-primary", func(n *networkingv1alpha1.NetworkInterface) {
		n.Finalizers = []string{"example.com/x"}
	})
	r.DeleteMachine("a")
	nic, ok := r.NetworkInterface("a-primary")
	want(t, "exists while it is deleted", ok && nic.DeletionTimestamp != nil, true)
	_, err := r.patch(types.MergePatchType, `{"metadata":{"finalizers":null}}`)
	want(t, "error", err, nil)
	_, ok = r.NetworkInterface("a-primary")
	want(t, "exists", ok, false)
}
