package emulator_test

import (
	"encoding/json"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/thalassa-cloud/client-go/iaas"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

func TestSetLoadBalancerStatus(t *testing.T) {
	plane := &recorder{}
	c := newCloud(t, func(cfg *emulator.Config) {
		cfg.DataPlane = plane
		cfg.Delays.LoadbalancerDelete = time.Hour
	})
	lb := c.loadbalancer(t, "web").Identity
	for _, test := range []struct {
		hold, status string
		addresses    int
		calls        string
	}{
		{"creating", "creating", 0, "remove"},
		{"", "ready", 1, "serve 0 listeners 0 targets"},
		{"failed", "failed", 1, "serve 0 listeners 0 targets"},
		{"error", "error", 1, "serve 0 listeners 0 targets"},
		{"updating", "updating", 1, "serve 0 listeners 0 targets"},
		{"ready", "ready", 1, "serve 0 listeners 0 targets"},
	} {
		plane.take()
		if err := c.SetLoadBalancerStatus("web", test.hold); err != nil {
			t.Fatal(err)
		}
		got, err := c.api.GetLoadbalancer(t.Context(), lb)
		if err != nil {
			t.Fatal(err)
		}
		if got.Status != test.status || len(got.ExternalIpAddresses) != test.addresses {
			t.Errorf("held %q: status %s, addresses %v", test.hold, got.Status, got.ExternalIpAddresses)
		}
		if _, _, body := c.call(t, "GET", "/v1/loadbalancers?status="+test.status, ""); !strings.Contains(body, lb) {
			t.Errorf("held %q: not found by its status", test.hold)
		}
		if state := c.State().LoadBalancers[0]; state.Status != test.status || len(state.Addresses) != test.addresses {
			t.Errorf("held %q: state %+v", test.hold, state)
		}
		if diff := cmp.Diff([]string{test.calls}, plane.take()); diff != "" {
			t.Errorf("held %q: data plane (-want +got):\n%s", test.hold, diff)
		}
	}
	if err := c.SetLoadBalancerStatus(lb, "failed"); err != nil {
		t.Fatal(err)
	}
	if err := c.api.DeleteLoadbalancer(t.Context(), lb); err != nil {
		t.Fatal(err)
	}
	if got := c.State().LoadBalancers[0].Status; got != "deleting" {
		t.Errorf("status %s after DELETE, want deleting", got)
	}
}

func TestSetLoadBalancerStatusRefuses(t *testing.T) {
	c := newCloud(t)
	c.loadbalancer(t, "web")
	if err := c.SetLoadBalancerStatus("none", "failed"); err == nil ||
		!strings.Contains(err.Error(), `load balancer "none" not found`) {
		t.Errorf("unknown load balancer: %v", err)
	}
	if err := c.SetLoadBalancerStatus("web", "Failed"); err == nil ||
		!strings.Contains(err.Error(), `status is "Failed"; use one of creating, ready, updating, failed, error`) {
		t.Errorf("unknown status: %v", err)
	}
}

// What a machine's status says is held; that it runs, and gets traffic, is not touched.
func TestSetMachineStatus(t *testing.T) {
	plane := &recorder{}
	c := newCloud(t, func(cfg *emulator.Config) {
		cfg.DataPlane = plane
		cfg.Delays.MachineDelete = time.Hour
	})
	vm := c.machine(t, "one")
	plane.take()
	for hold, want := range map[string]string{
		"provisioning": "provisioning", "creating": "creating", "ready": "ready", "running": "running",
		"stopped": "stopped",
		"unknown": "unknown", "failed": "failed", "error": "error", "deleting": "deleting", "deleted": "deleted",
		"": "running",
	} {
		if err := c.SetMachineStatus("one", hold); err != nil {
			t.Fatal(err)
		}
		got, err := c.api.GetMachine(t.Context(), vm)
		if err != nil {
			t.Fatal(err)
		}
		if got.Status.Status != want || got.State != "running" {
			t.Errorf("held %q: status %q, state %q", hold, got.Status.Status, got.State)
		}
		if _, _, body := c.call(t, "GET", "/v1/machines?status="+want, ""); !strings.Contains(body, vm) {
			t.Errorf("held %q: not found by its status", hold)
		}
	}
	if calls := plane.take(); len(calls) > 0 {
		t.Errorf("the data plane was called with %v, want no call", calls)
	}
	if err := c.SetMachineStatus(vm, "unknown"); err != nil {
		t.Fatal(err)
	}
	if err := c.DeleteMachine(vm); err != nil {
		t.Fatal(err)
	}
	if got, err := c.api.GetMachine(t.Context(), vm); err != nil || got.Status.Status != "deleting" ||
		got.State != "deleting" {
		t.Errorf("after DELETE: %+v, %v, want deleting", got, err)
	}
}

func TestSetMachineStatusRefuses(t *testing.T) {
	c := newCloud(t)
	c.machine(t, "one")
	if err := c.SetMachineStatus("none", "failed"); err == nil ||
		!strings.Contains(err.Error(), `machine "none" not found`) {
		t.Errorf("unknown machine: %v", err)
	}
	if err := c.SetMachineStatus("one", "Ready"); err == nil ||
		!strings.Contains(err.Error(), `status is "Ready"; use one of provisioning, creating, ready`) {
		t.Errorf("unknown status: %v", err)
	}
}

func addrs(texts ...string) []netip.Addr {
	var out []netip.Addr
	for _, text := range texts {
		out = append(out, netip.MustParseAddr(text))
	}
	return out
}

// roomy is a cloud whose VPC has two subnets, and another VPC.
func roomy(t *testing.T) *cloud {
	t.Helper()
	return newCloud(t, func(cfg *emulator.Config) {
		prefix := netip.MustParsePrefix
		cfg.Seed.Organisations[0].VPCs = []emulator.VPCSeed{
			{Identity: "vpc-1", Name: "one", Region: emulator.DefaultRegion,
				CIDRs: []netip.Prefix{prefix("10.1.0.0/16")}, Subnets: []emulator.SubnetSeed{
					{Identity: "subnet-a", Name: "a", CIDRs: []netip.Prefix{prefix("10.1.1.0/24")}},
					{Identity: "subnet-b", Name: "b", CIDRs: []netip.Prefix{prefix("10.1.2.0/24")}},
				}},
			{Identity: "vpc-2", Name: "two", Region: emulator.DefaultRegion,
				CIDRs: []netip.Prefix{prefix("10.2.0.0/16")}, Subnets: []emulator.SubnetSeed{
					{Identity: "subnet-c", Name: "c", CIDRs: []netip.Prefix{prefix("10.2.1.0/24")}},
				}},
		}
	})
}

func (c *cloud) home(t *testing.T, machine string) (subnet string, addresses []string) {
	t.Helper()
	m, err := c.api.GetMachine(t.Context(), machine)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range m.Interfaces {
		addresses = append(addresses, i.IPAddresses...)
	}
	return m.Subnet.Identity, addresses
}

func TestSetMachineAddresses(t *testing.T) {
	c := roomy(t)
	vm := c.machine(t, "one")
	for _, test := range []struct {
		name   string
		to     []netip.Addr
		subnet string
		want   []string
	}{
		{"within its subnet", addrs("10.1.1.200"), "subnet-a", []string{"10.1.1.200"}},
		{"one it has", addrs("10.1.1.200", "10.1.1.201"), "subnet-a", []string{"10.1.1.200", "10.1.1.201"}},
		{"another subnet", addrs("10.1.2.7"), "subnet-b", []string{"10.1.2.7"}},
		{"no interface", nil, "subnet-b", nil},
		{"back", addrs("10.1.1.9"), "subnet-a", []string{"10.1.1.9"}},
	} {
		if err := c.SetMachineAddresses(vm, test.to...); err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		subnet, addresses := c.home(t, vm)
		if diff := cmp.Diff(test.want, addresses, cmpopts.EquateEmpty()); diff != "" || subnet != test.subnet {
			t.Errorf("%s: subnet %s, addresses (-want +got):\n%s", test.name, subnet, diff)
		}
	}
	// What was left is free again.
	if err := c.SetMachineAddresses(c.machine(t, "two"), addrs("10.1.2.7")...); err != nil {
		t.Error(err)
	}
}

func TestSetMachineAddressesRefuses(t *testing.T) {
	c := roomy(t)
	one, two := c.machine(t, "one"), c.machine(t, "two")
	_, before := c.home(t, one)
	_, taken := c.home(t, two)
	for name, test := range map[string]struct {
		machine string
		to      []netip.Addr
		want    string
	}{
		"no machine":  {"none", nil, `machine "none" not found`},
		"other VPC":   {one, addrs("10.2.1.7"), `no subnet of VPC "one" has the addresses [10.2.1.7]`},
		"two subnets": {one, addrs("10.1.1.7", "10.1.2.7"), "no subnet of VPC"},
		"taken":       {one, addrs("10.1.1.99", taken[0]), "already in use"},
	} {
		if err := c.SetMachineAddresses(test.machine, test.to...); err == nil ||
			!strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", name, err, test.want)
		}
	}
	if subnet, after := c.home(t, one); subnet != "subnet-a" || !cmp.Equal(before, after) {
		t.Errorf("the machine is in %s with %v after refusals, want %v", subnet, after, before)
	}
	if err := c.SetMachineAddresses(two, addrs(before...)...); err == nil {
		t.Error("another machine could take the addresses of one that kept them")
	}
	// Nothing that was refused is in use.
	if err := c.SetMachineAddresses(one, addrs("10.1.1.99")...); err != nil {
		t.Error(err)
	}
}

