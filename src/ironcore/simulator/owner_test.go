package simulator

import (
	"net/netip"
	"testing"

	computev1alpha1 "github.com/ironcore-dev/ironcore/api/compute/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/simulator/role"
)

func TestReferencedInterface(t *testing.T) {
	r := newRig(t, Options{})
	prefix := netip.PrefixFrom(parse(r, "100.64.0.0"), 24)
	r.AddMachine(Machine{Name: "a", Interface: "nic", Entry: "first", Network: "other", Pool: "p", Class: "c",
		Addresses: []netip.Addr{parse(r, "10.0.0.1")}, Prefixes: []netip.Prefix{prefix}})
	m, _ := r.Machine("a")
	want(t, "reference", m.Spec.NetworkInterfaces[0].NetworkInterfaceRef.Name, "nic")
	want(t, "status", m.Status.NetworkInterfaces[0].Name, "first")
	want(t, "class", m.Spec.MachineClassRef.Name, "c")
	nic, _ := r.NetworkInterface("nic")
	want(t, "network", nic.Spec.NetworkRef.Name, "other")
	want(t, "prefix", nic.Status.Prefixes[0].Prefix, prefix)
	r.DeleteMachine("a")
	want(t, "the interface stays", len(r.NetworkInterfaces()), 1)
}

func TestOwnerChangesAll(t *testing.T) {
	r := newRig(t, Options{})
	r.addMachine("a", "10.0.0.1")
	before, _ := r.NetworkInterface("a-primary")
	r.addMachine("a", "10.0.0.2")
	after, _ := r.NetworkInterface("a-primary")
	want(t, "interface of a machine that is added twice", after.ResourceVersion, before.ResourceVersion)
	r.Add(&networkingv1alpha1.LoadBalancerRouting{ObjectMeta: metav1.ObjectMeta{Namespace: "shoot", Name: "lb"}})
	stop := func(m *computev1alpha1.Machine) { m.Status.State = computev1alpha1.MachineStateShutdown }
	want(t, "machine", r.ChangeMachine("a", stop), true)
	want(t, "state", r.Machines()[0].Status.State, computev1alpha1.MachineStateShutdown)
	want(t, "missing machine", r.ChangeMachine("none", stop), false)
	want(t, "pool", r.ChangeMachinePool("pool", func(p *computev1alpha1.MachinePool) {
		p.Labels = map[string]string{"topology.ironcore.dev/zone": "z2"}
	}), true)
	pool, _ := r.MachinePool("pool")
	want(t, "zone", pool.Labels["topology.ironcore.dev/zone"], "z2")
	want(t, "routing", r.ChangeLoadBalancerRouting("lb", func(b *networkingv1alpha1.LoadBalancerRouting) {
		b.NetworkRef.Name = "net"
	}), true)
	want(t, "routing is added twice", r.Add(r.LoadBalancerRoutings()[0]), false)
	want(t, "pool is deleted", r.Delete("MachinePool", "pool"), true)
	want(t, "unknown kind is deleted", r.Delete("Unknown", "pool"), false)
	want(t, "unknown kind is added", r.Add(&unknownKind{}), false)
	want(t, "requests", len(r.Requests()), 0)
}

// unknownKind is an object of a kind that the simulator does not have.
type unknownKind struct{ corev1.Node }

func TestReturnedObjectsAreCopies(t *testing.T) {
	r := newRig(t, Options{})
	r.createBalancer("lb", unchanged)
	lb, _ := r.LoadBalancer("lb")
	lb.Spec.Ports[0].Port = 1
	r.LoadBalancers()[0].Finalizers[0] = "other"
	stored, _ := r.LoadBalancer("lb")
	want(t, "port", stored.Spec.Ports[0].Port, 80)
	want(t, "finalizer", stored.Finalizers[0], role.BalancerFinalizer)
}

func TestFieldsOfMachines(t *testing.T) {
	r := newRig(t, Options{})
	for _, pool := range []string{"p", "q"} {
		r.AddMachine(Machine{Name: "in-" + pool, Pool: pool, Addresses: []netip.Addr{parse(r, "10.0.0.1")}})
	}
	list, err := r.clients.Machines.List(t.Context(), metav1.ListOptions{FieldSelector: "spec.machinePoolRef.name=q"})
	want(t, "error", err, nil)
	want(t, "machines", len(list.Items), 1)
	want(t, "machine", list.Items[0].Name, "in-q")
}

func TestProviderIDIsSetOnce(t *testing.T) {
	r := newRig(t, Options{})
	r.addMachine("a", "10.0.0.1")
	pool, _ := r.MachinePool("pool")
	pool.Spec.ProviderID = "other"
	_, err := r.clients.MachinePools.Update(t.Context(), pool, metav1.UpdateOptions{})
	wantInvalid(t, err, "spec.providerID")
	n, _ := r.Network("net")
	n.Spec.ProviderID = "other"
	_, err = r.clients.Networks.Update(t.Context(), n, metav1.UpdateOptions{})
	wantInvalid(t, err, "spec.providerID")
}
