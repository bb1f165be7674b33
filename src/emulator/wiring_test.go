package emulator_test

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/thalassa-cloud/client-go/iaas"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic"
)

// fabric is a data plane with machines that records its calls.
type fabric struct {
	recorder
	mu      sync.Mutex // timers of the emulator write
	network traffic.Network
	refuse  error
}

func (f *fabric) Network() netip.Prefix { return netip.Prefix{} }

func (f *fabric) Wire(network traffic.Network) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.network = network
	f.add("wire")
	return f.refuse
}

// vpc is the only VPC of the last description.
func (f *fabric) vpc(t *testing.T) traffic.VPC {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.network.VPCs) != 1 {
		t.Fatalf("the network has %d VPCs, want one", len(f.network.VPCs))
	}
	return f.network.VPCs[0]
}

func newFabric(t *testing.T, adjust ...func(*emulator.Config)) (*cloud, *fabric) {
	t.Helper()
	plane := &fabric{}
	return newCloud(t, append([]func(*emulator.Config){func(cfg *emulator.Config) {
		cfg.Seed, cfg.DataPlane = emulator.DualStackSeed(), plane
	}}, adjust...)...), plane
}

var comparePlaces = cmp.Options{
	cmp.Comparer(func(a, b netip.Prefix) bool {
		return a == b
	}), cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
}

func TestWiringGetsEverything(t *testing.T) {
	c, plane := newFabric(t)
	if got := plane.vpc(t); len(got.Subnets) != 1 {
		t.Errorf("at the start: %+v, want the seed's subnet", got)
	}
	rule := iaas.SecurityGroupRule{
		Name: "web", IPVersion: iaas.SecurityGroupIPVersionIPv6, Protocol: iaas.SecurityGroupRuleProtocolTCP,
		Priority:   7,
		RemoteType: iaas.SecurityGroupRuleRemoteTypeAddress, RemoteAddress: new("2001:db8::/32"), PortRangeMin: 80,
		PortRangeMax: 81,
		Policy:       iaas.SecurityGroupRulePolicyDrop,
	}
	guard, err := c.api.CreateSecurityGroup(t.Context(), iaas.CreateSecurityGroupRequest{
		Name: "web", VpcIdentity: emulator.DefaultVPC, AllowSameGroupTraffic: true,
		IngressRules: []iaas.SecurityGroupRule{rule},
	})
	if err != nil {
		t.Fatal(err)
	}
	machine, err := c.AddMachine(emulator.MachineSpec{Name: "one", SecurityGroups: []string{guard.Identity}})
	if err != nil {
		t.Fatal(err)
	}
	route := iaas.CreateRouteTableRoute{DestinationCidrBlock: "10.244.1.0/24", GatewayAddress: "10.0.0.2"}
	if _, err := c.api.CreateRouteTableRoute(t.Context(), plane.vpcTable(t, c), route); err != nil {
		t.Fatal(err)
	}
	lb, err := c.api.CreateLoadbalancer(t.Context(), iaas.CreateLoadbalancer{
		Name: "web", Subnet: emulator.DefaultSubnet, SecurityGroupAttachments: []string{guard.Identity},
	})
	if err != nil {
		t.Fatal(err)
	}
	routes := []traffic.Route{{Destination: prefixes("10.244.1.0/24")[0], Gateway: netip.MustParseAddr("10.0.0.2")}}
	want := traffic.VPC{
		Identity: emulator.DefaultVPC, Name: "emulator", Ranges: prefixes("10.0.0.0/16", "fd00:7a1a::/56"),
		Routes: routes,
		Subnets: []traffic.Subnet{{Identity: emulator.DefaultSubnet, Ranges: prefixes("10.0.0.0/17", "fd00:7a1a::/64"),
			Routes: routes}},
		Machines: []traffic.Machine{{
			Identity: machine, Name: "one", Subnet: emulator.DefaultSubnet, MAC: "52:54:0a:00:00:02", Running: true,
			Addresses:      []netip.Addr{netip.MustParseAddr("10.0.0.2"), netip.MustParseAddr("fd00:7a1a::2")},
			SecurityGroups: []string{guard.Identity},
		}},
		LoadBalancers: []traffic.Endpoint{{
			Identity: lb.Identity, Subnet: emulator.DefaultSubnet, SecurityGroups: []string{guard.Identity},
			Addresses: []netip.Addr{netip.MustParseAddr("198.18.0.2"), netip.MustParseAddr("2001:db8::2")},
		}},
		SecurityGroups: []traffic.SecurityGroup{{
			Identity: guard.Identity, SameGroupTraffic: true,
			Ingress: []traffic.Rule{{Drop: true, Priority: 7, IPv6: true, Protocol: "tcp", FirstPort: 80, LastPort: 81,
				Remote: prefixes("2001:db8::/32")[0]}},
		}},
	}
	if diff := cmp.Diff(want, plane.vpc(t), comparePlaces); diff != "" {
		t.Errorf("network (-want +got):\n%s", diff)
	}
}

