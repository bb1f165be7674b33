package emulator_test

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/thalassa-cloud/client-go/filters"
	"github.com/thalassa-cloud/client-go/iaas"
	vendor "github.com/thalassa-cloud/client-go/pkg/client"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
)

func TestMachineHasAllThatClientsRead(t *testing.T) {
	c := newCloud(t)
	created, err := c.api.CreateMachine(t.Context(), iaas.CreateMachine{
		Name: "worker-1", Subnet: emulator.DefaultSubnet, MachineType: "pgp-medium", MachineImage: "ubuntu-22.04",
		AvailabilityZone: new("nl-01b"), CloudInit: "#cloud-config", Labels: iaas.Labels{"a": "b"},
	})
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.api.GetMachine(t.Context(), created.Identity)
	if err != nil {
		t.Fatal(err)
	}
	type facts struct {
		Slug, State, Status, VPC, Subnet, Type, Zone, Region, Image, Interface, Address,
		CloudInit string
	}
	want := facts{"worker-1", "running", "running", emulator.DefaultVPC, emulator.DefaultSubnet, "pgp-medium",
		"nl-01b", "nl-01", "ubuntu-22.04", "default", "10.0.0.2", "#cloud-config"}
	got := facts{m.Slug, string(m.State), m.Status.Status, m.Vpc.Identity, m.Subnet.Identity, m.MachineType.Slug,
		*m.AvailabilityZone, *m.Region, m.MachineImage.Name, m.Interfaces[0].Name, m.Interfaces[0].IPAddresses[0],
		*m.CloudInit}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("machine (-want +got):\n%s", diff)
	}
	if m.Vpc.CloudRegion.Slug != "nl-01" || m.Interfaces[0].MacAddress != "52:54:0a:00:00:02" {
		t.Errorf("region %q, MAC %q", m.Vpc.CloudRegion.Slug, m.Interfaces[0].MacAddress)
	}
}

func TestMachinePower(t *testing.T) {
	c := newCloud(t)
	one := c.machine(t, "one")
	state := func() string {
		t.Helper()
		m, err := c.api.GetMachine(t.Context(), "one")
		if err != nil {
			t.Fatal(err)
		}
		return string(m.State) + "/" + m.Status.Status
	}
	steps := []struct {
		name string
		do   func() error
		want string
	}{
		{"stop", func() error { return c.api.MachineStop(t.Context(), one) }, "stopped/stopped"},
		{"start", func() error { return c.api.MachineStart(t.Context(), one) }, "running/running"},
		{"restart", func() error { return c.api.MachineRestart(t.Context(), one) }, "running/running"},
		{"StopMachine", func() error { return c.StopMachine("one") }, "stopped/stopped"},
		{"StartMachine", func() error { return c.StartMachine(one) }, "running/running"},
		{"update", func() error {
			_, err := c.api.UpdateMachine(t.Context(), one, iaas.UpdateMachine{Name: "one",
				State: new(iaas.MachineStateStopped)})
			return err
		}, "stopped/stopped"},
	}
	for _, step := range steps {
		if err := step.do(); err != nil {
			t.Errorf("%s: %v", step.name, err)
		}
		if got := state(); got != step.want {
			t.Errorf("%s: %s, want %s", step.name, got, step.want)
		}
	}
	if err := c.StopMachine("nobody"); err == nil {
		t.Error("stopping an unknown machine succeeded")
	}
}

func TestMachineUpdate(t *testing.T) {
	c := newCloud(t, func(cfg *emulator.Config) {
		v := &cfg.Seed.Organisations[0].VPCs[0]
		v.Subnets = append(v.Subnets, emulator.SubnetSeed{Identity: "subnet-2", Name: "second",
			CIDRs: prefixes("10.0.200.0/24")})
	})
	one := c.machine(t, "one")
	m, err := c.api.UpdateMachine(t.Context(), one, iaas.UpdateMachine{
		Name: "renamed", Subnet: new("subnet-2"), AvailabilityZone: new("nl-01c"), MachineType: new("pgp-large"),
	})
	if err != nil {
		t.Fatal(err)
	}
	if m.Slug != "one" || m.Name != "renamed" || m.Interfaces[0].IPAddresses[0] != "10.0.200.2" ||
		m.MachineType.Slug != "pgp-large" || *m.AvailabilityZone != "nl-01c" {
		t.Errorf("machine %+v is not as updated", m)
	}
	for name, update := range map[string]iaas.UpdateMachine{
		"subnet": {Name: "x", Subnet: new("nowhere")}, "zone": {Name: "x", AvailabilityZone: new("x")},
		"type": {Name: "x", MachineType: new("x")}, "state": {Name: "x", State: new(iaas.MachineState("x"))},
		"name": {},
	} {
		if _, err := c.api.UpdateMachine(t.Context(), one, update); !vendor.IsBadRequest(err) {
			t.Errorf("%s: %v, want bad request", name, err)
		}
	}
	if m, err = c.api.GetMachine(t.Context(), one); err != nil || m.Name != "renamed" {
		t.Errorf("after refused updates: %+v, %v", m, err)
	}
}

