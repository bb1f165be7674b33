package proxy

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic/traffictest"
)

// unprivileged binds like a user who may not bind low ports, whoever runs it.
type unprivileged struct{ Host }

func refuseLow(at netip.AddrPort) error {
	if at.Port() < 1024 {
		return &net.OpError{Op: "listen", Net: "tcp", Err: syscall.EACCES}
	}
	return nil
}

func (u unprivileged) ListenTCP(at netip.AddrPort) (*net.TCPListener, error) {
	if err := refuseLow(at); err != nil {
		return nil, err
	}
	return u.Host.ListenTCP(at)
}

func (u unprivileged) ListenUDP(at netip.AddrPort) (*net.UDPConn, error) {
	if err := refuseLow(at); err != nil {
		return nil, err
	}
	return u.Host.ListenUDP(at)
}

// occupy is another program that holds a port of the load balancer's address.
func occupy(t *testing.T, p *plane, protocol traffic.Protocol, port uint16) (release func()) {
	t.Helper()
	at := netip.AddrPortFrom(p.at(200), port)
	var squatter io.Closer
	var err error
	if protocol == traffic.UDP {
		squatter, err = Host{}.ListenUDP(at)
	} else {
		squatter, err = Host{}.ListenTCP(at)
	}
	if err != nil {
		t.Fatal(err)
	}
	release = func() { _ = squatter.Close() }
	t.Cleanup(release)
	return release
}

// serveOne serves a load balancer with one listener and returns its status.
func serveOne(t *testing.T, p *plane, lb traffic.LoadBalancer) traffic.ListenerStatus {
	t.Helper()
	p.Serve(lb)
	status, served := p.Status(lb.Identity)
	if !served || len(status.Listeners) != 1 {
		t.Fatalf("Status = %+v, %t, want one listener", status, served)
	}
	return status.Listeners[0]
}

func TestRefusedPortsAreServedElsewhere(t *testing.T) {
	tests := []struct {
		name     string
		port     uint16
		protocol traffic.Protocol
		sockets  Sockets
		occupied []uint16
		// served is the port that it is served at, 0 for none.
		served  uint16
		problem []string
	}{
		{"forbidden", 80, traffic.TCP, unprivileged{}, nil, 20080,
			[]string{"port 80 may not be bound here", "permission denied", "served at port 20080"}},
		{"in use", 8080, traffic.TCP, Host{}, []uint16{8080}, 28080,
			[]string{"port 8080 is in use already", "address already in use", "served at port 28080"}},
		{"in use, UDP", 8080, traffic.UDP, Host{}, []uint16{8080}, 28080,
			[]string{"port 8080 is in use already", "address already in use", "served at port 28080"}},
		{"in use, both", 8080, traffic.TCP, Host{}, []uint16{8080, 28080}, 0,
			[]string{"not served: port 8080 is in use already", "nor can port 28080 be used instead",
				"28080: bind: address already in use"}},
		{"forbidden and in use", 80, traffic.TCP, unprivileged{}, []uint16{20080}, 0,
			[]string{"not served: port 80 may not be bound here", "20080: bind: address already in use"}},
		{"in use, no such port", 45536, traffic.TCP, Host{}, []uint16{45536}, 0,
			[]string{"not served: ", "45536: bind: address already in use"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newPlane(t)
			var log bytes.Buffer
			p.log = slog.New(slog.NewTextHandler(&log, nil))
			p.sockets = tt.sockets
			for _, port := range tt.occupied {
				occupy(t, p, tt.protocol, port)
			}
			lb := service(p, tt.port)
			lb.Listeners[0].Protocol = tt.protocol
			l := serveOne(t, p, lb)
			var want []netip.AddrPort
			if tt.served != 0 {
				want = []netip.AddrPort{netip.AddrPortFrom(p.at(200), tt.served)}
			}
			if !slices.Equal(l.Served, want) {
				t.Errorf("served at %v, want %v", l.Served, want)
			}
			for _, part := range tt.problem {
				if !strings.Contains(l.Problem, part) {
					t.Errorf("problem %q does not say %q", l.Problem, part)
				}
			}
			if !strings.Contains(log.String(), l.Problem) {
				t.Errorf("log %q does not have the problem %q", log.String(), l.Problem)
			}
		})
	}
}

