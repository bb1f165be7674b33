//go:build linux

package ironcorenet

import (
	"context"
	"io"
	"net"
	"net/netip"
	"os/exec"
	"strings"
	"testing"
	"time"

	commonv1alpha1 "github.com/ironcore-dev/ironcore/api/common/v1alpha1"
	computev1alpha1 "github.com/ironcore-dev/ironcore/api/compute/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	"github.com/vishvananda/netlink"
	vnetns "github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/namespace"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/netns"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/roottest"
)

const (
	// tries is how many connections show where packets go: one of two destinations is left out by chance once in a
	// billion times.
	tries = 30
	// refused is how long to wait for what should not be answered.
	refused = 300 * time.Millisecond
	// answered bounds a connection, which takes less than a millisecond.
	answered = 20 * time.Second
)

// TestFilter opens the ports of a load balancer, which are ranges of one or more, and closes others.
func TestFilter(t *testing.T) {
	p := New(nil, Options{})
	p.balanced["one"] = &balanced{
		addresses: []netip.Addr{netip.MustParseAddr("203.0.113.1"), netip.MustParseAddr("2001:db8::1")},
		ports: []networkingv1alpha1.LoadBalancerPort{{Port: 80},
			{Port: 5000, EndPort: ptr.To[int32](5010), Protocol: ptr.To(corev1.ProtocolUDP)}},
	}
	for _, want := range []string{
		"ip daddr 203.0.113.1 tcp dport 80-80 accept\n\t\tip daddr 203.0.113.1 udp dport 5000-5010 accept\n" +
			"\t\tip daddr 203.0.113.1 drop\n",
		"ip6 daddr 2001:db8::1 tcp dport 80-80 accept\n\t\tip6 daddr 2001:db8::1 udp dport 5000-5010 accept\n" +
			"\t\tip6 daddr 2001:db8::1 drop\n",
	} {
		if got := p.filter(); !strings.Contains(got, want) {
			t.Errorf("the filter is\n%swant in it\n%s", got, want)
		}
	}
}

// lab is a data plane with the machines a and b.
type lab struct {
	*testing.T
	plane  *Plane
	wires  *netns.Plane
	events chan netns.Event
}

// start starts a data plane. The machines answer at their addresses, and at those that they are given.
func start(t *testing.T) *lab {
	t.Helper()
	roottest.Need(t, "nft", "ip", "nsenter")
	l := &lab{T: t, events: make(chan netns.Event, 10)}
	var err error
	l.wires, err = netns.New(netns.Options{OnMachine: func(e netns.Event) { l.events <- e }})
	l.must(err)
	t.Cleanup(func() { l.must(l.wires.Close()) })
	networks := []netip.Prefix{netip.MustParsePrefix("10.20.0.0/24"), netip.MustParsePrefix("fd00:20::/64")}
	l.plane = New(l.wires, Options{Machines: networks, Reachable: append(networks,
		netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("2001:db8::/64"),
		netip.MustParsePrefix("10.244.0.0/16"))})
	l.must(l.plane.Wire())
	return l
}

func (l *lab) must(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

// nic is the network interface of a machine.
func nic(name string, prefixes ...string) *networkingv1alpha1.NetworkInterface {
	one := &networkingv1alpha1.NetworkInterface{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)},
		Status: networkingv1alpha1.NetworkInterfaceStatus{IPs: ips(v4(name), "fd00:20::"+name)}}
	for _, prefix := range prefixes {
		one.Status.Prefixes = append(one.Status.Prefixes, commonv1alpha1.MustParseIPPrefix(prefix))
	}
	return one
}

func v4(name string) string { return map[string]string{"a": "10.20.0.10", "b": "10.20.0.11"}[name] }

func ips(all ...string) (out []commonv1alpha1.IP) {
	for _, text := range all {
		out = append(out, commonv1alpha1.MustParseIP(text))
	}
	return out
}

func machine(name string, state computev1alpha1.MachineState) *computev1alpha1.Machine {
	return &computev1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)},
		Status: computev1alpha1.MachineStatus{State: state}}
}

// boot starts a machine that answers at ports 80 and 81 of all its addresses, with its name.
func (l *lab) boot(name string, more ...string) {
	l.Helper()
	l.must(l.plane.Route(l.Context(), nic(name, "10.244.1.0/24"), machine(name, computev1alpha1.MachineStateRunning)))
	e := <-l.events
	if e.Kind != netns.Booted || e.Name != name {
		l.Fatalf("got %+v, want that machine %s is booted", e, name)
	}
	for _, address := range more {
		output, err := exec.CommandContext(l.Context(), "nsenter", "--net="+e.Path, "ip", "address", "add", address,
			"dev", "lo", "nodad").CombinedOutput()
		if err != nil {
			l.Fatalf("adding %s: %v, %s", address, err, output)
		}
	}
	inside, err := namespace.Open(e.Path)
	l.must(err)
	l.Cleanup(func() { l.must(inside.Close()) })
	for _, port := range []string{"80", "81"} {
		listener, err := inside.Listen(l.Context(), "tcp", "[::]:"+port)
		l.must(err)
		l.Cleanup(func() { _ = listener.Close() })
		go serve(listener, name)
	}
}

func serve(listener net.Listener, name string) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		_, _ = io.WriteString(conn, name)
		_ = conn.Close()
	}
}

