package simulator

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	commonv1alpha1 "github.com/ironcore-dev/ironcore/api/common/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/client"
)

// rig is a simulator with a client.
type rig struct {
	*testing.T
	*Simulator
	clients *client.Client
}

func newRig(t *testing.T, options Options) *rig {
	t.Helper()
	options.Namespace, options.Network = "shoot", "net"
	s := New(options)
	clients, err := client.New(s.Config(), "shoot")
	if err != nil {
		t.Fatal(err)
	}
	return &rig{T: t, Simulator: s, clients: clients}
}

func (r *rig) addMachine(name, address string) {
	r.Helper()
	r.AddMachine(Machine{Name: name, Addresses: []netip.Addr{parse(r, address)}})
}

func parse(r *rig, address string) netip.Addr {
	r.Helper()
	a, err := netip.ParseAddr(address)
	if err != nil {
		r.Fatal(err)
	}
	return a
}

func (r *rig) createBalancer(
	name string, change func(*networkingv1alpha1.LoadBalancer),
) *networkingv1alpha1.LoadBalancer {
	r.Helper()
	lb := balancer(name)
	change(lb)
	created, err := r.clients.LoadBalancers.Create(r.Context(), lb, metav1.CreateOptions{})
	if err != nil {
		r.Fatal(err)
	}
	return created
}

func unchanged(*networkingv1alpha1.LoadBalancer) {}

func balancer(name string) *networkingv1alpha1.LoadBalancer {
	return &networkingv1alpha1.LoadBalancer{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: networkingv1alpha1.LoadBalancerSpec{
			Type:       networkingv1alpha1.LoadBalancerTypePublic,
			IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol},
			NetworkRef: corev1.LocalObjectReference{Name: "net"},
			Ports:      []networkingv1alpha1.LoadBalancerPort{{Port: 80}},
		},
	}
}

func want[T comparable](tb testing.TB, what string, got, want T) {
	tb.Helper()
	if got != want {
		tb.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func TestMachineIsComplete(t *testing.T) {
	r := newRig(t, Options{})
	addresses := []netip.Addr{parse(r, "10.0.0.1"), parse(r, "fd00::1")}
	r.AddMachine(Machine{Name: "a", Zone: "z1", Region: "r1", Addresses: addresses})
	m, err := r.clients.Machines.Get(t.Context(), "a", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want(t, "pool", m.Spec.MachinePoolRef.Name, "pool")
	want(t, "state", m.Status.State, "Running")
	name := m.Status.NetworkInterfaces[0].NetworkInterfaceRef.Name
	nic, err := r.clients.NetworkInterfaces.Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want(t, "interface", nic.Name, "a-primary")
	want(t, "state", nic.Status.State, networkingv1alpha1.NetworkInterfaceStateAvailable)
	want(t, "addresses", len(nic.Status.IPs), 2)
	want(t, "provider ID", nic.Spec.ProviderID, "ironcore-net://shoot/a-primary/pool/"+string(nic.UID))
	want(t, "machine", *nic.Spec.MachineRef, commonv1alpha1.LocalObjUIDRef(m))
	pool, err := r.clients.MachinePools.Get(t.Context(), "pool", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want(t, "zone", pool.Labels["topology.ironcore.dev/zone"], "z1")
	want(t, "writes", len(r.Writes()), 0)
	r.DeleteMachine("a")
	_, err = r.clients.NetworkInterfaces.Get(t.Context(), "a-primary", metav1.GetOptions{})
	want(t, "the interface is deleted as well", apierrors.IsNotFound(err), true)
}

func TestLoadBalancerLivesLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Provision: 3 * time.Second, Deletion: 2 * time.Second})
		created := r.createBalancer("lb", unchanged)
		want(t, "addresses at first", len(created.Status.IPs), 0)
		pass(4 * time.Second)
		lb, _ := r.LoadBalancer("lb")
		if len(lb.Status.IPs) != 2 {
			t.Fatalf("addresses: %v", lb.Status.IPs)
		}
		want(t, "IPv4", lb.Status.IPs[0].String(), "192.0.2.1")
		want(t, "IPv6", lb.Status.IPs[1].String(), "2001:db8::1")
		if err := r.clients.LoadBalancers.Delete(t.Context(), "lb", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		lb, ok := r.LoadBalancer("lb")
		want(t, "exists while it has a finalizer", ok && lb.DeletionTimestamp != nil, true)
		pass(3 * time.Second)
		_, ok = r.LoadBalancer("lb")
		want(t, "exists", ok, false)
	})
}
