package emulator_test

import (
	"bufio"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/thalassa-cloud/client-go/iaas"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/loopback"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/proxy"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic/traffictest"
)

// What the API promises must be what packets experience: everything here goes
// in through the official client and is observed through sockets.

// targetPort is where the machines of these tests listen.
const targetPort = 30080

// wired is a cloud with the loopback data plane and one load balancer.
type wired struct {
	*cloud
	group    *iaas.VpcLoadbalancerTargetGroup
	balancer *iaas.VpcLoadbalancer
	listener *iaas.VpcLoadbalancerListener
}

func newWired(t *testing.T) *wired {
	t.Helper()
	// A second of health checks takes 5 ms.
	plane, err := loopback.New(loopback.Options{Proxy: proxy.Options{Second: 5 * time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	seed, err := emulator.LoopbackSeed(plane.Network())
	if err != nil {
		t.Fatal(err)
	}
	w := &wired{cloud: newCloud(t, func(cfg *emulator.Config) { cfg.Seed, cfg.DataPlane = seed, plane })}
	w.group = w.cloud.group(t, "web", targetPort)
	w.balancer = w.loadbalancer(t, "web")
	w.listener = w.cloud.listener(t, w.balancer.Identity, w.group.Identity, 8080)
	return w
}

// serveOn adds a machine that greets every connection with its name, and
// returns its identity and a way to make it stop listening.
func (w *wired) serveOn(t *testing.T, name string) (identity string, stop func()) {
	t.Helper()
	identity = w.machine(t, name)
	m, err := w.api.GetMachine(t.Context(), identity)
	if err != nil {
		t.Fatal(err)
	}
	at := netip.AddrPortFrom(netip.MustParseAddr(m.Interfaces[0].IPAddresses[0]), targetPort)
	listener, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(at))
	if err != nil {
		t.Fatal(err)
	}
	stop = func() { _ = listener.Close() }
	t.Cleanup(stop)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				fmt.Fprintln(conn, name)
				// The first line of a PROXY protocol header, if there is one.
				if line, err := bufio.NewReader(conn).ReadString('\n'); err == nil {
					fmt.Fprint(conn, line)
				}
			}()
		}
	}()
	return identity, stop
}

