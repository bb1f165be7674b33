//go:build linux

package netns

import (
	"net/netip"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/thalassa-cloud/client-go/iaas"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// subnet makes a subnet and returns its identity.
func (c *cloud) subnet(name, vpc, ranges string, table *string) string {
	c.t.Helper()
	made, err := c.api.CreateSubnet(c.t.Context(), iaas.CreateSubnet{
		Name: name, VpcIdentity: vpc, Cidr: ranges, AssociatedRouteTableIdentity: table,
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return made.Identity
}

// routeTable makes a route table and returns its identity.
func (c *cloud) routeTable(name string) string {
	c.t.Helper()
	made, err := c.api.CreateRouteTable(c.t.Context(), iaas.CreateRouteTable{Name: name,
		VpcIdentity: emulator.DefaultVPC})
	if err != nil {
		c.t.Fatal(err)
	}
	return made.Identity
}

// defaultTable is the route table of subnets that name none.
func (c *cloud) defaultTable() string {
	c.t.Helper()
	tables, err := c.api.ListRouteTables(c.t.Context(), nil)
	if err != nil || len(tables) == 0 || !tables[0].IsDefault {
		c.t.Fatalf("route tables: %+v, %v, want the default one", tables, err)
	}
	return tables[0].Identity
}

func (c *cloud) route(table, destination string, gateway netip.Addr) (identity string) {
	c.t.Helper()
	made, err := c.api.CreateRouteTableRoute(c.t.Context(), table, iaas.CreateRouteTableRoute{
		DestinationCidrBlock: destination, GatewayAddress: gateway.String(),
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return made.Identity
}

// pods puts a pod's addresses into a machine, which becomes their router.
func (c *cloud) pods(b *box, v4, v6 netip.Addr) {
	c.t.Helper()
	s, err := enter(b.Namespace)
	if err != nil {
		c.t.Fatal(err)
	}
	defer s.netlink.Close()
	for _, addr := range []netip.Addr{v4, v6} {
		if err := s.addAddress(address{loopback, host(addr)}); err != nil {
			c.t.Fatal(err)
		}
	}
}

func TestPodsAreReachedThroughRoutesOnly(t *testing.T) {
	asRoot(t, func(c *cloud) {
		one, two := c.machine("one", ""), c.machine("two", "")
		pod4, pod6 := netip.MustParseAddr("10.244.1.5"), netip.MustParseAddr("fd00:244:1::5")
		c.pods(one, pod4, pod6)
		c.serve(one, 8080)
		both := func(want bool) {
			t.Helper()
			c.reaches(two.Namespace, pod4, 8080, want)
			c.reaches(two.Namespace, pod6, 8080, want)
		}
		both(false)
		table := c.defaultTable()
		v4 := c.route(table, "10.244.1.0/24", one.v4)
		v6 := c.route(table, "fd00:244:1::/64", one.v6)
		both(true)
		// The machine behind the route is replaced by another.
		if _, err := c.api.UpdateRouteTableRoute(t.Context(), table, v4, iaas.UpdateRouteTableRoute{
			DestinationCidrBlock: "10.244.1.0/24", GatewayAddress: two.v4.String(),
		}); err != nil {
			t.Fatal(err)
		}
		c.reaches(two.Namespace, pod4, 8080, false)
		c.reaches(two.Namespace, pod6, 8080, true)
		for _, route := range []string{v4, v6} {
			if err := c.api.DeleteRouteTableRoute(t.Context(), table, route); err != nil {
				t.Fatal(err)
			}
		}
		both(false)
	})
}

// A subnet's own route table holds for what its machines send, and no other.
func TestRouteTablesOfSubnets(t *testing.T) {
	asRoot(t, func(c *cloud) {
		table := c.routeTable("own")
		one := c.machine("one", "")
		two := c.machine("two", c.subnet("second", emulator.DefaultVPC, "10.0.128.0/24,fd00:7a1a:0:1::/64", &table))
		c.serve(one, 8080)
		c.serve(two, 8080)
		for _, addr := range []netip.Addr{one.v4, one.v6} { // subnets of a VPC reach each other
			c.reaches(two.Namespace, addr, 8080, true)
		}
		pod4, pod6 := netip.MustParseAddr("10.244.1.5"), netip.MustParseAddr("fd00:244:1::5")
		c.pods(one, pod4, pod6)
		other := c.machine("three", "")
		c.route(table, "10.244.1.0/24", one.v4)
		c.reaches(two.Namespace, pod4, 8080, true)
		c.reaches(other.Namespace, pod4, 8080, false)
		c.reaches(two.Namespace, pod6, 8080, false)
	})
}

func TestVPCsAreIsolated(t *testing.T) {
	seed := emulator.DualStackSeed()
	// The second VPC has addresses of its own and some of the first.
	seed.Organisations[0].VPCs = append(seed.Organisations[0].VPCs, emulator.VPCSeed{
		Identity: "vpc-2", Name: "second", Region: emulator.DefaultRegion,
		CIDRs: []netip.Prefix{netip.MustParsePrefix("10.9.0.0/16"), netip.MustParsePrefix("10.0.0.0/16")},
		Subnets: []emulator.SubnetSeed{
			{Identity: "subnet-2", Name: "second", CIDRs: []netip.Prefix{netip.MustParsePrefix("10.9.0.0/24")}},
			{Identity: "subnet-3", Name: "same", CIDRs: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/17")}},
		},
	})
	asRoot(t, func(c *cloud) {
		one, two, three := c.machine("one", ""), c.machine("two", "subnet-2"), c.machine("three", "subnet-3")
		for _, m := range []*box{one, two, three} {
			c.serve(m, 8080)
		}
		c.reaches(c.plane.Client(), one.v4, 8080, true)
		c.reaches(c.plane.Client(), two.v4, 8080, true)
		c.reaches(two.Namespace, three.v4, 8080, true)
		c.reaches(one.Namespace, two.v4, 8080, false)
		if three.v4 != one.v4 {
			t.Fatalf("%s and %s should be the same address", one.v4, three.v4)
		}
		// Both have the address, and everybody reaches the one of its own VPC.
		answer, err := ask(two.Namespace, "tcp", netip.Addr{}, netip.AddrPortFrom(three.v4, 8080), timeLimit)
		if !strings.HasPrefix(answer, "three ") {
			t.Errorf("the second VPC is answered %q, %v by its machine", answer, err)
		}
		answer, err = ask(c.plane.Client(), "tcp", netip.Addr{}, netip.AddrPortFrom(one.v4, 8080), timeLimit)
		if !strings.HasPrefix(answer, "one ") {
			t.Errorf("the client is answered %q, %v, want the first VPC's machine", answer, err)
		}
		// Not even if their routers knew the way.
		for vpc, destination := range map[string]netip.Prefix{emulator.DefaultVPC: host(two.v4),
			"vpc-2": host(one.v4)} {
			r := c.plane.routers[vpc]
			if err := r.space.addRoute(route{table: firstTable + 1, to: destination, via: hubAddress(r.number, false),
				link: uplink}); err != nil {
				t.Fatal(err)
			}
		}
		c.reaches(one.Namespace, two.v4, 8080, false)
	}, func(cfg *emulator.Config, _ *Options) { cfg.Seed = seed })
}

// Machines reach the client, where the API may be, and nothing beyond it.
func TestOutside(t *testing.T) {
	asRoot(t, func(c *cloud) {
		one := c.machine("one", "")
		outside := &box{sockets: sockets{c.plane.Client()}}
		c.serve(outside, 7443)
		addresses := c.plane.ClientAddresses()
		if want := []netip.Addr{netip.MustParseAddr("198.51.100.2"),
			netip.MustParseAddr("2001:db8:0:ffff::2")}; !slices.Equal(addresses, want) {
			t.Errorf("the client is at %v, want %v", addresses, want)
		}
		for _, at := range addresses {
			c.reaches(one.Namespace, at, 7443, true)
		}
		// A way out would be through here.
		if err := c.plane.hub.client.addAddress(address{loopback, netip.MustParsePrefix("203.0.113.1/32")}); err !=
			nil {
			t.Fatal(err)
		}
		c.reaches(one.Namespace, netip.MustParseAddr("203.0.113.1"), 7443, false)
	})
}

// Programs run in a machine, and see what it is.
func TestProgramsInMachines(t *testing.T) {
	asRoot(t, func(c *cloud) {
		one := c.machine("one", "")
		var output strings.Builder
		cmd := exec.Command("cat", "/proc/self/net/dev")
		cmd.Stdout = &output
		if err := one.Start(cmd); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Fatal(err)
		}
		if seen := output.String(); !strings.Contains(seen, "eth0:") || strings.Count(seen, ":") != 2 {
			t.Errorf("the machine's interfaces are\n%s, want lo and eth0", seen)
		}
	})
}
