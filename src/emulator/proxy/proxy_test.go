package proxy

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/claim"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic/traffictest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// timeLimit bounds every wait; nothing takes nearly that long.
const timeLimit = 10 * time.Second

// plane is a proxy in a network of its own.
type plane struct {
	*Proxy
	network netip.Prefix
	cuts    cuts
}

// cuts are the clients that are said to have lost their targets.
type cuts struct {
	mu  sync.Mutex
	all []string
}

func (c *cuts) add(client netip.AddrPort) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, client.String())
}

// take returns them sorted, and deletes them.
func (c *cuts) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.all
	c.all = nil
	slices.Sort(all)
	return all
}

func newPlane(t *testing.T) *plane {
	t.Helper()
	network, hold, err := claim.Network(claim.Auto)
	if err != nil {
		t.Fatal(err)
	}
	p := &plane{network: network}
	p.Proxy = New(Options{Second: 5 * time.Millisecond, OnCut: p.cuts.add})
	t.Cleanup(func() {
		p.Close()
		if err := hold.Close(); err != nil {
			t.Errorf("giving %s back: %v", network, err)
		}
	})
	return p
}

// at is the nth address of the plane's network.
func (p *plane) at(n byte) netip.Addr {
	b := p.network.Addr().As4()
	return netip.AddrFrom4([4]byte{b[0], b[1], 1, n})
}

// backend is a TCP server on a machine. It greets every connection with the
// machine's name and then echoes.
type backend struct {
	target traffic.Target
	// peers are the remote addresses seen, in order.
	peers chan net.Addr
	stop  func()
}

func startBackend(t *testing.T, p *plane, n byte) *backend {
	t.Helper()
	listener, err := Host{}.ListenTCP(netip.AddrPortFrom(p.at(n), 0))
	if err != nil {
		t.Fatal(err)
	}
	b := &backend{peers: make(chan net.Addr, 1000), stop: func() { _ = listener.Close() }}
	b.target = traffic.Target{
		Machine: fmt.Sprintf("vm-%d", n), Address: listener.Addr().(*net.TCPAddr).AddrPort(),
	}
	t.Cleanup(b.stop)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			b.peers <- conn.RemoteAddr()
			go func() {
				defer func() { _ = conn.Close() }()
				fmt.Fprintln(conn, b.target.Machine)
				_, _ = io.Copy(conn, conn)
			}()
		}
	}()
	return b
}

// service is a load balancer with one TCP listener.
func service(p *plane, port uint16, targets ...traffic.Target) traffic.LoadBalancer {
	return traffic.LoadBalancer{
		Identity: "lb-1", Name: "web", Addresses: []netip.Addr{p.at(200)},
		Listeners: []traffic.Listener{{
			Identity: "l-1", Protocol: traffic.TCP, Port: port,
			Group: traffic.Group{Identity: "tg-1", Policy: traffic.RoundRobin, Targets: targets},
		}},
	}
}

// connection is a client's connection through a load balancer.
type connection struct {
	net.Conn
	lines *bufio.Reader
}

func connect(t *testing.T, p *plane, port uint16, source netip.Addr) (*connection, error) {
	t.Helper()
	conn, err := Host{}.Dial(t.Context(), "tcp", source, netip.AddrPortFrom(p.at(200), port))
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(timeLimit)); err != nil {
		t.Fatal(err)
	}
	return &connection{conn, bufio.NewReader(conn)}, nil
}

func (c *connection) line() (string, error) {
	line, err := c.lines.ReadString('\n')
	return strings.TrimSpace(line), err
}

// greeted is a connection over which a machine has said who it is.
func greeted(t *testing.T, p *plane, port uint16, source netip.Addr) *connection {
	t.Helper()
	conn, err := connect(t, p, port, source)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.line(); err != nil {
		t.Fatal(err)
	}
	return conn
}

// greeting is the machine that answers a new connection, or the error.
func greeting(t *testing.T, p *plane, port uint16, source netip.Addr) string {
	t.Helper()
	conn, err := connect(t, p, port, source)
	if err != nil {
		return "error"
	}
	defer func() { _ = conn.Close() }()
	line, err := conn.line()
	if err != nil {
		return "error"
	}
	return line
}

