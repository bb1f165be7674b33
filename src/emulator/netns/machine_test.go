//go:build linux

package netns

import (
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/thalassa-cloud/client-go/iaas"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// expect waits for the next events of a machine.
func (c *cloud) expect(b *box, kinds ...Kind) (last Event) {
	c.t.Helper()
	for _, kind := range kinds {
		last = c.event()
		if last.Kind != kind || last.Identity != b.identity || last.Namespace != b.Name() || last.Path != b.Path() {
			c.t.Errorf("event %+v, want that %s (%s) is %s", last, b.identity, b.Name(), kind)
		}
	}
	return last
}

func TestPower(t *testing.T) {
	asRoot(t, func(c *cloud) {
		one := c.machine("one", "")
		c.serve(one, 8080)
		client, ctx := c.plane.Client(), t.Context()
		for _, step := range []struct {
			do   func() error
			kind []Kind
			up   bool
		}{
			{func() error { return c.api.MachineStop(ctx, one.identity) }, []Kind{Stopped}, false},
			{func() error { return c.api.MachineStop(ctx, one.identity) }, nil, false},
			{func() error { return c.api.MachineStart(ctx, one.identity) }, []Kind{Booted}, true},
			{func() error { return c.api.MachineRestart(ctx, one.identity) }, []Kind{Stopped, Booted}, true},
			{func() error { return c.api.MachineStart(ctx, one.identity) }, nil, true},
			{func() error { return c.StopMachine(one.identity) }, []Kind{Stopped}, false},
			{func() error { return c.api.MachineRestart(ctx, one.identity) }, []Kind{Booted}, true},
		} {
			if err := step.do(); err != nil {
				t.Fatal(err)
			}
			c.expect(one, step.kind...)
			c.reaches(client, one.v4, 8080, step.up)
			c.reaches(client, one.v6, 8080, step.up)
		}
	})
}

// A load balancer in front of a machine follows the changes of the machine.
func TestBalancerFollowsMachines(t *testing.T) {
	asRoot(t, func(c *cloud) {
		one, two := c.machine("one", ""), c.machine("two", "")
		c.serve(one, 8080)
		c.serve(two, 8080)
		_, v4, _ := c.balancer("web", nil, one, two)
		answers := func() (names []string) {
			t.Helper()
			for range 4 {
				answer, err := ask(c.plane.Client(), "tcp", netip.Addr{}, netip.AddrPortFrom(v4, 80), timeLimit)
				if err != nil {
					t.Error(err)
				}
				name, _, _ := strings.Cut(answer, " ")
				names = append(names, name)
			}
			slices.Sort(names)
			return slices.Compact(names)
		}
		if got := answers(); !slices.Equal(got, []string{"one", "two"}) {
			t.Errorf("answered by %v, want both", got)
		}
		if err := c.api.MachineStop(t.Context(), one.identity); err != nil {
			t.Fatal(err)
		}
		if got := answers(); !slices.Equal(got, []string{"two"}) {
			t.Errorf("answered by %v, want two", got)
		}
		if err := c.api.MachineStart(t.Context(), one.identity); err != nil {
			t.Fatal(err)
		}
		if err := c.api.DeleteMachine(t.Context(), two.identity); err != nil {
			t.Fatal(err)
		}
		if got := answers(); !slices.Equal(got, []string{"one"}) {
			t.Errorf("answered by %v, want one", got)
		}
	})
}

func TestDeletedMachines(t *testing.T) {
	asRoot(t, func(c *cloud) {
		one, two := c.machine("one", ""), c.machine("two", "")
		c.serve(one, 8080)
		c.reaches(two.Namespace, one.v4, 8080, true)
		if err := c.api.DeleteMachine(t.Context(), one.identity); err != nil {
			t.Fatal(err)
		}
		c.expect(one, Deleted)
		if _, err := os.Stat(one.Path()); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the namespace of a deleted machine: %v, want none", err)
		}
		// The test still holds the namespace and the server runs, without a link.
		c.reaches(two.Namespace, one.v4, 8080, false)
		again := c.machine("one", "")
		if again.Name() != one.Name() {
			t.Errorf("the next machine of that name is %s, want %s", again.Name(), one.Name())
		}
	})
}

