package proxy

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic/traffictest"
)

// startEcho starts a UDP server that answers with the machine's name and the
// datagram.
func startEcho(t *testing.T, p *plane, n byte, name string) (traffic.Target, func()) {
	t.Helper()
	conn, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(p.at(n), 0)))
	if err != nil {
		t.Fatal(err)
	}
	traffictest.EchoUDP(t, conn, name+" ")
	return traffic.Target{Machine: name, Address: conn.LocalAddr().(*net.UDPAddr).AddrPort()}, func() {
		_ = conn.Close()
	}
}

func udpService(p *plane, targets ...traffic.Target) traffic.LoadBalancer {
	lb := service(p, 5353, targets...)
	lb.Listeners[0].Protocol = traffic.UDP
	return lb
}

type udpClient struct{ *net.UDPConn }

func newUDPClient(t *testing.T, p *plane, source netip.Addr) udpClient {
	t.Helper()
	conn, err := net.DialUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(source, 0)),
		net.UDPAddrFromAddrPort(netip.AddrPortFrom(p.at(200), 5353)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return udpClient{conn}
}

// ask sends a datagram and returns the answer, or "" when none comes in time.
func (c udpClient) ask(text string, timeLimit time.Duration) string {
	if _, err := c.Write([]byte(text)); err != nil {
		return ""
	}
	if err := c.SetReadDeadline(time.Now().Add(timeLimit)); err != nil {
		return ""
	}
	buffer := make([]byte, 1500)
	n, err := c.Read(buffer)
	if err != nil {
		return ""
	}
	return string(buffer[:n])
}

func TestUDP(t *testing.T) {
	p := newPlane(t)
	one, _ := startEcho(t, p, 1, "vm-1")
	two, _ := startEcho(t, p, 2, "vm-2")
	p.Serve(udpService(p, one, two))
	first, second := newUDPClient(t, p, p.at(100)), newUDPClient(t, p, p.at(100))
	for range 3 {
		if got := first.ask("hello", timeLimit); got != "vm-1 hello" {
			t.Errorf("first client: %q, want its machine vm-1", got)
		}
	}
	if got := second.ask("hello", timeLimit); got != "vm-2 hello" {
		t.Errorf("second client: %q, want vm-2", got)
	}
	p.Serve(udpService(p, two))
	if got := first.ask("again", timeLimit); got != "vm-2 again" {
		t.Errorf("after its machine went: %q, want vm-2", got)
	}
}

func TestUDPAllowedSources(t *testing.T) {
	p := newPlane(t)
	one, _ := startEcho(t, p, 1, "vm-1")
	lb := udpService(p, one)
	lb.Listeners[0].AllowedSources = []netip.Prefix{netip.PrefixFrom(p.at(100), 32)}
	p.Serve(lb)
	if got := newUDPClient(t, p, p.at(100)).ask("hello", timeLimit); got != "vm-1 hello" {
		t.Errorf("allowed source: %q", got)
	}
	if got := newUDPClient(t, p, p.at(101)).ask("hello", 50*time.Millisecond); got != "" {
		t.Errorf("other source: %q, want silence", got)
	}
}

func TestUDPSessionsTimeOut(t *testing.T) {
	p := newPlane(t)
	one, _ := startEcho(t, p, 1, "vm-1")
	lb := udpService(p, one)
	lb.Listeners[0].IdleTimeout, lb.Listeners[0].MaxConnections = 30*time.Millisecond, 1
	p.Serve(lb)
	if got := newUDPClient(t, p, p.at(100)).ask("hello", timeLimit); got != "vm-1 hello" {
		t.Fatalf("first client: %q", got)
	}
	second := newUDPClient(t, p, p.at(100))
	traffictest.Eventually(t, "the first session is over", func() bool {
		return second.ask("hello", 20*time.Millisecond) == "vm-1 hello"
	})
}

func TestUDPIsCounted(t *testing.T) {
	p := newPlane(t)
	one, _ := startEcho(t, p, 1, "vm-1")
	lb := udpService(p, one)
	p.Serve(lb)
	client := newUDPClient(t, p, p.at(100))
	for range 3 {
		client.ask("hello", timeLimit) // answered by "vm-1 hello"
	}
	want := traffic.Counters{Connections: 1, Received: 3 * 5, Sent: 3 * 10}
	traffictest.Eventually(t, "the session is counted", func() bool {
		status, _ := p.Status(lb.Identity)
		return status.Listeners[0].Counters == want && status.Listeners[0].Targets[0].Counters == want
	})
}

func TestUDPDeadTargetIsLeft(t *testing.T) {
	p := newPlane(t)
	one, stop := startEcho(t, p, 1, "vm-1")
	two, _ := startEcho(t, p, 2, "vm-2")
	p.Serve(udpService(p, one, two))
	client := newUDPClient(t, p, p.at(100))
	if got := client.ask("hello", timeLimit); got != "vm-1 hello" {
		t.Fatalf("first answer: %q", got)
	}
	stop()
	traffictest.Eventually(t, "another machine answers", func() bool {
		return client.ask("hello", 20*time.Millisecond) == "vm-2 hello"
	})
}
