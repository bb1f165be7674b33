package simulator

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	commonv1alpha1 "github.com/ironcore-dev/ironcore/api/common/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	applyv1alpha1 "github.com/ironcore-dev/ironcore/client-go/applyconfigurations/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/simulator/role"
)

func (r *rig) addresses(name string) string {
	r.Helper()
	lb, ok := r.LoadBalancer(name)
	if !ok {
		return "missing"
	}
	text := ""
	for _, ip := range lb.Status.IPs {
		text += ip.String() + " "
	}
	return text
}

func TestAddresses(t *testing.T) {
	r := newRig(t, Options{})
	r.createBalancer("public", unchanged)
	r.createBalancer("internal", internal(corev1.IPv6Protocol, corev1.IPv4Protocol))
	r.createBalancer("explicit", func(lb *networkingv1alpha1.LoadBalancer) {
		internal(corev1.IPv4Protocol)(lb)
		lb.Spec.IPs[0] = networkingv1alpha1.IPSource{Value: commonv1alpha1.NewIPPtr(parse(r, "10.9.9.9"))}
	})
	want(t, "public", r.addresses("public"), "192.0.2.1 2001:db8::1 ")
	want(t, "internal", r.addresses("internal"), "fd00:250::1 10.250.0.1 ")
	want(t, "explicit", r.addresses("explicit"), "10.9.9.9 ")
	r.ChangeLoadBalancer("public", func(lb *networkingv1alpha1.LoadBalancer) {
		lb.Spec.IPFamilies = lb.Spec.IPFamilies[:1]
		lb.Spec.Ports[0].Port = 81
	})
	want(t, "without a family", r.addresses("public"), "192.0.2.1 ")
	r.Delete("LoadBalancer", "public")
	want(t, "deleted", r.addresses("public"), "missing")
	r.createBalancer("public", unchanged)
	want(t, "created again", r.addresses("public"), "192.0.2.2 2001:db8::2 ")
}

// TestAddressOfADeletedLoadBalancer: an address stays in use as long as a finalizer keeps its load balancer.
func TestAddressOfADeletedLoadBalancer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Deletion: 5 * time.Minute})
		r.createBalancer("lb", internal(corev1.IPv4Protocol))
		r.Delete("LoadBalancer", "lb")
		pass(4 * time.Minute)
		want(t, "while it is deleted", r.addresses("lb"), "10.250.0.1 ")
		r.createBalancer("second", internal(corev1.IPv4Protocol))
		want(t, "another one meanwhile", r.addresses("second"), "10.250.0.2 ")
		pass(2 * time.Minute)
		want(t, "deleted", r.addresses("lb"), "missing")
		r.createBalancer("third", internal(corev1.IPv4Protocol))
		want(t, "another one later", r.addresses("third"), "10.250.0.1 ")
	})
}

// TestParentOfAddresses: a Prefix has one IP family, and allocates an address once. Without a Prefix that has the
// address, there is none, and the other IP family gets its own.
func TestParentOfAddresses(t *testing.T) {
	r := newRig(t, Options{})
	with := func(sources ...networkingv1alpha1.IPSource) func(*networkingv1alpha1.LoadBalancer) {
		return func(lb *networkingv1alpha1.LoadBalancer) {
			lb.Spec.Type = networkingv1alpha1.LoadBalancerTypeInternal
			lb.Spec.IPFamilies, lb.Spec.IPs = nil, sources
		}
	}
	asked := func(address string) networkingv1alpha1.IPSource {
		source := ephemeral(corev1.IPv4Protocol)
		source.Ephemeral.PrefixTemplate.Spec.Prefix = commonv1alpha1.NewIPPrefix(netip.PrefixFrom(
			parse(r, address), 32))
		return source
	}
	r.createBalancer("dual", with(ephemeral(corev1.IPv4Protocol), ephemeralOf("internal", corev1.IPv6Protocol)))
	want(t, "both of one Prefix", r.addresses("dual"), "10.250.0.1 ")
	r.createBalancer("missing", with(ephemeralOf("unknown", corev1.IPv4Protocol)))
	want(t, "of no Prefix", r.addresses("missing"), "")
	r.createBalancer("outside", with(asked("10.9.9.9")))
	want(t, "outside", r.addresses("outside"), "")
	r.createBalancer("taken", with(asked("10.250.0.1")))
	want(t, "taken", r.addresses("taken"), "")
	r.createBalancer("free", with(asked("10.250.0.9")))
	want(t, "free", r.addresses("free"), "10.250.0.9 ")
	// The generated Prefix is never replaced.
	r.ChangeLoadBalancer("outside", with(asked("10.250.0.8")))
	want(t, "corrected", r.addresses("outside"), "")
}

func TestPrefixesFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Provision: time.Second})
		r.addMachine("a", "10.0.0.1")
		ephemeral := `{"ephemeral":{"prefixTemplate":{"spec":` +
			`{"ipFamily":"IPv4","prefixLength":24,"parentRef":{"name":"p"}}}}}`
		set := func(prefixes string) {
			_, err := r.patch(types.MergePatchType, `{"spec":{"prefixes":[`+prefixes+`]}}`)
			want(t, "error", err, nil)
		}
		status := func() string {
			text := ""
			nic, _ := r.NetworkInterface("a-primary")
			for _, p := range nic.Status.Prefixes {
				text += p.String() + " "
			}
			return text
		}
		set(ephemeral + `,{"value":"100.64.0.0/24"},` + ephemeral)
		want(t, "at first", status(), "")
		pass(2 * time.Second)
		want(t, "later", status(), "10.128.0.0/24 100.64.0.0/24 10.128.1.0/24 ")
		set(ephemeral + `,{"value":"100.64.0.0/24"},` + ephemeral + `,{"value":"100.64.1.0/24"}`)
		pass(2 * time.Second)
		want(t, "appended", status(), "10.128.0.0/24 100.64.0.0/24 10.128.1.0/24 100.64.1.0/24 ")
		set(ephemeral + `,` + ephemeral)
		pass(2 * time.Second)
		want(t, "renumbered", status(), "10.128.0.0/24 10.128.2.0/24 ")
	})
}

