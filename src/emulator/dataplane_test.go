package emulator_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/thalassa-cloud/client-go/iaas"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/loopback"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic"
)

// recorder is a data plane that records its calls.
type recorder struct {
	network netip.Prefix
	mu      sync.Mutex
	calls   []string
	last    traffic.LoadBalancer
	closed  bool
}

func (r *recorder) Network() netip.Prefix { return r.network }
func (r *recorder) Serve(lb traffic.LoadBalancer) {
	targets := 0
	for _, l := range lb.Listeners {
		targets += len(l.Group.Targets)
	}
	r.add(fmt.Sprintf("serve %d listeners %d targets", len(lb.Listeners), targets))
	r.last = lb
}

func (r *recorder) add(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, what)
}

func (r *recorder) Remove(string)                        { r.add("remove") }
func (r *recorder) Status(string) (traffic.Status, bool) { return traffic.Status{}, false }
func (r *recorder) Close() error                         { r.closed = true; return nil }

func (r *recorder) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	calls := r.calls
	r.calls = nil
	return calls
}

func TestDataPlaneIsTold(t *testing.T) {
	plane := &recorder{}
	c := newCloud(t, func(cfg *emulator.Config) { cfg.DataPlane = plane })
	expect := func(when string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, plane.take(), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	one, two := c.machine(t, "one"), c.machine(t, "two")
	g := c.group(t, "web", 8080)
	expect("objects without a load balancer")
	lb := c.loadbalancer(t, "a")
	expect("load balancer", "serve 0 listeners 0 targets")
	c.listener(t, lb.Identity, g.Identity, 80)
	expect("listener", "serve 1 listeners 0 targets")
	if err := c.setTargets(t, g.Identity, one, two); err != nil {
		t.Fatal(err)
	}
	expect("targets", "serve 1 listeners 2 targets")
	if err := c.StopMachine(one); err != nil {
		t.Fatal(err)
	}
	expect("machine stopped", "serve 1 listeners 1 targets")
	if err := c.StartMachine(one); err != nil {
		t.Fatal(err)
	}
	expect("machine started", "serve 1 listeners 2 targets")
	if err := c.DeleteMachine(two); err != nil {
		t.Fatal(err)
	}
	expect("machine deleted", "serve 1 listeners 1 targets")
	if err := c.api.DeleteLoadbalancer(t.Context(), lb.Identity); err != nil {
		t.Fatal(err)
	}
	expect("load balancer deleted", "remove")
	if err := c.Close(); err != nil || !plane.closed {
		t.Errorf("Close: %v, the data plane is closed: %t", err, plane.closed)
	}
	c.loadbalancer(t, "b")
	expect("after Close")
}

func TestDataPlaneGetsAllSettings(t *testing.T) {
	plane := &recorder{}
	c := newCloud(t, func(cfg *emulator.Config) { cfg.DataPlane = plane })
	g, err := c.api.CreateTargetGroup(t.Context(), iaas.CreateTargetGroup{
		Name: "web", Vpc: emulator.DefaultVPC, TargetPort: 8080, Protocol: iaas.ProtocolTCP,
		EnableProxyProtocol: new(true), LoadbalancingPolicy: new(iaas.LoadbalancingPolicyRandom),
		HealthCheck: &iaas.BackendHealthCheck{Protocol: "http", Port: 10256, Path: "/healthz", PeriodSeconds: 5,
			TimeoutSeconds: 3, UnhealthyThreshold: 2, HealthyThreshold: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	create := listenerOn(80, g.Identity)
	create.AllowedSources, create.MaxConnections, create.ConnectionIdleTimeout = []string{"10.0.0.1", "192.0.2.7/24"},
		new(uint32(9)), new(uint32(60))
	l, err := c.api.CreateListener(t.Context(), c.loadbalancer(t, "a").Identity, create)
	if err != nil {
		t.Fatal(err)
	}
	want := []traffic.Listener{{
		Identity: l.Identity, Protocol: traffic.TCP, Port: 80, MaxConnections: 9, IdleTimeout: time.Minute,
		AllowedSources: prefixes("10.0.0.1/32", "192.0.2.0/24"),
		Group: traffic.Group{
			Identity: g.Identity, Policy: traffic.Random, ProxyProtocol: true,
			Health: &traffic.HealthCheck{Protocol: "http", Port: 10256, Path: "/healthz", Period: 5 * time.Second,
				Timeout: 3 * time.Second, UnhealthyThreshold: 2, HealthyThreshold: 1},
		},
	}}
	compare := cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })
	if diff := cmp.Diff(want, plane.last.Listeners, compare); diff != "" {
		t.Errorf("listeners (-want +got):\n%s", diff)
	}
}

func TestDataPlaneWaitsUntilReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plane := &recorder{}
		e, err := emulator.NewDescribed(t, emulator.Config{
			Seed: emulator.DefaultSeed(), DataPlane: plane,
			Delays: emulator.Delays{LoadbalancerCreate: 30 * time.Second},
		})
		if err != nil {
			t.Fatal(err)
		}
		do := func(method, path, body string) {
			request := newRequest(t, method, path, body)
			request.Header.Set("Authorization", "Token "+emulator.DefaultToken)
			serve(e, request)
		}
		do("POST", "/v1/loadbalancers", `{"name":"a","subnet":"emulator"}`)
		do("POST", "/v1/loadbalancers", `{"name":"b","subnet":"emulator"}`)
		do("DELETE", "/v1/loadbalancers/b", "")
		if diff := cmp.Diff([]string{"remove"}, plane.take()); diff != "" {
			t.Errorf("while creating (-want +got):\n%s", diff)
		}
		<-time.After(30 * time.Second)
		synctest.Wait()
		if diff := cmp.Diff([]string{"serve 0 listeners 0 targets"}, plane.take()); diff != "" {
			t.Errorf("when ready (-want +got):\n%s", diff)
		}
		do("POST", "/v1/loadbalancers", `{"name":"c","subnet":"emulator"}`)
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		<-time.After(time.Minute)
		if got := plane.take(); len(got) != 0 {
			t.Errorf("after Close: %v", got)
		}
	})
}