// ask returns what answers at an address.
func (l *lab) ask(address string, limit time.Duration) string {
	ctx, cancel := context.WithTimeout(l.Context(), limit)
	defer cancel()
	conn, err := l.wires.Client().DialContext(ctx, "tcp", address)
	if err != nil {
		return ""
	}
	defer conn.Close()
	text, _ := io.ReadAll(conn)
	return string(text)
}

// reaches wants connections to an address to reach exactly these machines.
func (l *lab) reaches(address string, names ...string) {
	l.Helper()
	seen := map[string]bool{}
	for range tries {
		seen[l.ask(address, answered)] = true
	}
	for _, name := range names {
		if !seen[name] {
			l.Errorf("%s is not reached at %s, only %v", name, address, seen)
		}
	}
	if len(seen) != len(names) {
		l.Errorf("%s reaches %v, want %v", address, seen, names)
	}
}

func (l *lab) closed(addresses ...string) {
	l.Helper()
	for _, address := range addresses {
		if got := l.ask(address, refused); got != "" {
			l.Errorf("%s answers at %s, want nothing", got, address)
		}
	}
}

func routing(names ...string) *networkingv1alpha1.LoadBalancerRouting {
	one := &networkingv1alpha1.LoadBalancerRouting{}
	for _, name := range names {
		for _, ip := range nic(name).Status.IPs {
			one.Destinations = append(one.Destinations, networkingv1alpha1.LoadBalancerDestination{IP: ip})
		}
	}
	return one
}

// TestPlane sends packets to the destinations of a load balancer, whatever these become, and to the prefixes of network
// interfaces.
func TestPlane(t *testing.T) {
	l := start(t)
	l.boot("b", "203.0.113.1/32", "2001:db8::1/128")
	l.must(l.plane.Route(t.Context(), nic("b"), machine("b", computev1alpha1.MachineStateRunning)))
	l.boot("a", "203.0.113.1/32", "2001:db8::1/128", "10.244.1.5/32")
	const web4, web6 = "203.0.113.1:80", "[2001:db8::1]:80"
	l.reaches("10.20.0.10:80", "a")
	l.reaches("10.244.1.5:80", "a")
	l.closed(web4, web6)

	lb := &networkingv1alpha1.LoadBalancer{ObjectMeta: metav1.ObjectMeta{UID: "lb"},
		Spec:   networkingv1alpha1.LoadBalancerSpec{Ports: []networkingv1alpha1.LoadBalancerPort{{Port: 80}}},
		Status: networkingv1alpha1.LoadBalancerStatus{IPs: ips("203.0.113.1", "2001:db8::1")}}
	for _, names := range [][]string{{"a", "b"}, {"b"}, {"b", "a"}, {"a"}} {
		l.must(l.plane.Balance(t.Context(), lb, routing(names...)))
		l.reaches(web4, names...)
		l.reaches(web6, names...)
	}
	l.closed("203.0.113.1:81", "[2001:db8::1]:81")
	l.must(l.plane.Balance(t.Context(), lb, nil))
	l.closed(web4, web6)
	l.must(l.plane.Balance(t.Context(), lb, routing("b")))
	l.reaches(web4, "b")
	l.keepsRoutes(lb, func(other *networkingv1alpha1.LoadBalancer) {
		l.must(l.plane.Balance(t.Context(), other, routing("a", "b")))
	})
	l.must(l.plane.Remove(t.Context(), lb))
	l.closed(web4, web6)

	l.must(l.plane.Route(t.Context(), nic("a"), machine("a", computev1alpha1.MachineStateShutdown)))
	if e := <-l.events; e.Kind != netns.Stopped {
		t.Errorf("got %+v, want that the machine is stopped", e)
	}
	l.closed("10.20.0.10:80", "10.244.1.5:80")
	l.must(l.plane.Route(t.Context(), nic("a"), nil))
	if e := <-l.events; e.Kind != netns.Deleted {
		t.Errorf("got %+v, want that the machine is deleted", e)
	}
}

// keepsRoutes wants the routes to a load balancer to stay while another one gets some: without a route, the router
// answers packets with an error.
func (l *lab) keepsRoutes(lb *networkingv1alpha1.LoadBalancer, add func(other *networkingv1alpha1.LoadBalancer)) {
	l.Helper()
	inside, found := l.wires.Router(network)
	if !found {
		l.Fatal("there is no router")
	}
	updates, done := make(chan netlink.RouteUpdate, 100), make(chan struct{})
	defer close(done)
	l.must(netlink.RouteSubscribeAt(vnetns.NsHandle(inside.FD()), updates, done))
	other := lb.DeepCopy()
	other.UID, other.Status.IPs = "other", ips("2001:db8::2")
	add(other)
	defer func() { l.must(l.plane.Remove(l.Context(), other)) }()
	for {
		select {
		case update := <-updates:
			switch to := update.Dst.String(); {
			case update.Type == unix.RTM_NEWROUTE && to == "2001:db8::2/128":
				return
			case update.Type == unix.RTM_DELROUTE && strings.HasPrefix(to, "2001:db8::1/"):
				l.Errorf("the route to %s is removed", to)
			}
		case <-time.After(answered):
			l.Fatal("the other load balancer gets no route")
		}
	}
}