func TestPolicies(t *testing.T) {
	p := newPlane(t)
	one, two := startBackend(t, p, 1), startBackend(t, p, 2)
	client := p.at(100)
	tests := map[traffic.Policy]func(got []string) bool{
		traffic.RoundRobin: func(got []string) bool {
			return slices.Equal(got[:4], []string{"vm-1", "vm-2", "vm-1", "vm-2"})
		},
		traffic.Random: func(got []string) bool { return slices.Contains(got, "vm-1") && slices.Contains(got, "vm-2") },
		traffic.Maglev: func(got []string) bool { return len(slices.Compact(got)) == 1 },
	}
	for policy, fits := range tests {
		t.Run(string(policy), func(t *testing.T) {
			lb := service(p, 8080, one.target, two.target)
			lb.Listeners[0].Group.Policy = policy
			p.Serve(lb)
			defer p.Remove(lb.Identity)
			var got []string
			for range 40 {
				got = append(got, greeting(t, p, 8080, client))
			}
			if !fits(got) || slices.Contains(got, "error") {
				t.Errorf("machines chosen: %v", got)
			}
		})
	}
}

func TestMaglevSpreadsSources(t *testing.T) {
	p := newPlane(t)
	one, two := startBackend(t, p, 1), startBackend(t, p, 2)
	lb := service(p, 8080, one.target, two.target)
	lb.Listeners[0].Group.Policy = traffic.Maglev
	p.Serve(lb)
	seen := map[string]bool{}
	for n := byte(100); n < 130; n++ {
		seen[greeting(t, p, 8080, p.at(n))] = true
	}
	if !seen["vm-1"] || !seen["vm-2"] {
		t.Errorf("30 sources reached %v, want both machines", seen)
	}
}

func TestTargetsSeeTheLoadBalancer(t *testing.T) {
	p := newPlane(t)
	one := startBackend(t, p, 1)
	p.Serve(service(p, 8080, one.target))
	greeting(t, p, 8080, p.at(100))
	peer := <-one.peers
	if got := peer.(*net.TCPAddr).AddrPort().Addr(); got != p.at(200) {
		t.Errorf("the target was connected to from %s, want %s", got, p.at(200))
	}
}

func TestDeadTargetIsSkipped(t *testing.T) {
	p := newPlane(t)
	one, two := startBackend(t, p, 1), startBackend(t, p, 2)
	p.Serve(service(p, 8080, one.target, two.target))
	one.stop()
	for range 4 {
		if got := greeting(t, p, 8080, p.at(100)); got != "vm-2" {
			t.Errorf("answered by %q, want vm-2", got)
		}
	}
}

func TestDeadTargetGetsItsShare(t *testing.T) {
	p := newPlane(t)
	p.oneTarget = true
	one, two := startBackend(t, p, 1), startBackend(t, p, 2)
	one.stop()
	p.Serve(service(p, 8080, one.target, two.target))
	var got []string
	for range 4 {
		got = append(got, greeting(t, p, 8080, p.at(100)))
	}
	if want := []string{"error", "vm-2", "error", "vm-2"}; !slices.Equal(got, want) {
		t.Errorf("answers %v, want %v", got, want)
	}
}

func TestNoTargets(t *testing.T) {
	p := newPlane(t)
	p.Serve(service(p, 8080))
	if got := greeting(t, p, 8080, p.at(100)); got != "error" {
		t.Errorf("answered by %q, want an error", got)
	}
}

func TestAllowedSources(t *testing.T) {
	p := newPlane(t)
	one := startBackend(t, p, 1)
	lb := service(p, 8080, one.target)
	lb.Listeners[0].AllowedSources = []netip.Prefix{netip.PrefixFrom(p.at(100), 32)}
	p.Serve(lb)
	for n, want := range map[byte]string{100: "vm-1", 101: "error"} {
		if got := greeting(t, p, 8080, p.at(n)); got != want {
			t.Errorf("source %s: %q, want %q", p.at(n), got, want)
		}
	}
}

func TestProxyProtocol(t *testing.T) {
	p := newPlane(t)
	one := startBackend(t, p, 1)
	lb := service(p, 8080, one.target)
	lb.Listeners[0].Group.ProxyProtocol = true
	p.Serve(lb)
	conn := greeted(t, p, 8080, p.at(100))
	got, err := conn.line() // the echoed header
	want := fmt.Sprintf("PROXY TCP4 %s %s %d 8080", p.at(100), p.at(200), conn.LocalAddr().(*net.TCPAddr).Port)
	if err != nil || got != want {
		t.Errorf("header %q, %v, want %q", got, err, want)
	}
}

