//go:build linux

package netns

import (
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"testing"

	"github.com/thalassa-cloud/client-go/iaas"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/namespace"
)

func TestBalancersComeAndGo(t *testing.T) {
	asRoot(t, func(c *cloud) {
		one, ctx := c.machine("one", ""), t.Context()
		c.serve(one, 8080)
		lb, v4, v6 := c.balancer("web", nil, one)
		both := func(want bool) {
			t.Helper()
			c.reaches(c.plane.Client(), v4, 80, want)
			c.reaches(c.plane.Client(), v6, 80, want)
		}
		both(true)
		ip, err := c.api.CreateReservedIP(ctx, iaas.CreateReservedIpRequest{Name: "own",
			Region: emulator.DefaultRegion})
		if err != nil {
			t.Fatal(err)
		}
		if ip, err = c.api.AssociateReservedIP(ctx, ip.Identity,
			iaas.AssociateReservedIpRequest{LoadbalancerIdentity: &lb}); err != nil {
			t.Fatal(err)
		}
		both(false) // it has the reserved addresses instead
		v4, v6 = netip.MustParseAddr(ip.IPv4Address), netip.MustParseAddr(ip.IPv6Address)
		both(true)
		if err := c.api.DeleteLoadbalancer(ctx, lb); err != nil {
			t.Fatal(err)
		}
		both(false)
		// The next one gets the reserved addresses.
		other, _, _ := c.balancer("next", nil, one)
		if _, err = c.api.AssociateReservedIP(ctx, ip.Identity,
			iaas.AssociateReservedIpRequest{LoadbalancerIdentity: &other}); err != nil {
			t.Fatal(err)
		}
		both(true)
	})
}

func TestSubnetsAndVPCsComeAndGo(t *testing.T) {
	asRoot(t, func(c *cloud) {
		ctx := t.Context()
		for range 2 { // the second time with the same addresses
			vpc, err := c.api.CreateVpc(ctx, iaas.CreateVpc{
				Name: "more", CloudRegionIdentity: emulator.DefaultRegion, VpcCidrs: []string{"10.8.0.0/16",
					"fd00:8::/56"},
			})
			if err != nil {
				t.Fatal(err)
			}
			subnet := c.subnet("more", vpc.Identity, "10.8.0.0/24,fd00:8::/64", nil)
			one := c.machine("one", subnet)
			c.serve(one, 8080)
			c.reaches(c.plane.Client(), one.v4, 8080, true)
			c.reaches(c.plane.Client(), one.v6, 8080, true)
			if err := c.api.DeleteMachine(ctx, one.identity); err != nil {
				t.Fatal(err)
			}
			c.expect(one, Deleted)
			if err := c.api.DeleteSubnet(ctx, subnet); err != nil {
				t.Fatal(err)
			}
			if err := c.api.DeleteVpc(ctx, vpc.Identity); err != nil {
				t.Fatal(err)
			}
			if got := left(t, c.plane.Name()); !slices.Equal(got, []string{c.plane.Name() + "-client", c.plane.Name() +
				"-hub", c.plane.Name() + "-vpc1"}) {
				t.Errorf("after the VPC was deleted: %v, want the first VPC's alone", got)
			}
		}
	})
}

// Whoever writes at the same time, in the end there is what the API says.
func TestManyAtOnce(t *testing.T) {
	asRoot(t, func(c *cloud) {
		stays := c.machine("stays", "")
		c.serve(stays, 8080)
		var running sync.WaitGroup
		for i := range 4 {
			running.Go(func() {
				for j := range 5 {
					identity, err := c.AddMachine(emulator.MachineSpec{Name: fmt.Sprintf("m-%d-%d", i, j)})
					if err != nil {
						t.Error(err)
						return
					}
					if err := c.DeleteMachine(identity); err != nil {
						t.Error(err)
					}
					c.State()
				}
			})
		}
		for range 10 {
			c.reaches(c.plane.Client(), stays.v4, 8080, true)
		}
		running.Wait()
		names, err := namespace.Names(c.plane.Name() + "-m-")
		if err != nil || len(names) != 0 {
			t.Errorf("namespaces of machines that are gone: %v, %v", names, err)
		}
		booted := map[string]int{}
		for range 40 {
			switch e := c.event(); e.Kind {
			case Booted:
				booted[e.Identity]++
			case Deleted:
				booted[e.Identity]--
			case Stopped, Moved:
				t.Errorf("unexpected event: %+v", e)
			}
		}
		for identity, n := range booted {
			if n != 0 {
				t.Errorf("%s booted %d times more than it was deleted", identity, n)
			}
		}
	})
}
