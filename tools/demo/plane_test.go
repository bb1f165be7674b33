package demo

import (
	"net"
	"net/netip"
	"strings"
	"testing"

	commonv1alpha1 "github.com/ironcore-dev/ironcore/api/common/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/thalassa-cloud/thalassa-ccm/tools/ironcorelab"
)

// newTestPlane is a plane whose load balancers have no destinations.
func newTestPlane(t *testing.T) *plane {
	t.Helper()
	p, err := newPlane(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// TestPlaneAddresses: a load balancer keeps its address, which no other one and no server has.
func TestPlaneAddresses(t *testing.T) {
	p := newTestPlane(t)
	claim := func(name string, family corev1.IPFamily) ironcorelab.Claim {
		return ironcorelab.Claim{Kind: "LoadBalancer", Namespace: "demo", Name: name, Family: family}
	}
	one := p.address(claim("one", corev1.IPv4Protocol))
	if again := p.address(claim("one", corev1.IPv4Protocol)); again != one || !p.Network().Contains(one) {
		t.Errorf("addresses %s and %s, want the same one of %s", one, again, p.Network())
	}
	given := map[netip.Addr]bool{one: true, p.address(claim("two", corev1.IPv4Protocol)): true,
		p.serverAddress(): true, p.serverAddress(): true}
	if len(given) != 4 {
		t.Errorf("different addresses: %v, want 4", given)
	}
	if address := p.address(claim("one", corev1.IPv6Protocol)); address.IsValid() {
		t.Errorf("the IPv6 address is %s, want that the lab chooses", address)
	}
}

// TestPlaneServes: the TCP ports of a load balancer are served until it is removed.
func TestPlaneServes(t *testing.T) {
	p := newTestPlane(t)
	lb := &networkingv1alpha1.LoadBalancer{ObjectMeta: metav1.ObjectMeta{Name: "lb", UID: "lb"}}
	lb.Spec.Ports = []networkingv1alpha1.LoadBalancerPort{{Port: 8053, Protocol: ptr.To(corev1.ProtocolUDP)},
		{Port: 8080, Protocol: ptr.To(corev1.ProtocolTCP)}}
	address := p.address(ironcorelab.Claim{Name: "lb", Family: corev1.IPv4Protocol})
	lb.Status.IPs = []commonv1alpha1.IP{{Addr: address}}
	if at, problem := p.served(lb); at != "" || problem == "" {
		t.Errorf("served at %q before Balance, problem %q", at, problem)
	}
	if err := p.Balance(t.Context(), lb, nil); err != nil {
		t.Fatal(err)
	}
	at, problem := p.served(lb)
	if want := netip.AddrPortFrom(address, 8080).String(); at != want {
		t.Fatalf("served at %q, problem %q; want %s", at, problem, want)
	}
	if err := p.Remove(t.Context(), lb); err != nil {
		t.Fatal(err)
	}
	if conn, err := net.Dial("tcp", at); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("after Remove: connection %v, error %v; want that it is refused", conn, err)
	}
}
