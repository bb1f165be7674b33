package loopback

import (
	"bufio"
	"net"
	"net/netip"
	"testing"

	"go.uber.org/goleak"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// nth is the nth address of a network.
func nth(network netip.Prefix, n byte) netip.Addr {
	b := network.Addr().As4()
	return netip.AddrFrom4([4]byte{b[0], b[1], 1, n})
}

func TestLoadBalancersInAClaimedNetwork(t *testing.T) {
	p, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	machine, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.AddrPortFrom(nth(p.Network(), 1), 0)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = machine.Close() }()
	go func() {
		if conn, err := machine.Accept(); err == nil {
			_, _ = conn.Write([]byte("vm-1\n"))
			_ = conn.Close()
		}
	}()
	target := traffic.Target{Machine: "vm-1", Address: machine.Addr().(*net.TCPAddr).AddrPort()}
	p.Serve(traffic.LoadBalancer{
		Identity: "lb-1", Addresses: []netip.Addr{nth(p.Network(), 200)},
		Listeners: []traffic.Listener{{Identity: "l-1", Protocol: traffic.TCP, Port: 8080,
			Group: traffic.Group{Targets: []traffic.Target{target}}}},
	})
	at := netip.AddrPortFrom(nth(p.Network(), 200), 8080).String()
	conn, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || line != "vm-1\n" {
		t.Errorf("answered %q, %v, want the machine's line", line, err)
	}
	for range 2 { // the second time there is nothing to do
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if conn, err := net.Dial("tcp", at); err == nil {
		_ = conn.Close()
		t.Error("a closed plane answers")
	}
}

func TestNetworksAreReleased(t *testing.T) {
	one, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	network := one.Network().String()
	if two, err := New(Options{Network: network}); err == nil {
		t.Errorf("two planes share %s", network)
		_ = two.Close()
	}
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := New(Options{Network: network})
	if err != nil {
		t.Fatalf("claiming a released network: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}
