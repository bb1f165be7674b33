package emulator_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// Lists with a label filter are ten seconds behind; the others, and single objects, are not.
func TestLabelFiltersLag(t *testing.T) {
	const x1, x2 = "?matchLabels[x]=1", "?matchLabels[x]=2"
	withPast(t, emulator.Config{Delays: emulator.Delays{LabelFilters: 10 * time.Second}}, func(p past) {
		expect := func(when, query, want string) {
			p.Helper()
			if got := p.names(query); got != want {
				p.Errorf("%s: list%s = %q, want %q", when, query, got, want)
			}
		}
		p.change("POST", "/v1/loadbalancers", `{"name":"a","subnet":"emulator","labels":{"x":"1"}}`)
		expect("just created", x1, "")
		expect("just created", "", "a ready")
		expect("just created", "?name=a", "a ready")
		if _, body := p.send("GET", "/v1/loadbalancers/a/listeners"+x1, ""); strings.TrimSpace(body) != "[]" {
			p.Errorf("listeners of a new load balancer: %s, want a list", body)
		}
		<-time.After(10*time.Second - 1)
		expect("just before it is known", x1, "")
		<-time.After(1)
		expect("once it is known", x1, "a ready")
		p.change("PUT", "/v1/loadbalancers/a", `{"name":"b","labels":{"x":"2"}}`)
		expect("just changed", x1, "a ready")
		expect("just changed", x2, "")
		expect("just changed", "", "b ready")
		<-time.After(10 * time.Second)
		expect("once the change is known", x1, "")
		expect("once the change is known", x2, "b ready")
		p.change("DELETE", "/v1/loadbalancers/a", "")
		expect("just deleted", x2, "b ready")
		expect("just deleted", "", "")
		<-time.After(10 * time.Second)
		expect("once the deletion is known", x2, "")
	})
}

// An injected fault and lagging filters do not add up.
func TestLabelFiltersLagAndStaleReads(t *testing.T) {
	withPast(t, emulator.Config{Delays: emulator.Delays{LabelFilters: 10 * time.Second}}, func(p past) {
		p.inject(stale(20 * time.Second))
		p.change("POST", "/v1/loadbalancers", `{"name":"a","subnet":"emulator","labels":{"x":"1"}}`)
		for seconds, want := range []string{"", "", "a ready"} {
			if got := p.names("?matchLabels[x]=1"); got != want {
				p.Errorf("after %d0s: %q, want %q", seconds, got, want)
			}
			<-time.After(10 * time.Second)
		}
		p.ClearFaults()
		p.change("DELETE", "/v1/loadbalancers/a", "")
		if got := p.names("?matchLabels[x]=1"); got != "a ready" {
			p.Errorf("without the fault: %q, want the load balancer as it was before its deletion", got)
		}
	})
}

// A machine can be seen for a while after its deletion, as deleted.
func TestDeletedMachinesLinger(t *testing.T) {
	const body = `{"name":"m","subnet":"emulator","machineType":"pgp-small"}`
	adjust := func(cfg *emulator.Config) { cfg.Delays.MachineDelete, cfg.Delays.MachineLinger = minute, minute }
	inVirtualTime(t, adjust, func(e *emulator.Emulator) {
		if err := e.SetQuota("", "machines", 1); err != nil {
			t.Fatal(err)
		}
		play(t, e, []step{
			{request: "POST /v1/machines", body: body, status: 201},
			{request: "POST /v1/loadbalancer-target-groups", body: groupNamed("g"), status: 201},
			{request: "DELETE /v1/machines/m", status: 204},
			{request: "GET /v1/machines/m", status: 200, has: []string{`"state":"deleting"`, `"status":"deleting"`}},
			{wait: minute, request: "GET /v1/machines/m", status: 200,
				has: []string{`"state":"deleted"`, `"status":"deleted"`}},
			{request: "GET /v1/machines?status=deleted", status: 200, has: []string{`"name":"m"`}},
			{request: "DELETE /v1/machines/m", status: 204},
			{request: "PUT /v1/machines/m", body: `{"name":"m"}`, status: 409},
			{wait: minute - 1, request: "GET /v1/machines", status: 200, has: []string{`"name":"m"`}},
			{wait: 1, request: "GET /v1/machines", status: 200, has: []string{`!"name":"m"`}},
			{request: "GET /v1/machines/m", status: 404},
			{request: "POST /v1/machines", body: body, status: 201},
		})
	})
}