func TestStandInAnswers(t *testing.T) {
	p := newPlane(t)
	one := startBackend(t, p, 1)
	release := occupy(t, p, traffic.TCP, 8080)
	p.Serve(service(p, 8080, one.target))
	if got := greeting(t, p, 28080, p.at(100)); got != "vm-1" {
		t.Errorf("answered by %q, want vm-1", got)
	}
	// Clients may use the other port by now, so it stays.
	release()
	p.Serve(service(p, 8080, one.target))
	if got := greeting(t, p, 28080, p.at(100)); got != "vm-1" {
		t.Errorf("answered by %q after a change, want vm-1", got)
	}
}

func TestOccupiedPortIsRetried(t *testing.T) {
	p := newPlane(t)
	one := startBackend(t, p, 1)
	release := occupy(t, p, traffic.TCP, 8080)
	occupy(t, p, traffic.TCP, 28080)
	if l := serveOne(t, p, service(p, 8080, one.target)); len(l.Served) != 0 {
		t.Errorf("status %+v, want that it is not served", l)
	}
	release()
	p.Serve(service(p, 8080, one.target))
	if got := greeting(t, p, 8080, p.at(100)); got != "vm-1" {
		t.Errorf("answered by %q, want vm-1", got)
	}
}

// A listener's own port is not given to another listener that must go elsewhere.
func TestOwnPortBeforeStandIn(t *testing.T) {
	for range 10 { // listeners have no order of their own
		p := newPlane(t)
		p.sockets = unprivileged{}
		lb := service(p, 80)
		lb.Listeners = append(lb.Listeners, traffic.Listener{Identity: "l-2", Protocol: traffic.TCP, Port: 20080})
		p.Serve(lb)
		status, _ := p.Status("lb-1")
		low, high := status.Listeners[0], status.Listeners[1]
		if len(low.Served) != 0 || !strings.Contains(low.Problem, "not served") || len(high.Served) != 1 ||
			high.Problem != "" {
			t.Fatalf("status %+v and %+v, want the second alone at port 20080", low, high)
		}
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

func TestServeAfterClose(t *testing.T) {
	p := newPlane(t)
	p.Close()
	p.Serve(service(p, 8080))
	if _, served := p.Status("lb-1"); served {
		t.Error("a closed plane serves")
	}
}

func TestHealthSurvivesUnrelatedChanges(t *testing.T) {
	p := newPlane(t)
	one, two := startBackend(t, p, 1), startBackend(t, p, 2)
	lb := service(p, 8080, one.target)
	check := &traffic.HealthCheck{Protocol: "tcp", Port: one.target.Address.Port(), Period: 1000, Timeout: 1e9,
		UnhealthyThreshold: 1, HealthyThreshold: 1}
	lb.Listeners[0].Group.Health = check
	p.Serve(lb)
	traffictest.Eventually(t, "the machine is healthy", func() bool { return p.healthy("lb-1") == 1 })
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

// TestTargetsOfAllAddresses: a listener has a frontend for each address, and says of each target the worst that one of
// them thinks.
func TestTargetsOfAllAddresses(t *testing.T) {
	status := func(machine string, health traffic.Health) traffic.TargetStatus {
		return traffic.TargetStatus{Machine: machine, Address: netip.MustParseAddrPort("10.0.0.1:80"), Health: health,
			Counters: traffic.Counters{Connections: 1, Received: 2, Sent: 3}}
	}
	other := traffic.TargetStatus{Machine: "vm-1", Address: netip.MustParseAddrPort("[fd00::1]:80"),
		Health: traffic.Healthy}
	var got []traffic.TargetStatus
	for _, one := range []traffic.TargetStatus{
		status("vm-1", traffic.Healthy), status("vm-2", traffic.Unhealthy), // of the first address
		status("vm-1", traffic.Unhealthy), status("vm-2", traffic.Healthy), // of the second
		other,
	} {
		got = withTarget(got, one)
	}
	want := []traffic.TargetStatus{status("vm-1", traffic.Unhealthy), status("vm-2", traffic.Unhealthy), other}
	for i := range want[:2] {
		want[i].Counters = traffic.Counters{Connections: 2, Received: 4, Sent: 6}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
