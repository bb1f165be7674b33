//go:build linux

package netns

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/thalassa-cloud/client-go/iaas"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic/traffictest"
)

func TestHTTPInBothFamilies(t *testing.T) {
	asRoot(t, func(c *cloud) {
		one := c.machine("one", "")
		listener, err := one.ListenTCP(netip.AddrPortFrom(netip.IPv6Unspecified(), 8080))
		if err != nil {
			t.Fatal(err)
		}
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, "%s of %s", r.URL.Path, r.Host)
		})}
		t.Cleanup(func() { _ = server.Close() })
		go func() { _ = server.Serve(listener) }()
		lb, v4, v6 := c.balancer("web", nil, one)
		for _, addr := range []netip.Addr{v4, v6} {
			at := netip.AddrPortFrom(addr, 80)
			response, err := browser(c.plane.Client()).Get("http://" + at.String() + "/shop")
			if err != nil {
				t.Fatal(err)
			}
			host := strings.TrimSuffix(at.String(), ":80")
			body, err := io.ReadAll(response.Body)
			if closed := response.Body.Close(); err != nil || closed != nil ||
				!strings.HasPrefix(string(body), "/shop of "+host) {
				t.Errorf("%s: %q, %v, %v", at, body, err, closed)
			}
		}
		want := []netip.AddrPort{netip.AddrPortFrom(v4, 80), netip.AddrPortFrom(v6, 80)}
		got := c.status(lb).Served
		slices.SortFunc(got, netip.AddrPort.Compare)
		if !slices.Equal(got, want) {
			t.Errorf("served at %v, want %v", got, want)
		}
	})
}

func TestUDPInBothFamilies(t *testing.T) {
	asRoot(t, func(c *cloud) {
		one := c.machine("one", "")
		c.serveUDP(one, 53)
		_, v4, v6 := c.balancer("dns", func(_ *iaas.CreateLoadbalancer, g *iaas.CreateTargetGroup,
			l *iaas.CreateListener) {
			g.Protocol, g.TargetPort, l.Protocol, l.Port = iaas.ProtocolUDP, 53, iaas.ProtocolUDP, 5353
		}, one)
		for _, addr := range []netip.Addr{v4, v6} {
			if answer, err := ask(c.plane.Client(), "udp", netip.Addr{}, netip.AddrPortFrom(addr, 5353),
				timeLimit); err != nil || answer != "one hello" {
				t.Errorf("%s: %q, %v", addr, answer, err)
			}
		}
	})
}

// A machine with IPv4 alone is behind both addresses of a load balancer.
func TestIPv6InFrontOfIPv4(t *testing.T) {
	asRoot(t, func(c *cloud) {
		subnet := c.subnet("old", emulator.DefaultVPC, "10.0.128.0/24", nil)
		one := c.machine("one", subnet)
		c.serve(one, 8080)
		_, v4, v6 := c.balancer("web", nil, one)
		c.reaches(c.plane.Client(), v4, 80, true)
		c.reaches(c.plane.Client(), v6, 80, true)
		if one.v6.IsValid() {
			t.Errorf("the machine has %s", one.v6)
		}
	})
}

func TestInternalBalancers(t *testing.T) {
	asRoot(t, func(c *cloud) {
		one, two := c.machine("one", ""), c.machine("two", "")
		c.serve(one, 8080)
		_, v4, v6 := c.balancer("web", func(lb *iaas.CreateLoadbalancer, _ *iaas.CreateTargetGroup,
			_ *iaas.CreateListener) {
			lb.InternalLoadbalancer = true
		}, one)
		for _, addr := range []netip.Addr{v4, v6} {
			if !netip.MustParsePrefix("10.0.0.0/17").Contains(addr) &&
				!netip.MustParsePrefix("fd00:7a1a::/64").Contains(addr) {
				t.Errorf("%s is not in the subnet", addr)
			}
			c.reaches(two.Namespace, addr, 80, true)
			c.reaches(one.Namespace, addr, 80, true) // and back to itself
		}
	})
}