// What is only still listed as deleted keeps no name, counts for no quota, and keeps no project from being deleted.
func TestDeletedObjectsBlockNothing(t *testing.T) {
	adjust := func(cfg *emulator.Config) {
		cfg.Switches.UniqueNames = true
		d := &cfg.Delays
		d.NetworkLinger, d.LoadbalancerLinger, d.MachineLinger = minute, minute, minute
		d.VolumeLinger, d.SnapshotLinger, d.KubernetesLinger = minute, minute, minute
	}
	all := creations()
	all["subnet"] = creation{"/v1/subnets", `{"name":"same","vpcIdentity":"emulator","cidr":"10.0.128.0/24"}`}
	all["snapshot"] = creation{"/v1/snapshots", `{"name":"same","volumeIdentity":"v"}`}
	all["cluster"] = creation{clusters, clusterNamed("same")}
	volume := replaced(all["volume"].body, "same", "v")
	for kind, most := range map[string]int{"VPC": 2, "subnet": 2, "security group": 1, "reserved IP": 1,
		"NAT gateway": 1, "load balancer": 1, "machine": 1, "volume": 2, "snapshot": 1, "cluster": 1} {
		of := all[kind]
		other := strings.NewReplacer("same", "other", "0.128.", "0.192.").Replace(of.body)
		quota := strings.TrimPrefix(strings.Replace(of.path, "kubernetes/", "kubernetes-", 1), "/v1/")
		t.Run(kind, func(t *testing.T) {
			inVirtualTime(t, adjust, func(e *emulator.Emulator) {
				play(t, e, []step{
					{request: "POST /v1/volumes", body: volume, status: 201},
					{request: "POST " + of.path, body: of.body, status: 201},
					{request: "PUT /_emulator/quotas/" + quota, body: fmt.Sprintf(`{"maxUsage":%d}`, most),
						status: 204},
					{request: "POST " + of.path, body: of.body, status: 409},
					{request: "POST " + of.path, body: other, status: 403},
					{request: "DELETE " + of.path + "/same", status: 204},
					{request: "GET " + of.path + "/same", status: 200, has: []string{`eleted"`}},
					{request: "POST " + of.path, body: of.body, status: 201},
				})
			})
			inVirtualTime(t, adjust, func(e *emulator.Emulator) {
				const in = "?project=p"
				play(t, e, []step{
					{request: "POST /v1/projects", body: `{"name":"p"}`, status: 201},
					{request: "POST /v1/vpcs" + in, body: replaced(all["VPC"].body, "same", "emulator"), status: 201},
					{request: "POST /v1/subnets" + in, body: `{"name":"emulator","vpcIdentity":"emulator",` +
						`"cidr":"10.1.0.0/24"}`, status: 201},
					{request: "POST /v1/volumes" + in, body: volume, status: 201},
					{request: "POST " + of.path + in, body: replaced(of.body, "10.0.", "10.1."), status: 201},
					{request: "DELETE " + of.path + "/same" + in, status: 204},
					{request: "DELETE /v1/volumes/v" + in, status: 204},
					{request: "DELETE /v1/subnets/emulator" + in, status: 204},
					{request: "DELETE /v1/vpcs/emulator" + in, status: 204},
					{request: "GET " + of.path + "/same" + in, status: 200, has: []string{`eleted"`}},
					{request: "DELETE /v1/projects/p", status: 204},
				})
			})
		})
	}
}

// A load balancer is busy with a change for a while, and keeps its address.
func TestLoadBalancersAreUpdating(t *testing.T) {
	const listeners = "/v1/loadbalancers/web/listeners"
	adjust := func(cfg *emulator.Config) {
		cfg.Delays.LoadbalancerCreate, cfg.Delays.LoadbalancerUpdate = minute, minute
		cfg.Delays.LoadbalancerDelete = minute
	}
	inVirtualTime(t, adjust, func(e *emulator.Emulator) {
		play(t, e, []step{
			{request: "POST /v1/loadbalancers", body: `{"name":"web","subnet":"emulator"}`, status: 201},
			{request: "POST /v1/loadbalancer-target-groups", body: groupNamed("g"), status: 201},
		})
		group := identityOf(t, e, "/v1/loadbalancer-target-groups/g")
		port := func(port string) string {
			return `{"name":"l","port":` + port + `,"protocol":"tcp","targetGroup":"` + group + `"}`
		}
		updating, ready := []string{`"status":"updating"`, `"externalIpAddresses":["`},
			[]string{`"status":"ready"`, `"externalIpAddresses":["`}
		look := func(wait time.Duration, has []string) step {
			return step{wait: wait, request: "GET /v1/loadbalancers/web", status: 200, has: has}
		}
		play(t, e, []step{
			{request: "POST " + listeners, body: port("80"), status: 201},
			look(0, []string{`"status":"creating"`, `"externalIpAddresses":[]`}),
			look(minute, ready),
			{request: "PUT " + listeners + "/l", body: port("81"), status: 200}, look(minute-1, updating),
			look(1, ready),
			{request: "PUT /v1/loadbalancers/web", body: `{"name":"web"}`, status: 200, has: updating},
			look(minute-1, updating), look(1, ready),
			{request: "DELETE " + listeners + "/l", status: 204}, look(0, updating),
			{request: "GET /v1/loadbalancers?status=updating", status: 200, has: []string{`"name":"web"`}},
			look(minute, ready),
			{request: "POST " + listeners, body: port("80"), status: 201}, look(0, updating),
			{request: "DELETE /v1/loadbalancers/web", status: 204}, look(0, []string{`"status":"deleting"`}),
		})
	})
}

// A look back shows what there was then: a VPC and its subnet were not ready yet, wherever they are shown.
func TestPastStatusOfNetworks(t *testing.T) {
	withPast(t, emulator.Config{Delays: emulator.Delays{NetworkCreate: 30 * time.Second}}, func(p past) {
		p.inject(stale(time.Minute))
		p.change("POST", "/v1/vpcs", `{"name":"v","cloudRegionIdentity":"nl-01","vpcCidrs":["10.1.0.0/16"]}`)
		p.change("POST", "/v1/subnets", `{"name":"s","vpcIdentity":"v","cidr":"10.1.0.0/24"}`)
		<-time.After(time.Minute)
		for path, want := range map[string]int{
			"/v1/vpcs/v": 2, "/v1/subnets/s": 2, "/v1/vpcs?status=creating": 2, "/v1/subnets?status=creating": 2,
			"/v1/vpcs?name=v&status=ready": 0, "/v1/subnets?name=s&status=ready": 0,
		} {
			if status, body := p.send("GET", path, ""); status != http.StatusOK ||
				strings.Count(body, `"status":"creating"`) != want {
				p.Errorf("%s a minute ago: %d %s, want the VPC and the subnet creating %d times", path, status, body,
					want)
			}
		}
		<-time.After(30 * time.Second)
		if _, body := p.send("GET", "/v1/subnets/s", ""); strings.Count(body, `"status":"ready"`) != 2 {
			p.Errorf("later: %s, want both ready", body)
		}
	})
}