func TestSeedMustFitTheDataPlane(t *testing.T) {
	inside := netip.MustParsePrefix("127.64.0.0/16")
	tests := map[string]struct {
		change func(*emulator.Seed)
		want   string
	}{
		"fits": {func(*emulator.Seed) {}, ""},
		"public addresses": {func(s *emulator.Seed) {
			s.Regions[0].PublicAddresses = prefixes("198.18.0.0/15")
		}, `regions[0].publicAddresses[0] (region "nl-01"): public addresses 198.18.0.0/15 are outside`},
		"VPC": {func(s *emulator.Seed) {
			s.Organisations[0].VPCs[0].CIDRs = prefixes("10.0.0.0/8")
		}, `organisations[0].vpcs[0].cidrs (VPC "emulator"): 10.0.0.0/8 is outside`},
		"VPCs that overlap": {func(s *emulator.Seed) {
			vpcs := &s.Organisations[0].VPCs
			*vpcs = append(*vpcs, emulator.VPCSeed{Name: "second", Region: emulator.DefaultRegion,
				CIDRs: (*vpcs)[0].CIDRs})
		}, `vpcs[1].cidrs (VPC "second"): 127.64.0.0/16 overlaps VPC "` + emulator.DefaultVPC + `", which shares`},
		"subnet with public addresses": {func(s *emulator.Seed) {
			subnets := &s.Organisations[0].VPCs[0].Subnets
			*subnets = append(*subnets, emulator.SubnetSeed{Name: "second", CIDRs: prefixes("127.64.200.0/24")})
		}, `subnets[1].cidrs (subnet "second"): 127.64.128.0/17 are public addresses of region nl-01`},
	}
	for name, test := range tests {
		seed, err := emulator.LoopbackSeed(inside)
		if err != nil {
			t.Fatal(err)
		}
		test.change(&seed)
		_, err = emulator.NewDescribed(t, emulator.Config{Seed: seed, DataPlane: &recorder{network: inside}})
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

func TestLoopbackEndToEnd(t *testing.T) {
	// Connections of other tests' clients idle on, and are not ours to judge.
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	defer http.DefaultClient.CloseIdleConnections()
	plane, err := loopback.New(loopback.Options{})
	if err != nil {
		t.Fatal(err)
	}
	seed, err := emulator.LoopbackSeed(plane.Network())
	if err != nil {
		t.Fatal(err)
	}
	t.Run("traffic", func(t *testing.T) {
		c := newCloud(t, func(cfg *emulator.Config) {
			cfg.Seed, cfg.DataPlane = seed, plane
			cfg.Delays.LoadbalancerCreate = 20 * time.Millisecond
		})
		useLoopback(t, c)
	})
}

func useLoopback(t *testing.T, c *cloud) {
	t.Helper()
	identity := c.machine(t, "one")
	m, err := c.api.GetMachine(t.Context(), identity)
	if err != nil {
		t.Fatal(err)
	}
	at := netip.AddrPortFrom(netip.MustParseAddr(m.Interfaces[0].IPAddresses[0]), 30080)
	listener, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(at))
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "hello from one")
	})}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })

	g := c.group(t, "web", 30080)
	if err := c.setTargets(t, g.Identity, identity); err != nil {
		t.Fatal(err)
	}
	lb := c.loadbalancer(t, "web")
	c.listener(t, lb.Identity, g.Identity, 8080)
	if err := c.api.WaitUntilLoadbalancerIsReady(t.Context(), lb.Identity); err != nil {
		t.Fatal(err)
	}
	state := c.State().LoadBalancers[0]
	if len(state.Addresses) != 1 || len(state.Listeners[0].Served) != 1 ||
		state.Listeners[0].Targets[0].Health != "unchecked" {
		t.Fatalf("state %+v, want one address, served, with an unchecked target", state)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	defer client.CloseIdleConnections()
	resp, err := client.Do(apiRequest(t, "http://"+state.Listeners[0].Served[0], "GET", "/", ""))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err != nil || string(body) != "hello from one" {
		t.Errorf("body %q, %v", body, err)
	}
}