func TestMachineDeletion(t *testing.T) {
	c := newCloud(t)
	protected, err := c.api.CreateMachine(t.Context(), iaas.CreateMachine{
		Name: "p", Subnet: "emulator", MachineType: "pgp-small", DeleteProtection: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.api.DeleteMachine(t.Context(), protected.Identity); err == nil ||
		!strings.Contains(err.Error(), "409") {
		t.Errorf("deleting a protected machine: %v, want 409", err)
	}
	one := c.machine(t, "one")
	if err := c.api.DeleteMachine(t.Context(), one); err != nil {
		t.Fatal(err)
	}
	if _, err := c.api.GetMachine(t.Context(), one); !vendor.IsNotFound(err) {
		t.Errorf("reading a deleted machine: %v, want not found", err)
	}
	if again := c.machine(t, "one"); again == one {
		t.Error("a new machine has the identity of a deleted one")
	}
}

func TestMachineRequestsThatFail(t *testing.T) {
	c := newCloud(t)
	c.machine(t, "one")
	tests := map[string]struct {
		method, path, body string
		status             int
	}{
		"read unknown":        {"GET", "/v1/machines/x", "", 404},
		"update unknown":      {"PUT", "/v1/machines/x", "{}", 404},
		"delete unknown":      {"DELETE", "/v1/machines/x", "", 404},
		"start unknown":       {"POST", "/v1/machines/x/start", "", 404},
		"create without JSON": {"POST", "/v1/machines", "x", 400},
		"update without JSON": {"PUT", "/v1/machines/one", "x", 400},
		"nameless":            {"POST", "/v1/machines", `{"subnet":"emulator","machineType":"pgp-small"}`, 400},
		"unknown subnet":      {"POST", "/v1/machines", `{"name":"a","subnet":"x","machineType":"pgp-small"}`, 400},
		"security group": {"POST", "/v1/machines",
			`{"name":"a","subnet":"emulator","machineType":"pgp-small","securityGroupAttachments":["x"]}`, 400},
		"new security group": {"PUT", "/v1/machines/one", `{"name":"a","securityGroupAttachments":["x"]}`, 400},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if status, _, body := c.call(t, test.method, test.path, test.body); status != test.status {
				t.Errorf("%s %s = %d %s, want %d", test.method, test.path, status, body, test.status)
			}
		})
	}
}

func TestMachineLifeCycle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, err := emulator.NewDescribed(t, emulator.Config{Seed: emulator.DefaultSeed(), Delays: emulator.Delays{
			MachineCreate: time.Minute, MachineDelete: time.Minute,
		}})
		if err != nil {
			t.Fatal(err)
		}
		do := func(method, path, body, want string) {
			t.Helper()
			request := newRequest(t, method, path, body)
			request.Header.Set("Authorization", "Token "+emulator.DefaultToken)
			if got := serve(e, request).Body.String(); !strings.Contains(got, want) {
				t.Errorf("%s %s: %s lacks %s", method, path, got, want)
			}
		}
		do("POST", "/v1/machines", `{"name":"a","subnet":"emulator","machineType":"pgp-small"}`,
			`"status":"provisioning"`)
		<-time.After(time.Minute)
		do("GET", "/v1/machines/a", "", `"status":"ready"`)
		do("DELETE", "/v1/machines/a", "", "")
		do("GET", "/v1/machines/a", "", `"state":"deleting"`)
		do("POST", "/v1/machines/a/start", "", "is being deleted")
		<-time.After(time.Minute)
		do("GET", "/v1/machines/a", "", "not found")
	})
}

func TestMachineFilters(t *testing.T) {
	c := newCloud(t)
	if _, err := c.AddMachines(4); err != nil {
		t.Fatal(err)
	}
	if err := c.StopMachine("machine-00002"); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		key, value string
		want       []string
	}{
		"zone":    {"zone", "nl-01a", []string{"machine-00001", "machine-00004"}},
		"slug":    {"slug", "machine-00003", []string{"machine-00003"}},
		"status":  {"status", "stopped", []string{"machine-00002"}},
		"subnet":  {"subnet", "subnet-x", nil},
		"machine": {"machine", "machine-00001", []string{"machine-00001"}},
	}
	for name, test := range tests {
		machines, err := c.api.ListMachines(t.Context(), &iaas.ListMachinesRequest{Filters: []filters.Filter{
			&filters.FilterKeyValue{Key: filters.FilterKey(test.key), Value: test.value},
		}})
		var got []string
		for _, m := range machines {
			got = append(got, m.Slug)
		}
		if err != nil || !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, %v, want %v", name, got, err, test.want)
		}
	}
}