// vpcTable is the only route table.
func (f *fabric) vpcTable(t *testing.T, c *cloud) string {
	t.Helper()
	tables, err := c.api.ListRouteTables(t.Context(), nil)
	if err != nil || len(tables) != 1 {
		t.Fatalf("route tables %+v, %v, want one", tables, err)
	}
	return tables[0].Identity
}

func TestWiringComesBeforeTraffic(t *testing.T) {
	c, plane := newFabric(t)
	plane.take()
	lb := c.loadbalancer(t, "a")
	if got, want := plane.take(), []string{"wire", "serve 0 listeners 0 targets"}; !slices.Equal(got, want) {
		t.Errorf("a new load balancer: %v, want %v", got, want)
	}
	if err := c.api.DeleteLoadbalancer(t.Context(), lb.Identity); err != nil {
		t.Fatal(err)
	}
	if got, want := plane.take(), []string{"wire", "remove"}; !slices.Equal(got, want) ||
		len(plane.vpc(t).LoadBalancers) != 0 {
		t.Errorf("a load balancer that is gone: %v, want %v", got, want)
	}
}

func TestWiringFollowsPower(t *testing.T) {
	c, plane := newFabric(t)
	one := c.machine(t, "one")
	ctx := t.Context()
	for i, step := range []struct {
		do      func() error
		running bool
		boots   int
	}{
		{func() error { return c.api.MachineStop(ctx, one) }, false, 0},
		{func() error { return c.api.MachineStart(ctx, one) }, true, 1},
		{func() error { return c.api.MachineStart(ctx, one) }, true, 1},
		{func() error { return c.api.MachineRestart(ctx, one) }, true, 2},
		{func() error { return c.power(t, one, iaas.MachineStateStopped) }, false, 2},
		{func() error { return c.power(t, one, iaas.MachineStateRunning) }, true, 3},
		{func() error { return c.SetMachineAddresses(one) }, true, 3},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		if got := plane.vpc(t).Machines[0]; got.Running != step.running || got.Boots != step.boots {
			t.Errorf("step %d: running %t after %d boots, want %t after %d", i, got.Running, got.Boots, step.running,
				step.boots)
		}
	}
	if got := plane.vpc(t).Machines[0]; got.MAC != "" || len(got.Addresses) != 0 {
		t.Errorf("without its interface: %+v", got)
	}
	if err := c.DeleteMachine(one); err != nil {
		t.Fatal(err)
	}
	if got := plane.vpc(t).Machines; len(got) != 0 {
		t.Errorf("after its deletion: %+v", got)
	}
}

// power switches a machine with an update.
func (c *cloud) power(t *testing.T, machine string, state iaas.MachineState) error {
	t.Helper()
	_, err := c.api.UpdateMachine(t.Context(), machine, iaas.UpdateMachine{Name: "one", State: &state})
	return err
}

// A machine is there when it has been provisioned, without anybody asking.
func TestWiringWaitsForMachines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plane := &fabric{}
		e, err := emulator.NewDescribed(t, emulator.Config{
			Seed: emulator.DualStackSeed(), DataPlane: plane, Delays: emulator.Delays{MachineCreate: 30 * time.Second},
		})
		if err != nil {
			t.Fatal(err)
		}
		request := newRequest(t, "POST", "/v1/machines",
			`{"name": "one", "subnet": "emulator", "machineType": "pgp-small"}`)
		request.Header.Set("Authorization", "Token "+emulator.DefaultToken)
		serve(e, request)
		if got := plane.vpc(t).Machines; len(got) != 0 {
			t.Errorf("while it is provisioning: %+v", got)
		}
		<-time.After(30 * time.Second)
		synctest.Wait()
		if got := plane.vpc(t).Machines; len(got) != 1 {
			t.Errorf("when it is ready: %+v, want it", got)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestWiringProblems(t *testing.T) {
	c, plane := newFabric(t)
	plane.refuse = errors.New("no such device")
	c.machine(t, "one")
	if got := c.State().Network.Problem; got != "making the network: no such device" {
		t.Errorf("problem %q", got)
	}
	plane.refuse = nil
	c.machine(t, "two")
	if got := c.State().Network.Problem; got != "" {
		t.Errorf("problem %q after it was solved", got)
	}
	_, err := emulator.NewDescribed(t, emulator.Config{Seed: emulator.DualStackSeed(),
		DataPlane: &fabric{refuse: errors.New("no such device")}})
	if err == nil || !strings.Contains(err.Error(), "making the network: no such device") {
		t.Errorf("New: %v, want the problem", err)
	}
}

// Targets have an address of each family.
func TestTargetsOfDualStacks(t *testing.T) {
	c, plane := newFabric(t)
	g := c.group(t, "web", 8080)
	if err := c.setTargets(t, g.Identity, c.machine(t, "one")); err != nil {
		t.Fatal(err)
	}
	c.listener(t, c.loadbalancer(t, "a").Identity, g.Identity, 80)
	got := plane.last.Listeners[0].Group.Targets[0]
	if got.Address != netip.MustParseAddrPort("10.0.0.2:8080") ||
		got.Other != netip.MustParseAddrPort("[fd00:7a1a::2]:8080") {
		t.Errorf("target %+v, want both addresses", got)
	}
}
