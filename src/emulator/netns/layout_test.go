//go:build linux

package netns

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/roottest"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic"
)

func addrs(texts ...string) (out []netip.Addr) {
	for _, text := range texts {
		out = append(out, netip.MustParseAddr(text))
	}
	return out
}

func nets(texts ...string) (out []netip.Prefix) {
	for _, text := range texts {
		out = append(out, netip.MustParsePrefix(text))
	}
	return out
}

func to(destination, gateway string) traffic.Route {
	return traffic.Route{Destination: netip.MustParsePrefix(destination), Gateway: netip.MustParseAddr(gateway)}
}

// office is a VPC with a bit of everything.
func office() traffic.VPC {
	return traffic.VPC{
		Identity: "vpc-1", Ranges: nets("10.0.0.0/16", "fd00::/56"),
		Routes: []traffic.Route{to("10.244.1.0/24", "10.0.0.5")},
		Subnets: []traffic.Subnet{
			{Identity: "subnet-1", Ranges: nets("10.0.0.0/24", "fd00::/64")},
			{Identity: "subnet-2", Ranges: nets("10.0.1.0/24"), Routes: []traffic.Route{
				to("10.244.2.0/24", "10.0.0.6"), to("10.244.3.0/24", "10.0.77.1"), to("10.0.0.0/24", "10.0.1.9"),
				to("10.0.0.7/32", "10.0.1.9"),
			}},
		},
		LoadBalancers: []traffic.Endpoint{{Identity: "lb-1", Subnet: "subnet-2", Addresses: addrs("198.18.0.2",
			"2001:db8::2")}},
	}
}

// text is how people write a route.
func (r route) text() string {
	out := fmt.Sprintf("%s dev %s table %d", r.to, r.link, r.table)
	if r.via.IsValid() {
		out = strings.Replace(out, " dev", " via "+r.via.String()+" dev", 1)
	}
	return out
}

func TestPlanVPC(t *testing.T) {
	got := planVPC(office(), map[string]int{"subnet-1": 1, "subnet-2": 2}, nets("198.51.100.0/24"),
		func(bool) netip.Addr {
			return netip.MustParseAddr("169.254.0.5")
		})
	var routes []string
	for _, r := range got.routes {
		routes = append(routes, r.text())
	}
	slices.Sort(routes)
	if diff := cmp.Diff([]string{
		"10.0.0.0/24 dev b1 table 1001",
		"10.0.0.0/24 dev b1 table 1002", // and not through 10.0.1.9: that is where it is
		"10.0.0.0/24 dev b1 table 254",
		"10.0.0.7/32 via 10.0.1.9 dev b2 table 1002",
		"10.0.1.0/24 dev b2 table 1001",
		"10.0.1.0/24 dev b2 table 1002",
		"10.0.1.0/24 dev b2 table 254",
		"10.244.1.0/24 via 10.0.0.5 dev b1 table 254",
		"10.244.2.0/24 via 10.0.0.6 dev b1 table 1002",
		"198.51.100.0/24 via 169.254.0.5 dev up table 1001",
		"198.51.100.0/24 via 169.254.0.5 dev up table 1002",
		"198.51.100.0/24 via 169.254.0.5 dev up table 254",
		"fd00::/64 dev b1 table 1001",
		"fd00::/64 dev b1 table 1002",
		"fd00::/64 dev b1 table 254",
	}, routes); diff != "" {
		t.Errorf("routes (-want +got):\n%s", diff)
	}
	wantAddresses := []address{
		{"b1", netip.MustParsePrefix("10.0.0.1/32")}, {"b1", netip.MustParsePrefix("fd00::1/128")},
		{"b2", netip.MustParsePrefix("10.0.1.1/32")},
		{"lo", netip.MustParsePrefix("198.18.0.2/32")}, {"lo", netip.MustParsePrefix("2001:db8::2/128")},
	}
	if !slices.Equal(got.addresses, wantAddresses) || !slices.Equal(got.bridges, []string{"b1", "b2"}) {
		t.Errorf("addresses %v on %v, want %v on b1 and b2", got.addresses, got.bridges, wantAddresses)
	}
	wantRules := []rule{
		{link: "b1", table: 1001}, {link: "b1", table: 1001, v6: true}, {link: "b2", table: 1002},
		{link: "b2", table: 1002, v6: true},
		{from: netip.MustParseAddr("198.18.0.2"), table: 1002}, {from: netip.MustParseAddr("2001:db8::2"), table: 1002},
	}
	if !slices.Equal(got.rules, wantRules) {
		t.Errorf("rules %v, want %v", got.rules, wantRules)
	}
}