// Work that grows faster than the number of machines would make the scale tests
// of clients useless. Allocations are counted, because time depends on the host.
func TestListingIsLinear(t *testing.T) {
	perMachine := func(n int) float64 {
		e := bare(t)
		if _, err := e.AddMachines(n); err != nil {
			t.Fatal(err)
		}
		client := &http.Client{Transport: e.Transport()}
		allocations := testing.AllocsPerRun(1, func() {
			response, err := client.Do(apiRequest(t, "http://any.host", "GET", "/v1/machines", ""))
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			body, err := io.ReadAll(response.Body)
			if got := strings.Count(string(body), `"state":"running"`); err != nil || got != n {
				t.Errorf("%d machines in %d bytes, %v, want %d", got, len(body), err, n)
			}
		})
		return allocations / float64(n)
	}
	n := tier.Pick(200, 1000)
	if few, many := perMachine(n), perMachine(10*n); many > 1.1*few || many > 50 {
		t.Errorf("%.1f allocations per machine for %d machines, %.1f for ten times as many", few, n, many)
	}
}

func TestManyMachinesComeAndGo(t *testing.T) {
	c := newCloud(t)
	identities, err := c.AddMachines(2000)
	if err != nil {
		t.Fatal(err)
	}
	g := c.group(t, "web", 80)
	if err := c.setTargets(t, g.Identity, identities...); err != nil {
		t.Fatal(err)
	}
	for _, identity := range identities[:1999] {
		if err := c.DeleteMachine(identity); err != nil {
			t.Fatal(err)
		}
	}
	if got := c.attached(t, g.Identity); !slices.Equal(got, []string{"machine-02000"}) {
		t.Errorf("attached: %v, want the last machine", got)
	}
}

func TestEveryMachineFilter(t *testing.T) {
	c := newCloud(t)
	one, err := c.AddMachine(emulator.MachineSpec{Name: "One", Zone: "nl-01a",
		Labels: map[string]string{"role": "web"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.AddMachine(emulator.MachineSpec{Name: "Two", Zone: "nl-01b", Stopped: true}); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{
		"": "One Two", "vpc=emulator": "One Two", "vpc=" + emulator.DefaultVPC: "One Two", "vpc=x": "",
		"region=nl-01": "One Two", "region=x": "",
		"subnet=emulator": "One Two", "subnet=x": "", "zone=nl-01b": "Two", "zone=x": "", "name=One": "One",
		"name=one": "", "slug=two": "Two",
		"identity=" + one: "One", "status=ready": "", "status=running": "One", "status=stopped": "Two",
		"matchLabels%5Brole%5D=web": "One",
		"zone=nl-01a&name=Two":      "", "unknown=x": "One Two", "zone=": "One Two",
	} {
		_, _, body := c.call(t, "GET", "/v1/machines?"+query, "")
		var machines []iaas.Machine
		if err := json.Unmarshal([]byte(body), &machines); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range machines {
			got = append(got, m.Name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("?%s: %v, want %s", query, got, want)
		}
	}
}

// A console is missing, and not the machine or the right to use it.
func TestConsoleIsRefusedLikeOtherRequests(t *testing.T) {
	e := newEmulator(t, withMachine)
	for name, tt := range map[string]struct {
		token, organisation, machine string
		want                         int
		has                          string
	}{
		"no credentials":         {"", "", "vm-1", 401, ""},
		"wrong credentials":      {"wrong", "", "vm-1", 401, ""},
		"another organisation":   {emulator.DefaultToken, "other", "vm-1", 403, ""},
		"no such machine":        {emulator.DefaultToken, "", "vm-2", 404, "vm-2"},
		"a machine":              {emulator.DefaultToken, "", "one", 501, `machine \"vm-1\" has no console`},
		"nothing of the cloud's": {"", "", "vm-1/other", 501, "does not serve"},
	} {
		t.Run(name, func(t *testing.T) {
			request := newRequest(t, "GET", "/v1/machines/"+tt.machine+"/console", "")
			if tt.token != "" {
				request.Header.Set("Authorization", "Token "+tt.token)
			}
			request.Header.Set("X-Organisation-Identity", tt.organisation)
			if got := serve(e, request); got.Code != tt.want || !strings.Contains(got.Body.String(), tt.has) {
				t.Errorf("status %d %s, want %d and %q", got.Code, got.Body, tt.want, tt.has)
			}
		})
	}
}
