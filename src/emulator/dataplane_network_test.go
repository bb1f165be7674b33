package emulator_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/loopback"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic"
)

// addressPool is a data plane that records which load balancer serves which address.
type addressPool struct {
	recorder
	mu     sync.Mutex
	owners map[netip.Addr]string
	clash  []string
}

func (l *addressPool) Serve(lb traffic.LoadBalancer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.remove(lb.Identity)
	for _, addr := range lb.Addresses {
		if other, taken := l.owners[addr]; taken {
			l.clash = append(l.clash, fmt.Sprintf("%s is served by %s and %s", addr, other, lb.Identity))
		}
		l.owners[addr] = lb.Identity
	}
}

func (l *addressPool) Remove(identity string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.remove(identity)
}

func (l *addressPool) remove(identity string) {
	for addr, owner := range l.owners {
		if owner == identity {
			delete(l.owners, addr)
		}
	}
}

func (l *addressPool) of(identity string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	for addr, owner := range l.owners {
		if owner == identity {
			out = append(out, addr.String())
		}
	}
	return out
}

// The data plane follows a reserved IP from one load balancer to another.
func TestTrafficFollowsTheReservedIP(t *testing.T) {
	plane := &addressPool{owners: map[netip.Addr]string{}}
	c := newCloud(t, func(cfg *emulator.Config) { cfg.DataPlane = plane })
	ip := c.reservedIP(t, "i")
	one, two := c.loadbalancer(t, "one"), c.loadbalancer(t, "two")
	steps := []struct {
		name    string
		request string
		body    string
		owner   string
	}{
		{"associate", "POST /v1/reserved-ips/i/associate", `{"loadbalancerIdentity":"one"}`, one.Identity},
		{"move away", "PUT /v1/loadbalancers/one", `{"name":"one","reservedIpId":""}`, ""},
		{"attach elsewhere", "PUT /v1/loadbalancers/two", `{"name":"two","reservedIpId":"i"}`, two.Identity},
		{"delete", "DELETE /v1/reserved-ips/i", ``, ""},
	}
	for _, s := range steps {
		status := 200
		if s.name == "delete" {
			status = 204
		}
		play(t, c.Emulator, []step{{request: s.request, body: s.body, status: status}})
		for _, lb := range []string{one.Identity, two.Identity} {
			at := plane.of(lb)
			if len(at) != 1 || (at[0] == ip.IPv4Address) != (lb == s.owner) {
				t.Errorf("%s: %s is served at %v, want it at %s: %t", s.name, lb, at, ip.IPv4Address, lb == s.owner)
			}
		}
	}
	if len(plane.clash) > 0 {
		t.Error(plane.clash)
	}
}

// However many clients move a reserved IP around, the data plane never sees it
// at two load balancers.
func TestReservedIPIsServedOnce(t *testing.T) {
	plane := &addressPool{owners: map[netip.Addr]string{}}
	c := newCloud(t, func(cfg *emulator.Config) { cfg.DataPlane = plane })
	c.reservedIP(t, "i")
	c.reservedIP(t, "j")
	var running sync.WaitGroup
	for i := range 4 {
		name := c.loadbalancer(t, fmt.Sprint("lb-", i)).Slug
		running.Go(func() {
			for range 50 {
				// Refused whenever another one has it.
				for _, to := range []string{"i", "j", ""} {
					request := newRequest(t, "PUT", "/v1/loadbalancers/"+name,
						`{"name":"`+name+`","reservedIpId":"`+to+`"}`)
					request.Header.Set("Authorization", "Token "+emulator.DefaultToken)
					if answer := serve(c.Emulator, request); answer.Code != http.StatusOK &&
						answer.Code != http.StatusConflict {
						t.Errorf("PUT %s %s = %d", name, to, answer.Code)
					}
				}
			}
		})
	}
	running.Wait()
	if len(plane.clash) > 0 {
		t.Error(plane.clash[0])
	}
}

