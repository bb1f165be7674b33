package simulator

import (
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	commonv1alpha1 "github.com/ironcore-dev/ironcore/api/common/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
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
	r.ChangeLoadBalancer("public", internal(corev1.IPv4Protocol))
	want(t, "after a change of the type", r.addresses("public"), "10.250.0.2 ")
	r.Delete("LoadBalancer", "public")
	want(t, "deleted", r.addresses("public"), "missing")
	r.createBalancer("public", unchanged)
	want(t, "created again", r.addresses("public"), "192.0.2.2 2001:db8::2 ")
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
	r.createBalancer("without", unchanged)
	want(t, "targets", slices.Equal(r.targets("lb"), []string{"a-primary 10.0.0.1", "b-primary 10.0.0.2"}), true)
	want(t, "without selector", r.targets("without")[0], "missing")
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
	want(t, "requests of clients", len(r.Requests()), 2)
}

func TestGarbageCollection(t *testing.T) {
	for _, keep := range []bool{false, true} {
		r := newRig(t, Options{NoGC: keep})
		r.createBalancer("lb", func(lb *networkingv1alpha1.LoadBalancer) {
			lb.Spec.NetworkInterfaceSelector = &metav1.LabelSelector{}
		})
		want(t, "routing", len(r.LoadBalancerRoutings()), 1)
		if err := r.clients.LoadBalancers.Delete(t.Context(), "lb", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		want(t, "load balancers", len(r.LoadBalancers()), 0)
		want(t, "routing is kept", len(r.LoadBalancerRoutings()) == 1, keep)
	}
}
