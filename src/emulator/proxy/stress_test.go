package proxy

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic"
)

// New connections must always find a machine while the set of machines changes,
// as long as one of them stays.
func TestConnectionsDuringChanges(t *testing.T) {
	p := newPlane(t)
	stays, comes := startBackend(t, p, 1), startBackend(t, p, 2)
	p.Serve(service(p, 8080, stays.target))
	stop := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			both := service(p, 8080, stays.target, comes.target)
			both.Listeners[0].Group.Policy = traffic.Maglev
			p.Serve(both)
			p.Status("lb-1")
			p.Serve(service(p, 8080, stays.target))
		}
	})
	for range 4 {
		running.Go(func() {
			for range 50 {
				// A connection to the machine that went may be reset, even before
				// connect returns; none may be refused.
				conn, err := connect(t, p, 8080, p.at(100))
				if errors.Is(err, syscall.ECONNREFUSED) {
					t.Errorf("connecting: %v", err)
				}
				if err == nil {
					_, _ = conn.line()
					_ = conn.Close()
				}
			}
		})
	}
	go func() {
		// The changes go on for as long as there are connections.
		<-time.After(200 * time.Millisecond)
		close(stop)
	}()
	running.Wait()
	if got := greeting(t, p, 8080, p.at(100)); got != "vm-1" {
		t.Errorf("answered by %q, want vm-1", got)
	}
}

func TestCloseEndsConnections(t *testing.T) {
	p := newPlane(t)
	one := startBackend(t, p, 1)
	p.Serve(service(p, 8080, one.target))
	var open []*connection
	for range 20 {
		conn, err := connect(t, p, 8080, p.at(100))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.line(); err != nil {
			t.Fatal(err)
		}
		open = append(open, conn)
	}
	p.Close()
	for _, conn := range open {
		if _, err := conn.line(); err == nil {
			t.Error("a connection outlives its load balancer")
		}
	}
}

func TestManyUDPClients(t *testing.T) {
	p := newPlane(t)
	one, _ := startEcho(t, p, 1, "vm-1")
	two, _ := startEcho(t, p, 2, "vm-2")
	p.Serve(udpService(p, one, two))
	var running sync.WaitGroup
	for i := range 50 {
		client := newUDPClient(t, p, p.at(100))
		running.Go(func() {
			text := fmt.Sprint("hello ", i)
			if got := client.ask(text, timeLimit); got != "vm-1 "+text && got != "vm-2 "+text {
				t.Errorf("client %d got %q", i, got)
			}
		})
	}
	running.Wait()
}

func TestHTTPSHealthCheck(t *testing.T) {
	p := newPlane(t)
	one := startBackend(t, p, 1)
	listener, err := Host{}.ListenTCP(netip.AddrPortFrom(p.at(1), 0))
	if err != nil {
		t.Fatal(err)
	}
	var there atomic.Bool
	server := &httptest.Server{Listener: listener,
		Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !there.Load() {
				http.NotFound(w, r)
			}
		})}}
	server.StartTLS()
	t.Cleanup(server.Close)
	check := traffic.HealthCheck{Protocol: "https", Port: listener.Addr().(*net.TCPAddr).AddrPort().Port(), Path: "/",
		Timeout: time.Minute}
	probe := prober{sockets: Host{}, source: p.at(200), second: time.Second}
	if err := probe.once(t.Context(), check, one.target.Address.Addr()); err == nil || err.Error() != "404 Not Found" {
		t.Errorf("a page that is missing: %v, want 404", err)
	}
	there.Store(true)
	if err := probe.once(t.Context(), check, one.target.Address.Addr()); err != nil {
		t.Errorf("a page that is there, with a certificate for another name: %v", err)
	}
}

func TestHealthCheckTimesOut(t *testing.T) {
	p := newPlane(t)
	// The listener never accepts, so a TCP check succeeds and an HTTP check hangs.
	silent, err := Host{}.ListenTCP(netip.AddrPortFrom(p.at(1), 0))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	check := traffic.HealthCheck{Port: silent.Addr().(*net.TCPAddr).AddrPort().Port(), Timeout: 50 * time.Millisecond}
	probe := prober{sockets: Host{}, source: p.at(200), second: time.Millisecond}
	for protocol, good := range map[string]bool{"tcp": true, "http": false} {
		check.Protocol = protocol
		began := time.Now()
		if err := probe.once(t.Context(), check, p.at(1)); (err == nil) != good {
			t.Errorf("%s: %v, want success %t", protocol, err, good)
		}
		// However short the time between two checks is, a target has as long as the API says.
		if took := time.Since(began); !good && took < check.Timeout {
			t.Errorf("%s: it was given up after %s, want %s", protocol, took, check.Timeout)
		}
	}
	check.Protocol, check.Path = "http", "\x7f"
	if err := probe.once(t.Context(), check, p.at(1)); err == nil {
		t.Error("a check of an impossible path succeeded")
	}
}