// The client's address: seen by allowed sources and the PROXY protocol, while
// machines see the load balancer.
func TestSources(t *testing.T) {
	asRoot(t, func(c *cloud) {
		one := c.machine("one", "")
		c.serve(one, 8080)
		_, v4, v6 := c.balancer("web", func(_ *iaas.CreateLoadbalancer, g *iaas.CreateTargetGroup,
			l *iaas.CreateListener) {
			proxied := true
			g.EnableProxyProtocol = &proxied
			l.AllowedSources = []string{"198.51.100.2/32", "2001:db8:0:ffff::2/128"}
		}, one)
		for _, tt := range []struct{ allowed, other, lb netip.Addr }{
			{netip.MustParseAddr("198.51.100.2"), netip.MustParseAddr("198.51.100.77"), v4},
			{netip.MustParseAddr("2001:db8:0:ffff::2"), netip.MustParseAddr("2001:db8:0:ffff::77"), v6},
		} {
			at := netip.AddrPortFrom(tt.lb, 80)
			header, err := ask(c.plane.Client(), "tcp", tt.allowed, at, timeLimit)
			want := fmt.Sprintf("one %s PROXY %s %s %s ", tt.lb, map[bool]string{true: "TCP4",
				false: "TCP6"}[tt.lb.Is4()], tt.allowed, tt.lb)
			if err != nil || !strings.HasPrefix(header, want) {
				t.Errorf("from %s: %q, %v, want %q", tt.allowed, header, err, want)
			}
			more := address{c.plane.Name(), host(tt.other)}
			if err := c.plane.hub.client.addAddress(more); err != nil {
				t.Fatal(err)
			}
			if answer, err := ask(c.plane.Client(), "tcp", tt.other, at, timeLimit); err == nil {
				t.Errorf("from %s, which is not allowed: %q", tt.other, answer)
			} else if errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("from %s, which is not allowed: %v, want a reset", tt.other, err)
			}
		}
	})
}

func TestPolicies(t *testing.T) {
	asRoot(t, func(c *cloud) {
		one, two := c.machine("one", ""), c.machine("two", "")
		c.serve(one, 8080)
		c.serve(two, 8080)
		for policy, fits := range map[traffic.Policy]func(got []string) bool{
			traffic.RoundRobin: func(got []string) bool {
				return slices.Equal(got[:4], []string{"one", "two", "one", "two"})
			},
			traffic.Random: func(got []string) bool {
				return slices.Contains(got, "one") && slices.Contains(got, "two")
			},
			traffic.Maglev: func(got []string) bool { return len(slices.Compact(got)) == 1 },
		} {
			_, v4, _ := c.balancer(strings.ToLower(string(policy)), func(_ *iaas.CreateLoadbalancer,
				g *iaas.CreateTargetGroup, _ *iaas.CreateListener) {
				wanted := iaas.LoadbalancingPolicy(policy)
				g.LoadbalancingPolicy = &wanted
			}, one, two)
			var got []string
			for range 30 {
				answer, err := ask(c.plane.Client(), "tcp", netip.Addr{}, netip.AddrPortFrom(v4, 80), timeLimit)
				if err != nil {
					t.Fatal(err)
				}
				name, _, _ := strings.Cut(answer, " ")
				got = append(got, name)
			}
			if !fits(slices.Clone(got)) {
				t.Errorf("%s chose %v", policy, got)
			}
		}
	})
}

// health answers health checks, well or not.
type health struct {
	sick   atomic.Bool
	asking atomic.Value
}

func (h *health) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.asking.Store(r.RemoteAddr)
	if h.sick.Load() {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}

func (c *cloud) health(b *box, port uint16) *health {
	c.t.Helper()
	listener, err := b.ListenTCP(netip.AddrPortFrom(netip.IPv6Unspecified(), port))
	if err != nil {
		c.t.Fatal(err)
	}
	h := &health{}
	server := &http.Server{Handler: h}
	c.t.Cleanup(func() { _ = server.Close() })
	go func() { _ = server.Serve(listener) }()
	return h
}

func TestHealthChecks(t *testing.T) {
	asRoot(t, func(c *cloud) {
		one, two := c.machine("one", ""), c.machine("two", "")
		c.serve(one, 8080)
		c.serve(two, 8080)
		first := c.health(one, 10256)
		c.health(two, 10256)
		lb, v4, _ := c.balancer("web", func(_ *iaas.CreateLoadbalancer, g *iaas.CreateTargetGroup,
			_ *iaas.CreateListener) {
			g.HealthCheck = &iaas.BackendHealthCheck{
				Protocol: "http", Port: 10256, Path: "/healthz", PeriodSeconds: 5, TimeoutSeconds: 300,
				UnhealthyThreshold: 2, HealthyThreshold: 1,
			}
		}, one, two)
		healthy := func(want ...string) func() bool {
			return func() bool {
				targets := c.status(lb).Targets
				for _, target := range targets {
					if wanted := slices.Contains(want, target.Machine); wanted != (target.Health == traffic.Healthy) {
						return false
					}
				}
				return len(targets) == 4 // of each machine one for each family
			}
		}
		traffictest.Eventually(t, "both machines are healthy", healthy(one.identity, two.identity))
		first.sick.Store(true)
		traffictest.Eventually(t, "one of them is sick", healthy(two.identity))
		for range 4 {
			if answer, err := ask(c.plane.Client(), "tcp", netip.Addr{}, netip.AddrPortFrom(v4, 80),
				timeLimit); !strings.HasPrefix(answer, "two ") {
				t.Errorf("answered %q, %v, want two", answer, err)
			}
		}
		first.sick.Store(false)
		traffictest.Eventually(t, "it is well again", healthy(one.identity, two.identity))
	})
}
