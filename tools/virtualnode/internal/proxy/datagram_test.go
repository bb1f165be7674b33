package proxy

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode/internal/fabric"
)

func TestForwardUDP(t *testing.T) {
	f := &fabric.Fabric{}
	serve(t, f, corev1.ProtocolUDP, podOne.Addr, "one")
	serve(t, f, corev1.ProtocolUDP, podTwo.Addr, "two")
	p := newProxy(t, f)
	port := freePort(t)
	service := func(endpoints ...Endpoint) Service {
		return Service{Name: "dns", Ports: []Port{{Protocol: corev1.ProtocolUDP, NodePort: port, Endpoints: endpoints}}}
	}
	p.Set(service(podOne, podTwo))
	conn, err := net.Dial("udp", netip.AddrPortFrom(nodeAddr, port).String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if first, second := askOn(t, conn), askOn(t, conn); first.pod != "one" || second.pod != "one" || first.seen != nodeAddr {
		t.Errorf("one client's packets gave %+v and %+v, want pod one twice and the node's address", first, second)
	}
	p.Set(service(podTwo))
	if got := askOn(t, conn); got.pod != "two" {
		t.Errorf("after its pod had gone the client reached %q, want two", got.pod)
	}
	p.Delete("", "dns")
	if _, err := io.WriteString(conn, "hello\n"); err == nil {
		_ = conn.SetReadDeadline(time.Now().Add(wait))
		if _, err := conn.Read(make([]byte, 64)); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("deleted Service: %v, want connection refused", err)
		}
	}
}