// A data plane has one network: what cannot be served there is refused.
func TestRangesMustFitTheDataPlane(t *testing.T) {
	network := netip.MustParsePrefix("127.77.0.0/16")
	seed := func(cfg *emulator.Config) {
		seed, err := emulator.LoopbackSeed(network)
		if err != nil {
			t.Fatal(err)
		}
		v := &seed.Organisations[0].VPCs[0]
		v.CIDRs, v.Subnets[0].CIDRs = prefixes("127.77.0.0/18", "127.77.128.0/17"), prefixes("127.77.0.0/24")
		cfg.Seed = seed
	}
	vpc := func(name, cidr string) string {
		return `{"name":"` + name + `","cloudRegionIdentity":"nl-01","vpcCidrs":["` + cidr + `"]}`
	}
	subnet := func(cidr string) string { return `{"name":"s","vpcIdentity":"emulator","cidr":"` + cidr + `"}` }
	for _, plane := range []bool{false, true} {
		created, refused, taken, grown := 201, 201, 201, 200
		if plane {
			refused, taken, grown = 400, 409, 409
		}
		e := newEmulator(t, seed, func(cfg *emulator.Config) {
			if plane {
				cfg.DataPlane = &recorder{network: network}
			}
		})
		play(t, e, []step{
			{request: "POST /v1/vpcs", body: vpc("a", "10.0.0.0/16"), status: refused},
			{request: "POST /v1/vpcs", body: vpc("b", "127.77.0.0/17"), status: taken},
			{request: "POST /v1/vpcs", body: vpc("c", "127.77.64.0/18"), status: created},
			{request: "PUT /v1/vpcs/c", body: vpc("c", "127.77.64.0/19"), status: 200},
			{request: "PUT /v1/vpcs/c", body: vpc("c", "127.77.0.0/16"), status: grown},
			{request: "POST /v1/subnets", body: subnet("127.77.128.0/24"), status: taken},
			{request: "POST /v1/subnets", body: subnet("127.77.1.0/24"), status: created},
		})
	}
}

// With real sockets: a client that talks to the reserved IP reaches whichever
// load balancer has it.
func TestLoopbackServesTheReservedIP(t *testing.T) {
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
			cfg.Delays.LoadbalancerCreate = 10 * time.Millisecond
		})
		ip := c.reservedIP(t, "i")
		for i, name := range []string{"one", "two"} {
			c.backend(t, name, 30080)
			g := c.group(t, name, 30080)
			if err := c.setTargets(t, g.Identity, c.identityOf(t, name)); err != nil {
				t.Fatal(err)
			}
			lb := c.loadbalancer(t, name)
			c.listener(t, lb.Identity, g.Identity, 8080)
			if err := c.api.WaitUntilLoadbalancerIsReady(t.Context(), lb.Identity); err != nil {
				t.Fatal(err)
			}
			if i > 0 {
				play(t, c.Emulator, []step{{request: "POST /v1/reserved-ips/i/disassociate", status: 200}})
			}
			play(t, c.Emulator,
				[]step{{request: "POST /v1/reserved-ips/i/associate", body: `{"loadbalancerIdentity":"` + name + `"}`,
					status: 200}})
			if got := fetch(t, ip.IPv4Address+":8080"); got != name {
				t.Errorf("%s answers %q, want %q", ip.IPv4Address, got, name)
			}
		}
		state := c.State()
		if i := slices.IndexFunc(state.LoadBalancers, func(lb emulator.LoadBalancerState) bool {
			return lb.Name == "two"
		}); !slices.Equal(state.LoadBalancers[i].Addresses, []string{ip.IPv4Address}) {
			t.Errorf("state %+v, want two at %s", state, ip.IPv4Address)
		}
	})
}

func (c *cloud) identityOf(t *testing.T, machine string) string {
	t.Helper()
	m, err := c.api.GetMachine(t.Context(), machine)
	if err != nil {
		t.Fatal(err)
	}
	return m.Identity
}

// backend adds a machine and a server on its address that answers with its name.
func (c *cloud) backend(t *testing.T, name string, port uint16) {
	t.Helper()
	m, err := c.api.GetMachine(t.Context(), c.machine(t, name))
	if err != nil {
		t.Fatal(err)
	}
	at := netip.AddrPortFrom(netip.MustParseAddr(m.Interfaces[0].IPAddresses[0]), port)
	listener, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(at))
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, name)
	})}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
}

// fetch is what a server answers on a connection of its own.
func fetch(t *testing.T, at string) string {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	defer client.CloseIdleConnections()
	response, err := client.Do(apiRequest(t, "http://"+at, "GET", "/", ""))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
