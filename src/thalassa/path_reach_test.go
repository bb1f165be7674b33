package thalassa

import (
	"net/netip"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
)

// datagrams returns a Service with a TCP port and a UDP port of one number, and another UDP port. Node ports are shared
// in the same way.
func datagrams() *corev1.Service {
	s := service("dns", 2053, 2053, 2123)
	s.Spec.Ports[1].Name, s.Spec.Ports[1].Protocol = "udp2053", corev1.ProtocolUDP
	s.Spec.Ports[2].Protocol = corev1.ProtocolUDP
	return s
}

// asking is the answer to a datagram of the nth client, which is sent until there is one.
func (p *pathLab) asking(n byte, address string, port int32) func() string {
	p.Helper()
	return func() string {
		conn, err := p.dial("udp", n, address, port)
		if err != nil {
			return "refused"
		}
		defer func() { _ = conn.Close() }()
		return conn.say("hello")
	}
}

// TestPathUDP: datagrams go there and back, also where TCP has the same port number; a machine that goes loses them to
// another one.
func TestPathUDP(t *testing.T) {
	p := newPath(t, "a", "b")
	dns := datagrams()
	p.serve(dns)
	address := ips(p.settle(dns, p.allNodes[:1]))
	p.becomes("TCP", "a 32053/tcp hello", func() string { return p.ask(1, address, 2053) })
	p.is("UDP on the same port", p.asking(1, address, 2053)(), "a 32053/udp hello")
	p.is("the other port", p.asking(1, address, 2123)(), "a 32123/udp hello")
	stays, err := p.dial("udp", 1, address, 2053)
	if err != nil {
		t.Fatal(err)
	}
	p.is("a client that stays", stays.say("one"), "a 32053/udp one")
	p.settle(dns, p.allNodes[1:])
	p.is("the client after its machine went", stays.say("two"), "b 32053/udp two")

	dns.Spec.Ports = dns.Spec.Ports[:1]
	p.settle(dns, p.allNodes)
	p.is("UDP after its port was removed", p.asking(1, address, 2053)(), "refused")
	p.becomes("TCP after that", "a b", p.reaching(address, 2053))
}

// TestPathUDPSources: datagrams of those who are not allowed never arrive.
func TestPathUDPSources(t *testing.T) {
	p := newPath(t, "a")
	dns := datagrams()
	annotated("acl-port-udp2053", p.client(1).String())(dns)
	p.serve(dns)
	address := p.apply(dns)
	stranger, err := p.dial("udp", 2, address, 2053)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stranger.Write([]byte("strange")); err != nil {
		t.Fatal(err)
	}
	// What was sent before has been dealt with when this is answered.
	p.is("whoever is allowed", p.asking(1, address, 2053)(), "a 32053/udp hello")
	if p.hosts["a"].saw("strange") {
		t.Error("a datagram of somebody who is not allowed has arrived")
	}
	p.is("the other port", p.asking(2, address, 2123)(), "a 32123/udp hello")
	delete(dns.Annotations, label.AnnotationPrefix+"acl-port-udp2053")
	p.apply(dns)
	p.is("once all are allowed", p.asking(2, address, 2053)(), "a 32053/udp hello")
}

// TestPathInternal: a public load balancer answers on an address of the world and on no other, an internal one on one
// of its subnet and on no other.
func TestPathInternal(t *testing.T) {
	for name, tt := range map[string]struct {
		apply  func(*corev1.Service)
		within byte // the part of the network, 2 for either of those for the public
	}{
		"public":                      {annotated("type", "public"), 2},
		"public in another subnet":    {annotated("type", "public", "subnet", "second"), 2},
		"type":                        {annotated("type", "internal"), 0},
		"internal":                    {annotated("internal", "true"), 0},
		"internal, of another subnet": {annotated("type", "internal", "subnet", "second"), 1},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPath(t, "a")
			web := unchecked("web", 2080)
			tt.apply(web)
			p.serve(web)
			address := p.apply(web)
			for _, at := range p.answering() {
				if at.Addr().String() != address {
					t.Errorf("it answers on %s, and %q is published", at, address)
				}
				if tt.within == 2 && !p.public(address) || tt.within < 2 && !p.part(tt.within).Contains(at.Addr()) {
					t.Errorf("it answers on %s", at)
				}
			}
			p.is("what is published", p.ask(1, address, 2080), "a 32080/tcp hello")
		})
	}
}

// answering are the addresses and ports on which the cloud answers.
func (p *pathLab) answering() []netip.AddrPort {
	p.Helper()
	var all []netip.AddrPort
	for _, balancer := range p.emulator.State().LoadBalancers {
		for _, listener := range balancer.Listeners {
			for _, at := range listener.Served {
				all = append(all, netip.MustParseAddrPort(at))
			}
		}
	}
	return all
}

// TestPathReservedIP: the address of a reserved IP leads to the Service that has it: first to the one, then to the
// other, and to nobody when nobody has it. Each Service is reached on the address that is published, all the time.
func TestPathReservedIP(t *testing.T) {
	t.Parallel()
	p := newPath(t, "a")
	one, two := unchecked("one", 2080), unchecked("two", 2080)
	two.Spec.Ports[0].NodePort = 32081
	p.serve(one, two)
	annotated("reserved-ip", "rip-one")(one)
	reserved, other := p.apply(one), p.apply(two)
	p.is("the reserved IP at first", p.ask(1, reserved, 2080), "a 32080/tcp hello")
	p.is("the other one at first", p.ask(1, other, 2080), "a 32081/tcp hello")

	delete(one.Annotations, label.AnnotationPrefix+"reserved-ip")
	own := p.apply(one)
	if own == reserved {
		t.Errorf("the Service that gave the reserved IP up is still at %s", own)
	}
	p.is("the reserved IP that nobody has", p.ask(1, reserved, 2080), "refused")
	p.is("the Service that gave it up", p.ask(1, own, 2080), "a 32080/tcp hello")

	annotated("reserved-ip", "rip-one")(two)
	p.is("the address of the one that got it", p.apply(two), reserved)
	p.is("the reserved IP of the other Service", p.ask(1, reserved, 2080), "a 32081/tcp hello")
	p.is("the address that it had", p.ask(1, other, 2080), "refused")
	p.remove(two)
	p.is("the reserved IP after the Service is gone", p.ask(1, reserved, 2080), "refused")
	annotated("reserved-ip", "rip-one")(one)
	p.is("the address of the first one again", p.apply(one), reserved)
	p.is("the reserved IP of the first one again", p.ask(1, reserved, 2080), "a 32080/tcp hello")
}
