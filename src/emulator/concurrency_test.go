package emulator_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/thalassa-cloud/client-go/iaas"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
)

// Many clients at once must neither race nor see each other's half-done work.
func TestConcurrentClients(t *testing.T) {
	c := newCloud(t)
	machines, err := c.AddMachines(20)
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	for i := range 8 {
		running.Go(func() {
			if err := c.cycle(t, fmt.Sprintf("service-%d", i), machines); err != nil {
				t.Errorf("client %d: %v", i, err)
			}
		})
	}
	running.Go(func() {
		for _, machine := range machines[:10] {
			if err := c.StopMachine(machine); err != nil {
				t.Error(err)
			}
			c.State()
			c.Counters()
		}
	})
	running.Wait()
	if lbs, err := c.api.ListLoadbalancers(t.Context(), nil); err != nil || len(lbs) != 0 {
		t.Errorf("%d load balancers are left, %v", len(lbs), err)
	}
	if groups, err := c.api.ListTargetGroups(t.Context(), nil); err != nil || len(groups) != 0 {
		t.Errorf("%d target groups are left, %v", len(groups), err)
	}
	counters, want := c.Counters(), 8*5
	if got := counters["POST /v1/loadbalancers"]; got != want {
		t.Errorf("%d load balancers were created, want %d", got, want)
	}
}

// Faults come and go while clients work; whatever is disturbed, nothing is torn.
func TestConcurrentClientsMeetFaults(t *testing.T) {
	c := newCloud(t)
	machines, err := c.AddMachines(20)
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	for i := range 4 {
		// What the client makes of it is not the question.
		running.Go(func() { _ = c.cycle(t, fmt.Sprintf("service-%d", i), machines) })
	}
	running.Go(func() {
		for i := range tier.Pick(15, 50) {
			for _, effect := range []fault.Effect{
				{Kind: fault.Stale, Delay: 5 * time.Millisecond}, {Kind: fault.DeleteLag, Delay: 5 * time.Millisecond},
				{Kind: fault.Partial}, {Kind: fault.Latency, Delay: time.Millisecond},
			} {
				if _, err := c.Inject(fault.Rule{Probability: 0.5, Seed: uint64(i), Effect: effect}); err != nil {
					t.Error(err)
				}
			}
			if status, _, body := c.call(t, "GET", "/v1/loadbalancer-target-groups", ""); status != 200 ||
				!json.Valid([]byte(body)) {
				t.Errorf("list = %d %s", status, body)
			}
			c.Faults()
			c.samples(t)
			c.ClearFaults()
		}
	})
	running.Wait()
}

// cycle creates and deletes everything that a Service needs, a few times.
func (c *cloud) cycle(t *testing.T, name string, machines []string) error {
	t.Helper()
	for range 5 {
		group, err := c.api.CreateTargetGroup(t.Context(), iaas.CreateTargetGroup{
			Name: name, Vpc: emulator.DefaultVPC, TargetPort: 80, Protocol: iaas.ProtocolTCP,
		})
		if err != nil {
			return err
		}
		if err := c.setTargets(t, group.Identity, machines...); err != nil {
			return err
		}
		lb, err := c.api.CreateLoadbalancer(t.Context(), iaas.CreateLoadbalancer{
			Name: name, Subnet: emulator.DefaultSubnet,
			Listeners: []iaas.CreateListener{listenerOn(80, group.Identity)},
		})
		if err != nil {
			return err
		}
		if groups, err := c.api.ListTargetGroups(t.Context(), nil); err != nil || len(groups) == 0 {
			return fmt.Errorf("listing target groups: %d, %w", len(groups), err)
		}
		if err := c.api.DeleteLoadbalancer(t.Context(), lb.Identity); err != nil {
			return err
		}
		if err := c.api.DeleteTargetGroup(t.Context(),
			iaas.DeleteTargetGroupRequest{Identity: group.Identity}); err != nil {
			return err
		}
	}
	return nil
}

func TestAddressesAreReused(t *testing.T) {
	c := newCloud(t, func(cfg *emulator.Config) { cfg.Seed.Regions[0].PublicAddresses = prefixes("203.0.113.0/29") })
	for range 3 {
		var identities []string
		for i := range 5 {
			identities = append(identities, c.loadbalancer(t, fmt.Sprint("lb-", i)).Identity)
		}
		status, _, body := c.call(t, "POST", "/v1/loadbalancers", `{"name":"one-too-many","subnet":"emulator"}`)
		if status != 409 {
			t.Errorf("creating without a free address = %d %s, want 409", status, body)
		}
		for _, identity := range identities {
			if err := c.api.DeleteLoadbalancer(t.Context(), identity); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestNoMachineWithoutAnAddress(t *testing.T) {
	c := newCloud(t, func(cfg *emulator.Config) {
		cfg.Seed.Organisations[0].VPCs[0].Subnets[0].CIDRs = prefixes("10.0.0.0/30")
	})
	one := c.machine(t, "one")
	if _, err := c.AddMachine(emulator.MachineSpec{Name: "two"}); err == nil {
		t.Error("a machine was added to a full subnet")
	}
	if err := c.DeleteMachine(one); err != nil {
		t.Fatal(err)
	}
	c.machine(t, "two")
}