// lines connects to the load balancer, sends a line, and returns what comes
// back: nothing when the connection is refused, or reset at any time.
func (w *wired) lines(t *testing.T) string {
	t.Helper()
	at := net.JoinHostPort(w.balancer.ExternalIpAddresses[0], "8080")
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", at)
	if err != nil {
		return ""
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(conn, "hello")
	var got []string
	for scanner := bufio.NewScanner(conn); scanner.Scan(); {
		got = append(got, scanner.Text())
	}
	return strings.Join(got, ",")
}

func (w *wired) update(t *testing.T, change func(*iaas.UpdateListener)) {
	t.Helper()
	update := iaas.UpdateListener{Name: "http", Port: 8080, Protocol: iaas.ProtocolTCP, TargetGroup: w.group.Identity}
	change(&update)
	if _, err := w.api.UpdateListener(t.Context(), w.balancer.Identity, w.listener.Identity, update); err != nil {
		t.Fatal(err)
	}
}

func (w *wired) updateGroup(t *testing.T, change func(*iaas.UpdateTargetGroup)) {
	t.Helper()
	update := iaas.UpdateTargetGroup{Name: "web", TargetPort: targetPort, Protocol: iaas.ProtocolTCP}
	change(&update)
	if _, err := w.api.UpdateTargetGroup(t.Context(), iaas.UpdateTargetGroupRequest{Identity: w.group.Identity,
		UpdateTargetGroup: update}); err != nil {
		t.Fatal(err)
	}
}

func TestTrafficFollowsAttachments(t *testing.T) {
	w := newWired(t)
	one, _ := w.serveOn(t, "one")
	two, _ := w.serveOn(t, "two")
	expect := func(when string, want ...string) {
		t.Helper()
		seen := map[string]bool{}
		for range 2 * len(want) {
			seen[w.lines(t)] = true
		}
		for _, answer := range want {
			if !seen[answer] || len(seen) != len(want) {
				t.Errorf("%s: answers %v, want %v", when, seen, want)
			}
		}
	}
	expect("no machine", "")
	if err := w.setTargets(t, w.group.Identity, one, two); err != nil {
		t.Fatal(err)
	}
	expect("both attached", "one,hello", "two,hello")
	if err := w.api.MachineStop(t.Context(), one); err != nil {
		t.Fatal(err)
	}
	expect("one stopped", "two,hello")
	if err := w.api.MachineStart(t.Context(), one); err != nil {
		t.Fatal(err)
	}
	expect("both again", "one,hello", "two,hello")
	if err := w.api.DeleteMachine(t.Context(), two); err != nil {
		t.Fatal(err)
	}
	expect("one deleted", "one,hello")
	if err := w.api.DeleteLoadbalancer(t.Context(), w.balancer.Identity); err != nil {
		t.Fatal(err)
	}
	expect("load balancer deleted", "")
}

func TestTrafficIsCounted(t *testing.T) {
	w := newWired(t)
	one, _ := w.serveOn(t, "one")
	two, _ := w.serveOn(t, "two")
	if err := w.setTargets(t, w.group.Identity, one, two); err != nil {
		t.Fatal(err)
	}
	for range 4 {
		w.lines(t) // sends "hello\n", and gets "one\nhello\n" or "two\nhello\n"
	}
	each := traffic.Counters{Connections: 2, Received: 2 * 6, Sent: 2 * 10}
	traffictest.Eventually(t, "both targets and their listener have counted", func() bool {
		listener := w.State().LoadBalancers[0].Listeners[0]
		return listener.Counters == each.Plus(each) && listener.Targets[0].Counters == each &&
			listener.Targets[1].Counters == each
	})
	// A target that is removed takes its counters with it; the listener keeps the sum.
	if err := w.setTargets(t, w.group.Identity, two); err != nil {
		t.Fatal(err)
	}
	if got := w.Overview().LoadBalancers[0].Listeners[0]; got.Counters != each.Plus(each) || got.Targets != 1 {
		t.Errorf("the listener is %+v", got)
	}
}

func TestTrafficFollowsTheListener(t *testing.T) {
	w := newWired(t)
	one, _ := w.serveOn(t, "one")
	if err := w.setTargets(t, w.group.Identity, one); err != nil {
		t.Fatal(err)
	}
	steps := []struct {
		name   string
		change func(*iaas.UpdateListener)
		want   string
	}{
		{"as it is", func(*iaas.UpdateListener) {}, "one,hello"},
		{"others may connect", func(l *iaas.UpdateListener) {
			l.AllowedSources = []string{"10.0.0.0/8", "192.0.2.1"}
		}, ""},
		{"we may connect", func(l *iaas.UpdateListener) {
			l.AllowedSources = []string{"10.0.0.0/8", "127.0.0.0/8"}
		}, "one,hello"},
		{"everybody may connect", func(*iaas.UpdateListener) {}, "one,hello"},
		{"another port", func(l *iaas.UpdateListener) { l.Port = 8081 }, ""},
		{"the port again", func(*iaas.UpdateListener) {}, "one,hello"},
	}
	for _, step := range steps {
		w.update(t, step.change)
		if got := w.lines(t); got != step.want {
			t.Errorf("%s: %q, want %q", step.name, got, step.want)
		}
	}
	if err := w.api.DeleteListener(t.Context(), w.balancer.Identity, w.listener.Identity); err != nil {
		t.Fatal(err)
	}
	if got := w.lines(t); got != "" {
		t.Errorf("without the listener: %q, want nothing", got)
	}
}

func TestTrafficFollowsTheGroup(t *testing.T) {
	w := newWired(t)
	one, _ := w.serveOn(t, "one")
	if err := w.setTargets(t, w.group.Identity, one); err != nil {
		t.Fatal(err)
	}
	w.updateGroup(t, func(g *iaas.UpdateTargetGroup) { g.EnableProxyProtocol = new(true) })
	if got, want := w.lines(t), "one,PROXY TCP4 127.0.0.1 "+w.balancer.ExternalIpAddresses[0]+
		" "; !strings.HasPrefix(got, want) {
		t.Errorf("with the PROXY protocol: %q, want %q...", got, want)
	}
	w.updateGroup(t, func(g *iaas.UpdateTargetGroup) { g.TargetPort = targetPort + 1 })
	if got := w.lines(t); got != "" {
		t.Errorf("with a target port that is closed: %q, want nothing", got)
	}
	w.updateGroup(t, func(*iaas.UpdateTargetGroup) {})
	if got := w.lines(t); got != "one,hello" {
		t.Errorf("with the right port and no PROXY protocol: %q", got)
	}
}

func TestTrafficFollowsHealth(t *testing.T) {
	w := newWired(t)
	one, stop := w.serveOn(t, "one")
	two, _ := w.serveOn(t, "two")
	if err := w.setTargets(t, w.group.Identity, one, two); err != nil {
		t.Fatal(err)
	}
	w.updateGroup(t, func(g *iaas.UpdateTargetGroup) {
		g.HealthCheck = &iaas.BackendHealthCheck{Protocol: "tcp", Port: targetPort, PeriodSeconds: 5,
			TimeoutSeconds: 300, UnhealthyThreshold: 1, HealthyThreshold: 1}
	})
	health := func() string {
		var all []string
		for _, target := range w.State().LoadBalancers[0].Listeners[0].Targets {
			all = append(all, target.Health)
		}
		return strings.Join(all, " ")
	}
	traffictest.Eventually(t, "both are healthy", func() bool { return health() == "healthy healthy" })
	stop()
	traffictest.Eventually(t, "one is unhealthy", func() bool { return health() == "unhealthy healthy" })
	for range 4 {
		if got := w.lines(t); got != "two,hello" {
			t.Errorf("answered by %q, want two", got)
		}
	}
}

func TestConnectionsAreLimited(t *testing.T) {
	w := newWired(t)
	one, _ := w.serveOn(t, "one")
	if err := w.setTargets(t, w.group.Identity, one); err != nil {
		t.Fatal(err)
	}
	w.update(t, func(l *iaas.UpdateListener) { l.MaxConnections = new(uint32(1)) })
	first, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", net.JoinHostPort(w.balancer.ExternalIpAddresses[0],
		"8080"))
	if err != nil {
		t.Fatal(err)
	}
	if greeting, err := bufio.NewReader(first).ReadString('\n'); err != nil || greeting != "one\n" {
		t.Errorf("the first connection: %q, %v", greeting, err)
	}
	if got := w.lines(t); got != "" {
		t.Errorf("the second connection: %q, want nothing", got)
	}
	_ = first.Close()
	traffictest.Eventually(t, "the first connection has made room", func() bool { return w.lines(t) == "one,hello" })
}