func TestPlanMachine(t *testing.T) {
	subnet := office().Subnets[0]
	for name, tt := range map[string]struct {
		addresses []netip.Addr
		routes    []string
	}{
		"dual": {addrs("10.0.0.5", "fd00::5"), []string{"0.0.0.0/0 via 10.0.0.1 dev eth0 table 254",
			"::/0 via fd00::1 dev eth0 table 254"}},
		"IPv4":         {addrs("10.0.0.5"), []string{"0.0.0.0/0 via 10.0.0.1 dev eth0 table 254"}},
		"no interface": {nil, nil},
	} {
		addresses, planned := planMachine(traffic.Machine{Addresses: tt.addresses}, subnet)
		var routes []string
		for _, r := range planned {
			routes = append(routes, r.text())
		}
		if !slices.Equal(routes, tt.routes) || len(addresses) != len(tt.addresses) {
			t.Errorf("%s: addresses %v, routes %v, want %v", name, addresses, routes, tt.routes)
		}
	}
}

func TestPlanHub(t *testing.T) {
	same := traffic.VPC{Identity: "vpc-2", Ranges: nets("10.0.128.0/24", "10.9.0.0/16"),
		LoadBalancers: []traffic.Endpoint{
			{Addresses: addrs("10.9.0.9")}, {Addresses: addrs("198.18.0.3")},
		}}
	planned, hidden := planHub(traffic.Network{VPCs: []traffic.VPC{office(), same}},
		map[string]int{"vpc-1": 1, "vpc-2": 70})
	var routes []string
	for _, r := range planned {
		routes = append(routes, r.text())
	}
	if diff := cmp.Diff([]string{
		"10.0.0.0/16 via 169.254.0.6 dev v1 table 254", "fd00::/56 via fe80::2 dev v1 table 254",
		"198.18.0.2/32 via 169.254.0.6 dev v1 table 254", "2001:db8::2/128 via fe80::2 dev v1 table 254",
		"10.9.0.0/16 via 169.254.1.26 dev v70 table 254", "198.18.0.3/32 via 169.254.1.26 dev v70 table 254",
	}, routes); diff != "" {
		t.Errorf("routes (-want +got):\n%s", diff)
	}
	if want := []string{"10.0.128.0/24 of VPC vpc-2"}; !slices.Equal(hidden, want) {
		t.Errorf("hidden %v, want %v", hidden, want)
	}
}

func TestTransitAddressesAreUnique(t *testing.T) {
	seen := map[netip.Addr]int{}
	for number := 1; number < maxVPCs; number++ {
		for _, addr := range []netip.Addr{hubAddress(number, false), routerAddress(number, false)} {
			if other, taken := seen[addr]; taken || !netip.MustParsePrefix("169.254.0.0/16").Contains(addr) {
				t.Fatalf("VPCs %d and %d have %s", other, number, addr)
			}
			seen[addr] = number
		}
	}
}

func TestSetBecomes(t *testing.T) {
	refuse := errors.New("no")
	var did []string
	act := func(what, fails string) func(string) error {
		return func(one string) error {
			did = append(did, what+one)
			if one == fails {
				return refuse
			}
			return nil
		}
	}
	s := set[string]{}
	for _, step := range []struct {
		wanted       []string
		remove, add  string
		did          []string
		fails, after bool
	}{
		{wanted: []string{"a", "b"}, did: []string{"+a", "+b"}},
		{wanted: []string{"b", "a"}},
		{wanted: []string{"b", "c"}, did: []string{"-a", "+c"}},
		{wanted: []string{"b", "d"}, remove: "c", add: "d", did: []string{"-c", "+d"}, fails: true},
		{wanted: []string{"b", "d"}, did: []string{"-c", "+d"}}, // both again
		{wanted: []string{"b", "d"}},
	} {
		did = nil
		err := s.reconcile(step.wanted, act("-", step.remove), act("+", step.add))
		if !slices.Equal(did, step.did) || errors.Is(err, refuse) != step.fails {
			t.Errorf("becoming %v did %v, %v, want %v", step.wanted, did, err, step.did)
		}
	}
}

