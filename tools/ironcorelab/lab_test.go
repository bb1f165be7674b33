package ironcorelab

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	computev1alpha1 "github.com/ironcore-dev/ironcore/api/compute/v1alpha1"
	ipamv1alpha1 "github.com/ironcore-dev/ironcore/api/ipam/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/simulator/role"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplanetest"
	"github.com/thalassa-cloud/thalassa-ccm/tools/poll"
)

// limit bounds every wait: the garbage collector looks for new kinds every 30 seconds.
const limit = time.Minute

func TestMain(m *testing.M) { controlplanetest.Main(m) }

// rig is a lab in a namespace of its own.
type rig struct {
	*testing.T
	*Lab
	namespace string
	plane     *recorder
}

func newRig(t *testing.T, options Options) *rig {
	t.Helper()
	control := controlplanetest.Own(t)
	if err := Serve(t.Context(), control, ""); err != nil {
		t.Fatal(err)
	}
	r := &rig{T: t, namespace: controlplanetest.NamespaceIn(t, control), plane: &recorder{}}
	options.Namespace, options.Network, options.DataPlane = r.namespace, "nodes", r.plane
	options.Report = func(err error) {
		t.Log(err)
		_ = r.plane.record(err.Error())
	}
	var err error
	if r.Lab, err = Start(t.Context(), control.Config(), options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Stop)
	if err := r.AddNetwork(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *rig) addMachine(machine role.Machine) {
	r.Helper()
	if err := r.AddMachine(r.Context(), machine); err != nil {
		r.Fatal(err)
	}
}

func (r *rig) interfaceNamed(name string) (*networkingv1alpha1.NetworkInterface, error) {
	return r.client.NetworkingV1alpha1().NetworkInterfaces(r.namespace).Get(r.Context(), name, metav1.GetOptions{})
}

func (r *rig) eventually(what string, check func() error) {
	r.Helper()
	controlplanetest.Eventually(r, limit, what, func(context.Context) error { return check() })
}

// differ returns an error if two values are not the same.
func differ[T comparable](what string, got, want T) error {
	if got != want {
		return fmt.Errorf("%s: got %v, want %v", what, got, want)
	}
	return nil
}

// recorder is a data plane that sends nothing.
type recorder struct {
	mu    sync.Mutex
	calls []string
	fail  error
}

func (p *recorder) record(call string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.fail; err != nil {
		p.fail = nil
		return err
	}
	p.calls = append(p.calls, call)
	return nil
}

func (p *recorder) failOnce(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fail = err
}

// called returns an error unless there was such a call.
func (p *recorder) called(call string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.Contains(p.calls, call) {
		return fmt.Errorf("there was no %q among %q", call, p.calls)
	}
	return nil
}

func (p *recorder) Balance(_ context.Context, lb *networkingv1alpha1.LoadBalancer,
	routing *networkingv1alpha1.LoadBalancerRouting) error {
	call := fmt.Sprint("balance ", lb.Status.IPs)
	if port := lb.Spec.Ports[0].Port; port != 80 {
		call += fmt.Sprint(" with ", port)
	}
	if routing != nil {
		for _, d := range routing.Destinations {
			call += " " + d.IP.String()
		}
	}
	return p.record(call)
}

func (p *recorder) Remove(_ context.Context, lb *networkingv1alpha1.LoadBalancer) error {
	return p.record("remove " + lb.Name)
}

func (p *recorder) Route(_ context.Context, nic *networkingv1alpha1.NetworkInterface,
	machine *computev1alpha1.Machine) error {
	if machine == nil {
		return p.record("unroute " + nic.Name)
	}
	return p.record(fmt.Sprint("route ", nic.Status.IPs, nic.Status.Prefixes, " to ", machine.Name))
}

func TestMachine(t *testing.T) {
	tier.NeedFull(t)
	r := newRig(t, Options{})
	pool := "pool-" + r.namespace
	r.addMachine(role.Machine{Name: "a", Pool: pool, Zone: "z1", Labels: map[string]string{"a": "b"},
		Addresses: []netip.Addr{address(t, "10.0.0.1"), address(t, "fd00::1")}})
	r.eventually("the machine runs", func() error {
		machine, err := r.client.ComputeV1alpha1().Machines(r.namespace).Get(t.Context(), "a", metav1.GetOptions{})
		if err != nil {
			return err
		}
		return errors.Join(differ("state", machine.Status.State, computev1alpha1.MachineStateRunning),
			differ("interfaces", len(machine.Status.NetworkInterfaces), 1),
			differ("pool", fmt.Sprint(machine.Spec.MachinePoolRef), "&LocalObjectReference{Name:"+pool+",}"))
	})
	r.eventually("the network interface is available", func() error {
		nic, err := r.interfaceNamed("a-primary")
		if err != nil {
			return err
		}
		return errors.Join(differ("state", nic.Status.State, networkingv1alpha1.NetworkInterfaceStateAvailable),
			differ("addresses", fmt.Sprint(nic.Status.IPs), "[10.0.0.1 fd00::1]"),
			differ("label", nic.Labels["a"], "b"),
			differ("provider ID", nic.Spec.ProviderID, role.ProviderID(nic, pool)))
	})
	r.eventually("it is routed", func() error { return r.plane.called("route [10.0.0.1 fd00::1] [] to a") })
	if err := r.SetPower(t.Context(), "a", computev1alpha1.PowerOff); err != nil {
		t.Fatal(err)
	}
	r.eventually("the machine is shut down", func() error {
		machine, err := r.client.ComputeV1alpha1().Machines(r.namespace).Get(t.Context(), "a", metav1.GetOptions{})
		return errors.Join(err, differ("state", machine.Status.State, computev1alpha1.MachineStateShutdown))
	})
	if err := r.DeleteMachine(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	r.eventually("the machine is gone", func() error {
		_, err := r.client.ComputeV1alpha1().Machines(r.namespace).Get(t.Context(), "a", metav1.GetOptions{})
		return differ("not found", apierrors.IsNotFound(err), true)
	})
	err := r.client.NetworkingV1alpha1().NetworkInterfaces(r.namespace).Delete(t.Context(), "a-primary",
		metav1.DeleteOptions{}) // as the garbage collector does in the end
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	r.eventually("it is not routed", func() error { return r.plane.called("unroute a-primary") })
}

func address(t *testing.T, text string) netip.Addr {
	t.Helper()
	a, err := netip.ParseAddr(text)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func prefix(t *testing.T, text string) netip.Prefix {
	t.Helper()
	p, err := netip.ParsePrefix(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (r *rig) createBalancer(change func(*networkingv1alpha1.LoadBalancer)) {
	r.Helper()
	lb := &networkingv1alpha1.LoadBalancer{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "lb"},
		Spec: networkingv1alpha1.LoadBalancerSpec{Type: networkingv1alpha1.LoadBalancerTypePublic,
			IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol}, NetworkRef: corev1.LocalObjectReference{Name: "nodes"},
			Ports: []networkingv1alpha1.LoadBalancerPort{{Port: 80}}}}
	change(lb)
	_, err := r.client.NetworkingV1alpha1().LoadBalancers(r.namespace).Create(r.Context(), lb, metav1.CreateOptions{})
	if err != nil {
		r.Fatal(err)
	}
}

func (r *rig) balancer(name string) (*networkingv1alpha1.LoadBalancer, error) {
	return r.client.NetworkingV1alpha1().LoadBalancers(r.namespace).Get(r.Context(), name, metav1.GetOptions{})
}

func (r *rig) routing(name string) (*networkingv1alpha1.LoadBalancerRouting, error) {
	return r.client.NetworkingV1alpha1().LoadBalancerRoutings(r.namespace).Get(r.Context(), name, metav1.GetOptions{})
}

// TestPublicLoadBalancer gets the address that the options choose, after the delay; its routing follows the selector,
// and a finalizer holds its deletion.
func TestPublicLoadBalancer(t *testing.T) {
	tier.NeedFull(t)
	chosen, delay := address(t, "127.9.0.1"), 300*time.Millisecond
	r := newRig(t, Options{Provision: delay, Deletion: delay, Address: func(c Claim) netip.Addr {
		if c.Kind == "LoadBalancer" {
			return chosen
		}
		return netip.Addr{}
	}})
	labels := map[string]string{"a": "b"}
	began := time.Now()
	r.createBalancer(func(lb *networkingv1alpha1.LoadBalancer) {
		lb.Spec.NetworkInterfaceSelector = &metav1.LabelSelector{MatchLabels: labels}
	})
	r.plane.failOnce(errors.New("on purpose"))
	r.addMachine(role.Machine{Name: "a", Pool: r.namespace, Labels: labels,
		Addresses: []netip.Addr{address(t, "10.0.0.1")}})
	r.addMachine(role.Machine{Name: "other", Pool: r.namespace, Addresses: []netip.Addr{address(t, "10.0.0.2")}})
	r.eventually("the load balancer has its address", func() error {
		lb, err := r.balancer("lb")
		return errors.Join(err, differ("addresses", fmt.Sprint(lb.Status.IPs), "[127.9.0.1]"))
	})
	if took := time.Since(began); took < delay {
		t.Errorf("the address came after %s, want not before %s", took, delay)
	}
	r.eventually("it sends traffic", func() error { return r.plane.called("balance [127.9.0.1] 10.0.0.1") })
	routing, err := r.routing("lb")
	if err != nil || routing.ManagedFields[0].Manager != role.RoutingManager {
		t.Errorf("the routing is not the one of IronCore's controller: %+v, %v", routing, err)
	}
	balancers := r.client.NetworkingV1alpha1().LoadBalancers(r.namespace)
	began = time.Now()
	if err := balancers.Delete(t.Context(), "lb", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	r.eventually("it is gone", func() error {
		_, err := r.balancer("lb")
		return differ("not found", apierrors.IsNotFound(err), true)
	})
	if took := time.Since(began); took < delay {
		t.Errorf("it was gone after %s, want not before %s", took, delay)
	}
	r.eventually("the traffic ends", func() error { return r.plane.called("remove lb") })
}

func ephemeral(spec ipamv1alpha1.PrefixSpec) *networkingv1alpha1.EphemeralPrefixSource {
	return &networkingv1alpha1.EphemeralPrefixSource{
		PrefixTemplate: &ipamv1alpha1.PrefixTemplateSpec{Spec: spec}}
}

// createInternal creates an internal load balancer.
func (r *rig) createInternal(name string) {
	r.Helper()
	r.createBalancer(func(lb *networkingv1alpha1.LoadBalancer) {
		lb.Name, lb.Spec.Type = name, networkingv1alpha1.LoadBalancerTypeInternal
		lb.Spec.IPs = []networkingv1alpha1.IPSource{{Ephemeral: ephemeral(ipamv1alpha1.PrefixSpec{PrefixLength: 32,
			IPFamily: corev1.IPv4Protocol, ParentRef: &corev1.LocalObjectReference{Name: "internal"}})}}
	})
}

// hasAddress waits until a load balancer has exactly one address.
func (r *rig) hasAddress(name, want string) {
	r.Helper()
	r.eventually(name+" has its address", func() error {
		lb, err := r.balancer(name)
		return errors.Join(err, differ("addresses", fmt.Sprint(lb.Status.IPs), "["+want+"]"))
	})
}

// TestInternalLoadBalancer gets an address of its parent Prefix, through a Prefix that is generated.
func TestInternalLoadBalancer(t *testing.T) {
	tier.NeedFull(t)
	r := newRig(t, Options{})
	r.createInternal("lb")
	r.eventually("a Prefix is generated", func() error {
		_, err := r.client.IpamV1alpha1().Prefixes(r.namespace).Get(t.Context(), "lb-0", metav1.GetOptions{})
		return err
	})
	if lb, err := r.balancer("lb"); err != nil || len(lb.Status.IPs) > 0 {
		t.Errorf("without a parent the load balancer has the addresses %v, %v", lb.Status.IPs, err)
	}
	if err := r.AddPrefix(t.Context(), "internal", prefix(t, "10.9.0.0/24")); err != nil {
		t.Fatal(err)
	}
	r.hasAddress("lb", "10.9.0.0")
	r.eventually("it sends traffic to nothing", func() error { return r.plane.called("balance [10.9.0.0]") })
}

// TestTypeIsImmutable: IronCore accepts that an internal load balancer becomes public, and ironcore-net refuses it as
// long as it lasts, with this error, and carries out no later port. The address management of IronCore gives the
// address to the next load balancer, although the first one has it until it is gone.
func TestTypeIsImmutable(t *testing.T) {
	tier.NeedFull(t)
	r := newRig(t, Options{})
	if err := r.AddPrefix(t.Context(), "internal", prefix(t, "10.9.0.0/24")); err != nil {
		t.Fatal(err)
	}
	r.createInternal("lb")
	r.hasAddress("lb", "10.9.0.0")
	r.eventually("it becomes public, with another port", func() error {
		lb, err := r.balancer("lb")
		if err != nil {
			return err
		}
		lb.Spec.Type, lb.Spec.IPs = networkingv1alpha1.LoadBalancerTypePublic, nil
		lb.Spec.Ports[0].Port = 81
		_, err = r.client.NetworkingV1alpha1().LoadBalancers(r.namespace).Update(t.Context(), lb,
			metav1.UpdateOptions{})
		return err
	})
	lb, err := r.balancer("lb")
	if err != nil {
		t.Fatal(err)
	}
	r.eventually("it is refused", func() error {
		return r.plane.called("playing IronCore for LoadBalancer " + r.namespace + "/lb: " +
			"LoadBalancer.core.apinet.ironcore.dev \"" + string(lb.UID) + "\" is invalid: " +
			"spec.type: Invalid value: \"Public\": field is immutable")
	})
	r.eventually("its Prefix is freed", func() error {
		allocations, err := r.client.IpamV1alpha1().PrefixAllocations(r.namespace).List(t.Context(),
			metav1.ListOptions{})
		return errors.Join(err, differ("allocations", len(allocations.Items), 0))
	})
	r.createInternal("next")
	r.hasAddress("next", "10.9.0.0")
	r.hasAddress("lb", "10.9.0.0")
	if err := r.plane.called("balance [10.9.0.0] with 81"); err == nil {
		t.Error("the port has been carried out")
	}
}

// TestRoutingStopsWithoutSelector: when a network interface changes, IronCore's controller goes through the load
// balancers of its Network in any order, and stops at the first one without a selector. The routings of the rest stay
// as they are until their load balancers change. It goes on if those of another cluster have the selector that matches
// no network interface.
func TestRoutingStopsWithoutSelector(t *testing.T) {
	tier.NeedFull(t)
	for title, selector := range map[string]*metav1.LabelSelector{"without": nil, "with": label.NoInterface()} {
		t.Run(title, func(t *testing.T) {
			r := newRig(t, Options{})
			for i := range 9 {
				r.createBalancer(func(lb *networkingv1alpha1.LoadBalancer) {
					lb.Name, lb.Spec.NetworkInterfaceSelector = fmt.Sprint("other-", i), selector
				})
			}
			if changes := r.routed(); (changes == maxChanges) != (selector != nil) {
				t.Errorf("the routing has followed %d of %d changes of the network interface", changes, maxChanges)
			}
			r.patch("loadbalancers", "lb", `{"metadata": {"annotations": {"a": "b"}}}`)
			r.eventually("the routing follows after a change of the load balancer", func() error {
				routing, err := r.routing("lb")
				return errors.Join(err, differ("no destinations", len(routing.Destinations) == 0,
					r.excluded("a-primary")))
			})
		})
	}
}

// maxChanges is how many changes of a network interface routed makes.
const maxChanges = 20

// routed creates a load balancer with a selector, and a network interface that it selects after every second change. It
// returns how many changes the routing of the load balancer has followed.
func (r *rig) routed() (changes int) {
	r.Helper()
	r.createBalancer(func(lb *networkingv1alpha1.LoadBalancer) {
		lb.Spec.NetworkInterfaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
	})
	r.addMachine(role.Machine{Name: "a", Pool: r.namespace, Addresses: []netip.Addr{address(r.T, "10.0.0.1")}})
	r.eventually("the network interface is available", func() error {
		nic, err := r.interfaceNamed("a-primary")
		return errors.Join(err, differ("state", nic.Status.State, networkingv1alpha1.NetworkInterfaceStateAvailable))
	})
	soon := poll.Limits{Every: 20 * time.Millisecond, For: 3 * time.Second}
	for want := 1; changes < maxChanges; want = 1 - want {
		value := []string{"other", "b"}[want]
		r.patch("networkinterfaces", "a-primary", `{"metadata": {"labels": {"a": "`+value+`"}}}`)
		if err := soon.Until(r.Context(), "the routing follows", func(context.Context) error {
			routing, err := r.routing("lb")
			return errors.Join(err, differ("destinations", len(routing.Destinations), want))
		}); err != nil {
			return changes
		}
		changes++
	}
	return changes
}

// excluded reports whether the load balancer of routed does not select a network interface.
func (r *rig) excluded(name string) bool {
	r.Helper()
	nic, err := r.interfaceNamed(name)
	return err == nil && nic.Labels["a"] != "b"
}

// patch merges into an object of the network.
func (r *rig) patch(resource, name, patch string) {
	r.Helper()
	err := r.client.NetworkingV1alpha1().RESTClient().Patch(types.MergePatchType).Namespace(r.namespace).
		Resource(resource).Name(name).Body([]byte(patch)).Do(r.Context()).Error()
	if err != nil {
		r.Fatal(err)
	}
}

// TestReferencedInterface is attached, and its prefixes are allocated and routed.
func TestReferencedInterface(t *testing.T) {
	tier.NeedFull(t)
	r := newRig(t, Options{})
	if err := r.AddPrefix(t.Context(), "pods", prefix(t, "10.128.0.0/24")); err != nil {
		t.Fatal(err)
	}
	r.addMachine(role.Machine{Name: "a", Pool: r.namespace, Interface: "nic", Addresses: []netip.Addr{
		address(t, "10.0.0.1")}, Prefixes: []netip.Prefix{prefix(t, "10.1.0.0/24")}})
	r.eventually("it is attached", func() error {
		return r.plane.called("route [10.0.0.1] [10.1.0.0/24] to a")
	})
	r.eventually("a prefix is added", func() error {
		nic, err := r.interfaceNamed("nic")
		if err != nil {
			return err
		}
		nic.Spec.Prefixes = append(nic.Spec.Prefixes, networkingv1alpha1.PrefixSource{
			Ephemeral: ephemeral(ipamv1alpha1.PrefixSpec{IPFamily: corev1.IPv4Protocol, PrefixLength: 25,
				ParentRef: &corev1.LocalObjectReference{Name: "pods"}})})
		interfaces := r.client.NetworkingV1alpha1().NetworkInterfaces(r.namespace)
		_, err = interfaces.Update(t.Context(), nic, metav1.UpdateOptions{})
		return err
	})
	r.eventually("it is routed", func() error {
		return r.plane.called("route [10.0.0.1] [10.1.0.0/24 10.128.0.0/25] to a")
	})
}
