package role

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	commonv1alpha1 "github.com/ironcore-dev/ironcore/api/common/v1alpha1"
	computev1alpha1 "github.com/ironcore-dev/ironcore/api/compute/v1alpha1"
	ipamv1alpha1 "github.com/ironcore-dev/ironcore/api/ipam/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func want[T comparable](t *testing.T, what string, got, wanted T) {
	t.Helper()
	if got != wanted {
		t.Errorf("%s: got %v, want %v", what, got, wanted)
	}
}

func address(t *testing.T, text string) netip.Addr {
	t.Helper()
	a, err := netip.ParseAddr(text)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestManyPublicAddresses(t *testing.T) {
	p, seen := NewPool(), map[netip.Prefix]bool{}
	for i := range 300 {
		a := p.Allocate(types.UID(rune(i)), "a", Range{Public, corev1.IPv4Protocol}, 32)
		want(t, a.String()+" is new", seen[a], false)
		seen[a] = true
	}
	want(t, "has 198.18.0.1", seen[netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 18, 0, 1}), 32)], true)
}

func TestPrefixesOfDifferentLengths(t *testing.T) {
	p := NewPool()
	var got []string
	for name, length := range []int{28, 24, 28} {
		got = append(got, p.Allocate("nic", fmt.Sprint(name), Range{Network, corev1.IPv4Protocol}, length).String())
	}
	separate := []string{"10.128.0.0/28", "10.128.1.0/24", "10.128.2.0/28"}
	want(t, "prefixes do not overlap", slices.Equal(got, separate), true)
}

// TestRelease: an internal address that was released is the next one, as in IPAM. Others are allocated once.
func TestRelease(t *testing.T) {
	for use, again := range map[Use]bool{Internal: true, Public: false} {
		p, of := NewPool(), Range{use, corev1.IPv6Protocol}
		kept, released := p.Allocate("lb", "kept", of, 128), p.Allocate("lb", "released", of, 128)
		p.Release("lb", map[string]bool{"kept": true})
		want(t, "kept", p.Allocate("lb", "kept", of, 128), kept)
		want(t, string(use)+" again", p.Allocate("other", "next", of, 128) == released, again)
	}
}

// TestTake: an address is of one object at a time.
func TestTake(t *testing.T) {
	p, of := NewPool(), Range{Internal, corev1.IPv4Protocol}
	asked := netip.PrefixFrom(address(t, "10.250.0.1"), 32)
	want(t, "free", p.Take("a", "0", of, asked), true)
	want(t, "again", p.Take("a", "0", of, asked), true)
	want(t, "of another", p.Take("b", "0", of, asked), false)
	want(t, "any", p.Allocate("b", "0", of, 32).String(), "10.250.0.2/32")
	p.Release("a", nil)
	want(t, "released", p.Take("c", "0", of, asked), true)
}

func ephemeral(spec ipamv1alpha1.PrefixSpec) *ipamv1alpha1.PrefixTemplateSpec {
	return &ipamv1alpha1.PrefixTemplateSpec{Spec: spec}
}

// TestSources: an address or prefix is there once its Prefix is allocated, whose name has the index of the source.
func TestSources(t *testing.T) {
	addresses := []networkingv1alpha1.IPSource{
		{Value: commonv1alpha1.NewIPPtr(address(t, "10.0.0.1"))},
		{Ephemeral: &networkingv1alpha1.EphemeralPrefixSource{
			PrefixTemplate: ephemeral(ipamv1alpha1.PrefixSpec{IPFamily: corev1.IPv6Protocol})}},
	}
	prefixes := []networkingv1alpha1.PrefixSource{{Ephemeral: &networkingv1alpha1.EphemeralPrefixSource{
		PrefixTemplate: ephemeral(ipamv1alpha1.PrefixSpec{PrefixLength: 25})}}}
	nothing := func(string, ipamv1alpha1.PrefixSpec) (netip.Prefix, bool) { return netip.Prefix{}, false }
	var names []string
	all := func(name string, spec ipamv1alpha1.PrefixSpec) (netip.Prefix, bool) {
		names = append(names, name)
		return netip.PrefixFrom(address(t, "10.1.0.0"), Length(spec, 32, 128)), true
	}
	nic := &networkingv1alpha1.NetworkInterface{ObjectMeta: metav1.ObjectMeta{Name: "nic"}}
	nic.Spec.IPs, nic.Spec.Prefixes = addresses, prefixes
	want(t, "addresses without Prefixes", len(Addresses("nic", addresses, nothing)), 1)
	want(t, "prefixes without Prefixes", len(Prefixes(nic, nothing)), 0)
	want(t, "addresses", len(Addresses("nic", addresses, all)), 2)
	want(t, "prefix", Prefixes(nic, all)[0].String(), "10.1.0.0/25")
	want(t, "names", fmt.Sprint(names), "[nic-1 nic-pf-0]")
	templates := Templates("nic", addresses, prefixes)
	want(t, "templates", len(templates), 2)
	for _, name := range names {
		want(t, "template "+name, templates[name] != nil, true)
	}
}

