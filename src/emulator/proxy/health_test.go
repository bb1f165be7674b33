package proxy

import (
	"io"
	"net/http"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic/traffictest"
)

func TestHealthChecks(t *testing.T) {
	for _, protocol := range []string{"tcp", "http", "udp"} {
		t.Run(protocol, func(t *testing.T) {
			p := newPlane(t)
			one, two := startBackend(t, p, 1), startBackend(t, p, 2)
			const port = 18099
			sick := startHealth(t, protocol, p.at(1), port)
			startHealth(t, protocol, p.at(2), port)
			lb := service(p, 8080, one.target, two.target)
			lb.Listeners[0].Group.Health = &traffic.HealthCheck{
				Protocol: protocol, Port: port, Path: "/healthz", Period: 5 * time.Second, Timeout: 4 * time.Second,
				UnhealthyThreshold: 2, HealthyThreshold: 2,
			}
			p.Serve(lb)
			healthy := func(want int) func() bool {
				return func() bool { return p.healthy("lb-1") == want }
			}
			traffictest.Eventually(t, "both machines are healthy", healthy(2))
			sick(true)
			traffictest.Eventually(t, "one machine is unhealthy", healthy(1))
			for range 4 {
				if got := greeting(t, p, 8080, p.at(100)); got != "vm-2" {
					t.Errorf("answered by %q, want the healthy vm-2", got)
				}
			}
			sick(false)
			traffictest.Eventually(t, "it is healthy again", healthy(2))
		})
	}
}

func (p *plane) healthy(identity string) int {
	status, _ := p.Status(identity)
	n := 0
	for _, l := range status.Listeners {
		for _, target := range l.Targets {
			if target.Health == traffic.Healthy {
				n++
			}
		}
	}
	return n
}

func startHealth(t *testing.T, protocol string, addr netip.Addr, port uint16) func(sick bool) {
	t.Helper()
	at := netip.AddrPortFrom(addr, port)
	switch protocol {
	case "http":
		return startHTTPHealth(t, at)
	case "udp":
		return socketHealth(t, func() (io.Closer, error) { return Host{}.ListenUDP(at) })
	}
	return socketHealth(t, func() (io.Closer, error) { return Host{}.ListenTCP(at) })
}

func socketHealth(t *testing.T, open func() (io.Closer, error)) func(bool) {
	t.Helper()
	socket, err := open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = socket.Close() })
	return func(sick bool) {
		if sick {
			_ = socket.Close()
			return
		}
		if socket, err = open(); err != nil {
			t.Error(err)
		}
	}
}

func startHTTPHealth(t *testing.T, at netip.AddrPort) func(bool) {
	t.Helper()
	listener, err := Host{}.ListenTCP(at)
	if err != nil {
		t.Fatal(err)
	}
	var ill atomic.Bool
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" || ill.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	return ill.Store
}