func TestMovedMachines(t *testing.T) {
	asRoot(t, func(c *cloud) {
		one, two := c.machine("one", ""), c.machine("two", "")
		c.serve(one, 8080)
		before4, before6 := one.v4, one.v6
		move := func(kind Kind, addresses ...string) {
			t.Helper()
			var next []netip.Addr
			for _, text := range addresses {
				next = append(next, netip.MustParseAddr(text))
			}
			if err := c.SetMachineAddresses(one.identity, next...); err != nil {
				t.Fatal(err)
			}
			if last := c.expect(one, kind); !slices.Equal(last.Addresses, next) {
				t.Errorf("addresses %v, want %v", last.Addresses, next)
			}
		}
		next4, next6 := netip.MustParseAddr("10.0.0.200"), netip.MustParseAddr("fd00:7a1a::200")
		move(Moved, next4.String(), next6.String())
		for addr, want := range map[netip.Addr]bool{before4: false, before6: false, next4: true, next6: true} {
			c.reaches(two.Namespace, addr, 8080, want)
			c.reaches(c.plane.Client(), addr, 8080, want)
		}
		c.serve(two, 8080)
		c.reaches(one.Namespace, two.v4, 8080, true)
		c.reaches(one.Namespace, two.v6, 8080, true)
		// Its interface is lost, and found again in another subnet.
		move(Moved)
		c.reaches(two.Namespace, next4, 8080, false)
		c.subnet("second", emulator.DefaultVPC, "10.0.128.0/24,fd00:7a1a:0:1::/64", nil)
		move(Moved, "10.0.128.7", "fd00:7a1a:0:1::7")
		c.reaches(two.Namespace, netip.MustParseAddr("10.0.128.7"), 8080, true)
		c.reaches(one.Namespace, two.v6, 8080, true)
	})
}

// A machine boots when its time has come, and one that was made stopped when it
// is started.
func TestBoots(t *testing.T) {
	asRoot(t, func(c *cloud) {
		state := iaas.MachineStateStopped
		start := time.Now()
		made, err := c.api.CreateMachine(t.Context(), iaas.CreateMachine{
			Name: "later", Subnet: emulator.DefaultSubnet, MachineType: "pgp-small", State: &state,
		})
		if err != nil {
			t.Fatal(err)
		}
		running, err := c.api.CreateMachine(t.Context(), iaas.CreateMachine{Name: "now", Subnet: emulator.DefaultSubnet,
			MachineType: "pgp-small"})
		if err != nil {
			t.Fatal(err)
		}
		for _, identity := range []string{running.Identity, made.Identity} {
			if identity == made.Identity {
				if err := c.api.MachineStart(t.Context(), identity); err != nil {
					t.Fatal(err)
				}
			}
			e := c.event()
			if e.Kind != Booted || e.Identity != identity || time.Since(start) < 200*time.Millisecond {
				t.Errorf("event %+v after %s, want that %s booted after 200ms", e, time.Since(start), identity)
			}
		}
	}, func(cfg *emulator.Config, _ *Options) { cfg.Delays.MachineCreate = 200 * time.Millisecond })
}

// Machines of one name, in different projects, have namespaces of their own.
func TestMachinesOfOneName(t *testing.T) {
	seed := emulator.DualStackSeed()
	seed.Organisations[0].Projects = []emulator.ProjectSeed{{
		Identity: "prj-1", Name: "shop", VPCs: []emulator.VPCSeed{{
			Name: "shop", Region: emulator.DefaultRegion, CIDRs: []netip.Prefix{netip.MustParsePrefix("10.9.0.0/16")},
			Subnets: []emulator.SubnetSeed{{Identity: "subnet-shop", Name: "shop",
				CIDRs: []netip.Prefix{netip.MustParsePrefix("10.9.0.0/24")}}},
		}},
	}}
	asRoot(t, func(c *cloud) {
		one, other, hub := c.machine("one", ""), c.machine("one", "subnet-shop"), c.machine("hub", "")
		if one.Name() != c.plane.Name()+"-one" || other.Name() != c.plane.Name()+"-"+other.identity ||
			hub.Name() != c.plane.Name()+"-"+hub.identity {
			t.Errorf("namespaces %s, %s and %s, want the slug for the first and identities for the others", one.Name(),
				other.Name(), hub.Name())
		}
	}, func(cfg *emulator.Config, _ *Options) { cfg.Seed = seed })
}