func TestUDPTraffic(t *testing.T) {
	w := newWired(t)
	identity := w.machine(t, "one")
	m, err := w.api.GetMachine(t.Context(), identity)
	if err != nil {
		t.Fatal(err)
	}
	at := netip.AddrPortFrom(netip.MustParseAddr(m.Interfaces[0].IPAddresses[0]), targetPort)
	server, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(at))
	if err != nil {
		t.Fatal(err)
	}
	traffictest.EchoUDP(t, server, "one,")
	g, err := w.api.CreateTargetGroup(t.Context(), iaas.CreateTargetGroup{
		Name: "dns", Vpc: emulator.DefaultVPC, TargetPort: targetPort, Protocol: iaas.ProtocolUDP,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.setTargets(t, g.Identity, identity); err != nil {
		t.Fatal(err)
	}
	// The same port as the TCP listener's.
	if _, err := w.api.CreateListener(t.Context(), w.balancer.Identity, iaas.CreateListener{
		Name: "dns", Port: 8080, Protocol: iaas.ProtocolUDP, TargetGroup: g.Identity,
	}); err != nil {
		t.Fatal(err)
	}
	client, err := (&net.Dialer{}).DialContext(t.Context(), "udp", net.JoinHostPort(w.balancer.ExternalIpAddresses[0],
		"8080"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	if err := client.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(client, "hello")
	buffer := make([]byte, 100)
	n, err := client.Read(buffer)
	if got := string(buffer[:n]); err != nil || got != "one,hello" {
		t.Errorf("answer %q, %v, want one,hello", got, err)
	}
}

func TestInternalLoadbalancerCarriesTraffic(t *testing.T) {
	w := newWired(t)
	one, _ := w.serveOn(t, "one")
	if err := w.setTargets(t, w.group.Identity, one); err != nil {
		t.Fatal(err)
	}
	internal, err := w.api.CreateLoadbalancer(t.Context(), iaas.CreateLoadbalancer{
		Name: "internal", Subnet: emulator.DefaultSubnet, InternalLoadbalancer: true,
		Listeners: []iaas.CreateListener{listenerOn(8080, w.group.Identity)},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.balancer.ExternalIpAddresses = internal.InternalIpAddresses
	if got := w.lines(t); got != "one,hello" {
		t.Errorf("through %v: %q, want one", internal.InternalIpAddresses, got)
	}
}