func TestMachineWithoutInterfaceGetsNoTraffic(t *testing.T) {
	plane := &recorder{}
	c := newCloud(t, func(cfg *emulator.Config) { cfg.DataPlane = plane })
	vm, g, lb := c.machine(t, "one"), c.group(t, "web", 80), c.loadbalancer(t, "a")
	c.listener(t, lb.Identity, g.Identity, 80)
	if err := c.setTargets(t, g.Identity, vm); err != nil {
		t.Fatal(err)
	}
	plane.take()
	if err := c.SetMachineAddresses(vm); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"serve 1 listeners 0 targets"}, plane.take()); diff != "" {
		t.Errorf("data plane (-want +got):\n%s", diff)
	}
	if got := c.State().LoadBalancers[0].Listeners[0].Targets; len(got) != 0 {
		t.Errorf("targets %v, want none", got)
	}
	// Such a machine can be deleted, and moved by the API.
	subnet := emulator.DefaultSubnet
	if _, err := c.api.UpdateMachine(t.Context(), vm, iaas.UpdateMachine{Name: "one", Subnet: &subnet}); err != nil {
		t.Error(err)
	}
	if err := c.DeleteMachine(vm); err != nil {
		t.Error(err)
	}
}

func TestOverrideAdminAPI(t *testing.T) {
	c := newCloud(t)
	vm, lb := c.machine(t, "one"), c.loadbalancer(t, "web").Identity
	for _, step := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"POST", "/_emulator/machines/one/stop", "", 204, `"state":"stopped"`},
		{"POST", "/_emulator/machines/one/start", "", 204, `"state":"running"`},
		{"PUT", "/_emulator/machines/one/addresses", `{"addresses":["10.0.0.77"]}`, 204, `"10.0.0.77"`},
		{"PUT", "/_emulator/machines/one/addresses", `{"addresses":["x"]}`, 400, `"10.0.0.77"`},
		{"PUT", "/_emulator/machines/one/addresses", `{"adresses":[]}`, 400, `"10.0.0.77"`},
		{"PUT", "/_emulator/machines/one/addresses", `{"addresses":["192.0.2.1"]}`, 400, `"10.0.0.77"`},
		{"PUT", "/_emulator/machines/two/addresses", `{}`, 404, `"10.0.0.77"`},
		{"PUT", "/_emulator/loadbalancers/web/status", `{"status":"failed"}`, 204, `"status":"failed"`},
		{"PUT", "/_emulator/loadbalancers/web/status", `{}`, 400, `"status":"failed"`},
		{"PUT", "/_emulator/loadbalancers/web/status", `{"status":"fine"}`, 400, `"status":"failed"`},
		{"PUT", "/_emulator/loadbalancers/none/status", `{"status":"failed"}`, 404, `"status":"failed"`},
		{"PUT", "/_emulator/loadbalancers/" + lb + "/status", `{"status":""}`, 204, `"status":"ready"`},
		{"POST", "/_emulator/machines/none/stop", "", 404, ""},
		{"POST", "/_emulator/machines/" + vm + "/delete", "", 204, ""},
	} {
		status, _, body := c.call(t, step.method, step.path, step.body)
		if status != step.status || status >= 400 && !json.Valid([]byte(body)) {
			t.Errorf("%s %s %s = %d %s, want %d", step.method, step.path, step.body, status, body, step.status)
		}
		_, _, machine := c.call(t, "GET", "/v1/machines/one", "")
		_, _, balancer := c.call(t, "GET", "/v1/loadbalancers/web", "")
		if !strings.Contains(machine+balancer, step.want) {
			t.Errorf("%s %s %s: %s %s, want %s", step.method, step.path, step.body, machine, balancer, step.want)
		}
	}
	if status, _, _ := c.call(t, "GET", "/v1/machines/one", ""); status != http.StatusNotFound {
		t.Errorf("the machine = %d, want 404", status)
	}
	if got := len(c.Writes()); got != 1 {
		t.Errorf("%d writes are logged, want that of the API only", got)
	}
}