func TestInterfaceOfMachine(t *testing.T) {
	machine := &computev1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "shoot", Name: "a", UID: "u"},
		Spec: computev1alpha1.MachineSpec{Power: computev1alpha1.PowerOff,
			NetworkInterfaces: []computev1alpha1.NetworkInterface{
				{Name: "first"}, {Name: "second"},
			}}}
	machine.Spec.NetworkInterfaces[1].NetworkInterfaceRef = &corev1.LocalObjectReference{Name: "other"}
	Running(machine, "test")
	want(t, "state", machine.Status.State, computev1alpha1.MachineStateShutdown)
	want(t, "handle", machine.Status.NetworkInterfaces[0].Handle, "test://a-first")
	want(t, "reference", machine.Status.NetworkInterfaces[1].NetworkInterfaceRef.Name, "other")
}

// TestRouting: only available network interfaces with the labels, in the same network, are destinations.
func TestRouting(t *testing.T) {
	lb := &networkingv1alpha1.LoadBalancer{ObjectMeta: metav1.ObjectMeta{Name: "lb", UID: "u"}}
	lb.Spec.NetworkRef.Name = "net"
	lb.Spec.NetworkInterfaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
	nic := func(name string, change func(*networkingv1alpha1.NetworkInterface)) *networkingv1alpha1.NetworkInterface {
		n := &networkingv1alpha1.NetworkInterface{ObjectMeta: metav1.ObjectMeta{Name: name,
			Labels: map[string]string{"a": "b"}}}
		n.Spec.NetworkRef.Name, n.Status.State = "net", networkingv1alpha1.NetworkInterfaceStateAvailable
		n.Status.IPs = []commonv1alpha1.IP{commonv1alpha1.NewIP(address(t, "10.0.0.1"))}
		change(n)
		return n
	}
	routing := Routing(lb, &networkingv1alpha1.Network{ObjectMeta: metav1.ObjectMeta{Name: "net", UID: "n"}},
		[]*networkingv1alpha1.NetworkInterface{
			nic("z", func(*networkingv1alpha1.NetworkInterface) {}),
			nic("other label", func(n *networkingv1alpha1.NetworkInterface) { n.Labels = nil }),
			nic("other network", func(n *networkingv1alpha1.NetworkInterface) { n.Spec.NetworkRef.Name = "other" }),
			nic("pending", func(n *networkingv1alpha1.NetworkInterface) { n.Status.State = "Pending" }),
			nic("a", func(n *networkingv1alpha1.NetworkInterface) { n.Spec.ProviderID = "id" }),
		})
	want(t, "destinations", len(routing.Destinations), 2)
	want(t, "first", *routing.Destinations[0].TargetRef,
		networkingv1alpha1.LoadBalancerTargetRef{Name: "a", ProviderID: "id"})
	want(t, "second", routing.Destinations[1].TargetRef.Name, "z")
	want(t, "network", routing.NetworkRef, commonv1alpha1.LocalUIDReference{Name: "net", UID: "n"})
	want(t, "controller", metav1.GetControllerOf(routing).UID, "u")
	lb.Spec.NetworkInterfaceSelector = nil
	want(t, "without a selector", Selects(lb, nic("a", func(*networkingv1alpha1.NetworkInterface) {})), false)
}
