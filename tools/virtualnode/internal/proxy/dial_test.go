package proxy

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"syscall"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode/internal/fabric"
)

// TestDial: only the addresses and ports of load balancers that pass packets on are reached through a node.
func TestDial(t *testing.T) {
	f := &fabric.Fabric{}
	serve(t, f, podOne.Addr, "one")
	p := newProxy(t, f)
	balancer, from := netip.MustParseAddrPort("127.0.61.9:80"), netip.MustParseAddr("127.0.61.9")
	service := func(local bool, endpoints ...Endpoint) Service {
		return Service{NamespacedName: web, Addresses: []netip.Addr{balancer.Addr()},
			Ports: []Port{{Port: 80, Local: local, Endpoints: endpoints}}}
	}
	seenFrom := func() string {
		conn, err := p.Dial(t.Context(), balancer, from)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		return line(t, conn)
	}
	refusedThrough := func(why string, to netip.AddrPort) {
		t.Helper()
		if _, err := p.Dial(t.Context(), to, from); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("%s: %v, want connection refused", why, err)
		}
	}
	refusedThrough("no Service", balancer)
	p.Set(service(false, podOne))
	if got := seenFrom(); got != "one "+nodeAddr.String() {
		t.Errorf("the pod and what it saw: %q, want one and the node's address", got)
	}
	p.Set(service(true, podOne))
	if got := seenFrom(); got != "one "+from.String() {
		t.Errorf("the pod and what it saw: %q, want one and the load balancer's address", got)
	}
	refusedThrough("another port", netip.AddrPortFrom(balancer.Addr(), 81))
	refusedThrough("another address", netip.MustParseAddrPort("127.0.61.8:80"))
	refused(t, netip.AddrPortFrom(nodeAddr, 80).String(), "the port on the node's own address")
	p.Set(service(true, podTwo))
	refusedThrough("no local endpoint", balancer)
	p.Set(Service{NamespacedName: web})
	refusedThrough("deleted Service", balancer)
}

// TestDialEndsWithNode: a connection that goes through a node ends with it.
func TestDialEndsWithNode(t *testing.T) {
	f := &fabric.Fabric{}
	serve(t, f, podOne.Addr, "one")
	p := newProxy(t, f)
	balancer := netip.MustParseAddrPort("127.0.61.9:80")
	p.Set(Service{NamespacedName: web, Addresses: []netip.Addr{balancer.Addr()},
		Ports: []Port{{Port: 80, Endpoints: []Endpoint{podOne}}}})
	conn, err := p.Dial(context.Background(), balancer, balancer.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = line(t, conn)
	p.Close()
	if _, err := io.ReadAll(conn); err != nil && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("after the end of the node: %v, want the end of the connection", err)
	}
}

// line sends a line and returns the pod that answers and the address that it saw.
func line(t *testing.T, conn net.Conn) string {
	t.Helper()
	got := exchange(t, conn)
	return got.pod + " " + got.seen.String()
}