func TestConnectionsSurviveOtherChanges(t *testing.T) {
	p := newPlane(t)
	one, two := startBackend(t, p, 1), startBackend(t, p, 2)
	p.Serve(service(p, 8080, one.target))
	conn := greeted(t, p, 8080, p.at(100))
	changed := service(p, 8080, two.target, one.target)
	changed.Listeners[0].AllowedSources = []netip.Prefix{netip.PrefixFrom(p.at(99), 32)}
	changed.Listeners = append(changed.Listeners, traffic.Listener{Identity: "l-2", Protocol: traffic.TCP, Port: 8081})
	p.Serve(changed)
	fmt.Fprintln(conn, "still there")
	if got, err := conn.line(); err != nil || got != "still there" {
		t.Errorf("after unrelated changes: %q, %v, want the echo", got, err)
	}
	p.Serve(service(p, 8080, two.target))
	if got, err := conn.line(); err == nil {
		t.Errorf("after its target went: %q, want an error", got)
	}
}

// TestCutConnectionsAreTold: those whose target was taken away, before their clients notice, and no others.
func TestCutConnectionsAreTold(t *testing.T) {
	p := newPlane(t)
	one, two := startBackend(t, p, 1), startBackend(t, p, 2)
	p.Serve(service(p, 8080, one.target))
	lost := []string{greeted(t, p, 8080, p.at(100)).LocalAddr().String(),
		greeted(t, p, 8080, p.at(101)).LocalAddr().String()}
	slices.Sort(lost)
	p.Serve(service(p, 8080, one.target, two.target))
	if got := p.cuts.take(); len(got) > 0 {
		t.Errorf("when a target is added, %v are said to have lost theirs", got)
	}
	p.Serve(service(p, 8080, two.target))
	if got := p.cuts.take(); !slices.Equal(got, lost) {
		t.Errorf("%v are said to have lost their target, want %v", got, lost)
	}
	greeted(t, p, 8080, p.at(100))
	p.Remove("lb-1")
	if got := p.cuts.take(); len(got) > 0 {
		t.Errorf("when the load balancer went, %v are said to have lost their targets", got)
	}
}

func TestChangesTakeEffectAtOnce(t *testing.T) {
	p := newPlane(t)
	one, two := startBackend(t, p, 1), startBackend(t, p, 2)
	for range 20 {
		p.Serve(service(p, 8080, one.target))
		if got := greeting(t, p, 8080, p.at(100)); got != "vm-1" {
			t.Fatalf("answered by %q, want vm-1", got)
		}
		p.Serve(service(p, 8081, two.target))
		if got := greeting(t, p, 8080, p.at(100)); got != "error" {
			t.Fatalf("the old port is answered by %q", got)
		}
		if got := greeting(t, p, 8081, p.at(100)); got != "vm-2" {
			t.Fatalf("answered by %q, want vm-2", got)
		}
	}
	p.Remove("lb-1")
	if got := greeting(t, p, 8081, p.at(100)); got != "error" {
		t.Errorf("a removed load balancer is answered by %q", got)
	}
}

func TestMaxConnections(t *testing.T) {
	p := newPlane(t)
	one := startBackend(t, p, 1)
	lb := service(p, 8080, one.target)
	lb.Listeners[0].MaxConnections = 1
	p.Serve(lb)
	first := greeted(t, p, 8080, p.at(100))
	if got := greeting(t, p, 8080, p.at(100)); got != "error" {
		t.Errorf("the second connection is answered by %q, want an error", got)
	}
	_ = first.Close()
	traffictest.Eventually(t, "a slot is free again", func() bool { return greeting(t, p, 8080, p.at(100)) == "vm-1" })
}

func TestIdleTimeout(t *testing.T) {
	p := newPlane(t)
	one := startBackend(t, p, 1)
	lb := service(p, 8080, one.target)
	lb.Listeners[0].IdleTimeout = 50 * time.Millisecond
	p.Serve(lb)
	start := time.Now()
	conn := greeted(t, p, 8080, p.at(100))
	if _, err := conn.line(); err == nil || time.Since(start) < 50*time.Millisecond || time.Since(start) > timeLimit/2 {
		t.Errorf("an idle connection ended after %s with %v", time.Since(start), err)
	}
}

func TestHalfClose(t *testing.T) {
	p := newPlane(t)
	one := startBackend(t, p, 1)
	p.Serve(service(p, 8080, one.target))
	conn, err := connect(t, p, 8080, p.at(100))
	if err != nil {
		t.Fatal(err)
	}
	payload := strings.Repeat("x", 1<<20)
	go func() {
		_, _ = io.WriteString(conn, payload)
		_ = conn.Conn.(*net.TCPConn).CloseWrite()
	}()
	got, err := io.ReadAll(conn.lines)
	if err != nil || string(got) != "vm-1\n"+payload {
		t.Errorf("got %d bytes, %v, want the greeting and %d bytes", len(got), err, len(payload))
	}
}

// healthy counts the healthy targets of a load balancer.
// startHealth starts what a health check looks at, and returns a switch that
// makes it sick and well.
// socketHealth is well while its socket is open.
