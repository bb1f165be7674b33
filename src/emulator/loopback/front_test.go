package loopback

import (
	"net"
	"net/netip"
	"strings"
	"syscall"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic"
)

// unprivileged binds like a user who may not bind low ports, whoever runs it.
type unprivileged struct{ sockets }

func refuseLow(at netip.AddrPort) error {
	if at.Port() < 1024 {
		return &net.OpError{Op: "listen", Net: "tcp", Err: syscall.EACCES}
	}
	return nil
}

func (u unprivileged) tcp(at netip.AddrPort) (*net.TCPListener, error) {
	if err := refuseLow(at); err != nil {
		return nil, err
	}
	return u.sockets.tcp(at)
}

func (u unprivileged) udp(at netip.AddrPort) (*net.UDPConn, error) {
	if err := refuseLow(at); err != nil {
		return nil, err
	}
	return u.sockets.udp(at)
}

func TestForbiddenPortsAreServedElsewhere(t *testing.T) {
	p := newPlane(t)
	p.binder = unprivileged{}
	one := startBackend(t, p, 1)
	p.Serve(service(p, 80, one.target))
	status, served := p.Status("lb-1")
	if !served || len(status.Listeners) != 1 {
		t.Fatalf("Status = %+v, %t, want one listener", status, served)
	}
	l := status.Listeners[0]
	if want := netip.AddrPortFrom(p.at(200), 20080); len(l.Served) != 1 || l.Served[0] != want {
		t.Errorf("served at %v, want %s", l.Served, want)
	}
	if !strings.Contains(l.Problem, "served at port 20080") {
		t.Errorf("problem %q does not say where it is served", l.Problem)
	}
	if got := greeting(t, p, 20080, p.at(100)); got != "vm-1" {
		t.Errorf("answered by %q, want vm-1", got)
	}
}

func TestOccupiedPortIsRetried(t *testing.T) {
	p := newPlane(t)
	one := startBackend(t, p, 1)
	squatter, err := sockets{}.tcp(netip.AddrPortFrom(p.at(200), 8080))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = squatter.Close() })
	p.Serve(service(p, 8080, one.target))
	status, _ := p.Status("lb-1")
	if l := status.Listeners[0]; len(l.Served) != 0 || !strings.Contains(l.Problem, "not served") {
		t.Errorf("status %+v, want a problem", l)
	}
	_ = squatter.Close()
	p.Serve(service(p, 8080, one.target))
	if got := greeting(t, p, 8080, p.at(100)); got != "vm-1" {
		t.Errorf("answered by %q, want vm-1", got)
	}
}

func TestSeveralAddresses(t *testing.T) {
	p := newPlane(t)
	one := startBackend(t, p, 1)
	lb := service(p, 8080, one.target)
	lb.Addresses = append(lb.Addresses, p.at(201))
	p.Serve(lb)
	status, _ := p.Status("lb-1")
	if l := status.Listeners[0]; len(l.Served) != 2 {
		t.Errorf("served at %v, want both addresses", l.Served)
	}
	if _, served := p.Status("lb-2"); served {
		t.Error("an unknown load balancer is served")
	}
}

func TestNetworksAreClaimed(t *testing.T) {
	one, two := newPlane(t), newPlane(t)
	if one.Network() == two.Network() {
		t.Errorf("two planes share %s", one.Network())
	}
	for name, network := range map[string]string{
		"in use": one.Network().String(), "not loopback": "10.0.0.0/16", "not a prefix": "x",
		"system's own": "127.0.0.0/16", "wrong size": "127.64.0.0/17", "not masked": "127.64.0.1/16",
	} {
		if p, err := New(Options{Network: network}); err == nil {
			t.Errorf("%s: %s was claimed", name, network)
			_ = p.Close()
		}
	}
	released := one.Network()
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := New(Options{Network: released.String()})
	if err != nil {
		t.Fatalf("claiming a released network: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

func TestServeAfterClose(t *testing.T) {
	p, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	p.Serve(service(p, 8080))
	if _, served := p.Status("lb-1"); served {
		t.Error("a closed plane serves")
	}
}

func TestHealthSurvivesUnrelatedChanges(t *testing.T) {
	p := newPlane(t)
	one, two := startBackend(t, p, 1), startBackend(t, p, 2)
	lb := service(p, 8080, one.target)
	check := &traffic.HealthCheck{Protocol: "tcp", Port: one.target.Address.Port(), Period: 1000, Timeout: 1e9, UnhealthyThreshold: 1, HealthyThreshold: 1}
	lb.Listeners[0].Group.Health = check
	p.Serve(lb)
	eventually(t, "the machine is healthy", func() bool { return p.healthy("lb-1") == 1 })
	same := *check
	lb = service(p, 8080, one.target, two.target)
	lb.Listeners[0].Group.Health = &same
	p.Serve(lb)
	if got := p.healthy("lb-1"); got < 1 {
		t.Errorf("%d machines are healthy right after another was added, want 1", got)
	}
	p.Serve(service(p, 8080, one.target))
	status, _ := p.Status("lb-1")
	if got := status.Listeners[0].Targets[0].Health; got != traffic.Unchecked {
		t.Errorf("without a health check the target is %s, want unchecked", got)
	}
}