func TestSetDropsAndAddsApart(t *testing.T) {
	s := set[string]{"a": true, "b": true}
	wanted := []string{"b", "c"}
	act := func(string) error { return nil }
	if err := s.drop(wanted, act); err != nil || !maps.Equal(s, set[string]{"b": true}) {
		t.Errorf("after dropping %v, %v, want b alone", s, err)
	}
	s["d"] = true
	if err := s.add(wanted, act); err != nil || !maps.Equal(s, set[string]{"b": true, "c": true, "d": true}) {
		t.Errorf("after adding %v, %v, want c as well, and d left alone", s, err)
	}
}

func TestRequirements(t *testing.T) {
	found := requirements{0, func(string) (string, error) {
		return "", nil
	}, func(string) (os.FileInfo, error) { return nil, nil }}
	if err := found.check(); err != nil {
		t.Errorf("with everything: %v", err)
	}
	missing := requirements{1000, func(string) (string, error) {
		return "", fs.ErrNotExist
	}, func(string) (os.FileInfo, error) { return nil, fs.ErrNotExist }}
	err := missing.check()
	for _, part := range []string{"only root may make network namespaces, and this is user 1000",
		"the program nft is missing (package nftables)", "this kernel has no IPv6"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("without anything: %v, want %q", err, part)
		}
	}
}

func TestCheckLooksAtThisMachine(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	err := roottest.AsUser(Check)
	for _, part := range []string{"the program nft is missing", "only root may make network namespaces"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("as an ordinary user without any program: %v, want %q", err, part)
		}
	}
}

func TestClientNetworks(t *testing.T) {
	for name, tt := range map[string]struct {
		networks []netip.Prefix
		want     string
	}{
		"both":     {nets("198.51.100.0/24", "2001:db8:0:ffff::/64"), ""},
		"smallest": {nets("198.51.100.0/30"), ""},
		"no room":  {nets("198.51.100.0/31"), "use one with room for a gateway and a client"},
		"invalid":  {[]netip.Prefix{{}}, "use one with room"},
		"IPv4s": {nets("198.51.100.0/24", "203.0.113.0/24"),
			"198.51.100.0/24 and 203.0.113.0/24 are of one address family"},
	} {
		err := checkClientNetworks(tt.networks)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}

func TestSeedHasRoomForTheClient(t *testing.T) {
	for _, vpc := range emulator.DualStackSeed().Organisations[0].VPCs {
		for _, cidr := range vpc.CIDRs {
			for _, network := range DefaultClientNetworks() {
				if cidr.Overlaps(network) {
					t.Errorf("the client's network %s is within the VPC's %s", network, cidr)
				}
			}
		}
	}
}

func TestUnsupportedInterfacesAreExplained(t *testing.T) {
	err := explain(fmt.Errorf("adding: %w", unix.EOPNOTSUPP), "bridge")
	if !errors.Is(err, unix.EOPNOTSUPP) ||
		!strings.Contains(err.Error(), "this kernel has no interfaces of type bridge; load its module bridge") {
		t.Errorf("unsupported: %v", err)
	}
	if err := explain(unix.EEXIST, "bridge"); !errors.Is(err, unix.EEXIST) || strings.Contains(err.Error(), "module") {
		t.Errorf("another failure: %v", err)
	}
}

func TestEventsArriveInOrder(t *testing.T) {
	var got []string
	q := newEventQueue(func(e Event) { got = append(got, e.Identity) })
	var want []string
	for i := range 1000 {
		want = append(want, fmt.Sprint(i))
		q.add(Event{Identity: want[i]})
	}
	q.end()
	if !slices.Equal(got, want) {
		t.Errorf("%d events arrived in another order, want %d", len(got), len(want))
	}
}