// targets returns the names of the destinations of a routing.
func (r *rig) targets(name string) []string {
	r.Helper()
	routing, ok := r.LoadBalancerRouting(name)
	if !ok {
		return []string{"missing"}
	}
	var names []string
	for _, d := range routing.Destinations {
		names = append(names, d.TargetRef.Name+" "+d.IP.String())
	}
	return names
}

func TestRoutingOfSelector(t *testing.T) {
	r := newRig(t, Options{})
	labels := map[string]string{"cluster": "x"}
	for name, address := range map[string]string{"a": "10.0.0.1", "b": "10.0.0.2"} {
		r.AddMachine(Machine{Name: name, Labels: labels, Addresses: []netip.Addr{parse(r, address)}})
	}
	r.addMachine("other", "10.0.0.3")
	r.createBalancer("lb", func(lb *networkingv1alpha1.LoadBalancer) {
		lb.Spec.NetworkInterfaceSelector = &metav1.LabelSelector{MatchLabels: labels}
	})
	want(t, "targets", slices.Equal(r.targets("lb"), []string{"a-primary 10.0.0.1", "b-primary 10.0.0.2"}), true)
	routing, _ := r.LoadBalancerRouting("lb")
	want(t, "manager", routing.ManagedFields[0].Manager, role.RoutingManager)
	want(t, "controller", metav1.GetControllerOf(routing).Name, "lb")
	r.ChangeNetworkInterface("a-primary", func(n *networkingv1alpha1.NetworkInterface) {
		n.Status.State = networkingv1alpha1.NetworkInterfaceStateError
	})
	r.ChangeNetworkInterface("other-primary", func(n *networkingv1alpha1.NetworkInterface) { n.Labels = labels })
	want(t, "changed", slices.Equal(r.targets("lb"), []string{"b-primary 10.0.0.2", "other-primary 10.0.0.3"}), true)
	r.DeleteMachine("b")
	want(t, "deleted", slices.Equal(r.targets("lb"), []string{"other-primary 10.0.0.3"}), true)
	want(t, "requests of clients", len(r.Requests()), 1)
}

// contradiction selects nothing.
func contradiction() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: "cluster", Operator: metav1.LabelSelectorOpExists},
		{Key: "cluster", Operator: metav1.LabelSelectorOpDoesNotExist}}}
}

// TestRoutingKeepsDestinationsOfOthers: IronCore's controller applies no destinations if it selects none, so that it
// removes those that it has applied, and keeps those of another manager, as applyRouting of ironcore v0.5.0 does.
func TestRoutingKeepsDestinationsOfOthers(t *testing.T) {
	r := newRig(t, Options{})
	r.AddMachine(Machine{Name: "a", Labels: map[string]string{"cluster": "x"},
		Addresses: []netip.Addr{parse(r, "10.0.0.1")}})
	selectAll := func(lb *networkingv1alpha1.LoadBalancer) {
		lb.Spec.NetworkInterfaceSelector = &metav1.LabelSelector{}
	}
	selectNone := func(lb *networkingv1alpha1.LoadBalancer) { lb.Spec.NetworkInterfaceSelector = contradiction() }
	apply := func(addresses ...string) {
		t.Helper()
		routing := applyv1alpha1.LoadBalancerRouting("lb", "shoot")
		for _, address := range addresses {
			ip := commonv1alpha1.NewIP(parse(r, address))
			routing.WithDestinations(applyv1alpha1.LoadBalancerDestination().WithIP(ip).WithTargetRef(
				applyv1alpha1.LoadBalancerTargetRef().WithName("by-hand").WithUID("x").WithProviderID("x")))
		}
		_, err := r.clients.LoadBalancerRoutings.Apply(t.Context(), routing,
			metav1.ApplyOptions{FieldManager: "one", Force: true})
		want(t, "error", err, nil)
	}
	r.createBalancer("lb", selectAll)
	r.ChangeLoadBalancer("lb", selectNone)
	want(t, "its own", len(r.targets("lb")), 0)
	apply("10.0.0.9")
	r.ChangeLoadBalancer("lb", func(lb *networkingv1alpha1.LoadBalancer) {
		lb.Annotations = map[string]string{"touched": "yes"}
	})
	want(t, "those of another manager", strings.Join(r.targets("lb"), ","), "by-hand 10.0.0.9")
	r.ChangeLoadBalancer("lb", selectAll)
	apply("10.0.0.8")
	want(t, "those of another manager beside a selector", strings.Join(r.targets("lb"), ","), "a-primary 10.0.0.1")
	if err := r.clients.LoadBalancerRoutings.Delete(t.Context(), "lb", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	want(t, "after the deletion of the routing", strings.Join(r.targets("lb"), ","), "a-primary 10.0.0.1")
}
