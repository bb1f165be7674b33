package emulator_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// A subnet without a table of its own shows none, or the default one.
func TestDefaultRouteTables(t *testing.T) {
	for shown, want := range map[bool]string{false: `!"routeTable"`, true: `"isDefault":true`} {
		e := newEmulator(t, withSecondRegion, func(cfg *emulator.Config) { cfg.Switches.DefaultRouteTables = shown })
		const named, table = "/v1/subnets/named", `"associatedRouteTableIdentity":`
		play(t, e, []step{
			{request: "GET /v1/subnets/emulator", status: 200, has: []string{want}},
			{request: "GET /v1/route-tables/default", status: 200, has: []string{emulator.DefaultSubnet}},
			{request: "POST /v1/route-tables", body: `{"name":"pods","vpcIdentity":"emulator"}`, status: 201},
			{request: "POST /v1/subnets", status: 201, has: []string{`"routeTable":{`, `"name":"pods"`},
				body: `{"name":"named","vpcIdentity":"emulator","cidr":"10.0.128.0/24",` + table + `"pods"}`},
			{request: "PUT " + named, body: `{"name":"named"}`, status: 200, has: []string{`"name":"pods"`}},
			{request: "PUT " + named, body: `{"name":"named",` + table + `"default"}`, status: 200,
				has: []string{`"isDefault":true`}},
			{request: "PUT " + named, body: `{"name":"named",` + table + `""}`, status: 200, has: []string{want}},
		})
	}
}

// What a PUT of a target group does to a policy and a selector that it leaves out.
func TestSettledTargetGroupSettings(t *testing.T) {
	const path, rest = "/v1/loadbalancer-target-groups", `{"name":"g","targetPort":80,"protocol":"tcp"`
	kept, cleared := []string{`"RANDOM"`, `"targetSelector":{"a":"b"}`}, []string{"!RANDOM", `"targetSelector":{}`}
	for mode, want := range map[emulator.UpdateMode][]string{"": kept, emulator.Replace: kept, emulator.Merge: kept,
		emulator.ReplaceAll: cleared} {
		e := newEmulator(t, withSwitches(emulator.Switches{Updates: mode}))
		play(t, e, []step{
			{request: "POST " + path, body: rest + `,"vpc":"emulator","loadbalancingPolicy":"RANDOM",` +
				`"targetSelector":{"a":"b"}}`, status: 201, has: kept},
			{request: "PUT " + path + "/g", body: rest + "}", status: 200, has: want},
			{request: "PUT " + path + "/g", body: rest + `,"loadbalancingPolicy":"","targetSelector":{}}`, status: 200,
				has: []string{"!loadbalancingPolicy", `"targetSelector":{}`}},
		})
	}
}

func TestDefaultPolicies(t *testing.T) {
	for shown, want := range map[bool]string{false: "!loadbalancingPolicy", true: `"ROUND_ROBIN"`} {
		e := newEmulator(t, withSwitches(emulator.Switches{DefaultPolicies: shown}))
		play(t, e, []step{{request: "POST /v1/loadbalancer-target-groups", body: groupNamed("g"), status: 201,
			has: []string{want}}})
	}
}

func TestReadyMachines(t *testing.T) {
	for ready, want := range map[bool]string{false: "running", true: "ready"} {
		e := newEmulator(t, withSwitches(emulator.Switches{ReadyMachines: ready}))
		play(t, e, []step{
			{request: "POST /v1/machines", body: `{"name":"m","subnet":"emulator","machineType":"pgp-small",` +
				`"machineImage":"ubuntu-22-04-01"}`, status: 201,
				has: []string{`"state":"running"`, `"status":{"status":"` + want + `"`}},
			{request: "POST /v1/machines/m/stop", status: 204},
			{request: "GET /v1/machines/m", status: 200, has: []string{`"status":{"status":"stopped"`}},
		})
	}
}

// As the vendor's command line sends it.
func TestFilesystemSizeZeroChangesNothing(t *testing.T) {
	play(t, newEmulator(t), []step{
		{request: "POST /v1/tfs", body: `{"name":"f","size":5,"cloudRegionIdentity":"nl-01",` +
			`"vpcIdentity":"emulator","subnetIdentity":"emulator"}`, status: 201},
		{request: "PUT /v1/tfs/f", body: `{"name":"f","size":0}`, status: 200, has: []string{`"size":5`}},
		{request: "PUT /v1/tfs/f", body: `{"name":"f","size":4}`, status: 400},
	})
}

// The address of a NAT gateway can be the gateway of a route, as in the vendor's examples.
func TestRouteByAddressOfNATGateway(t *testing.T) {
	toGateway := way("198.51.100.0/24", "198.18.0.2")
	play(t, newEmulator(t, withSecondRegion), []step{
		{request: "POST " + defaultRoutes, body: toGateway, status: 400, has: []string{"no NAT gateway"}},
		{request: "POST /v1/nat-gateways", body: `{"name":"n","subnetIdentity":"emulator"}`, status: 201,
			has: []string{`"endpointIP":"198.18.0.2"`}},
		{request: "POST /v1/route-tables/rtb-same/routes", body: toGateway, status: 400},
		{request: "POST " + defaultRoutes, body: toGateway, status: 201,
			has: []string{`"gatewayAddress":"198.18.0.2"`}},
	})
}

// What is deleted and only still listed keeps no subnet, security group or VPC from being deleted.
func TestWhatIsDeletedBlocksNothing(t *testing.T) {
	for path, body := range map[string]string{
		"/v1/machines":      `{"name":"a","subnet":"a","machineType":"pgp-small","securityGroupAttachments":["a"]}`,
		"/v1/loadbalancers": `{"name":"a","subnet":"a","securityGroupAttachments":["a"]}`,
		"/v1/nat-gateways":  `{"name":"a","subnetIdentity":"a","securityGroupAttachments":["a"]}`,
	} {
		t.Run(path, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := emulator.Delays{MachineDelete: minute, MachineLinger: 9 * minute, LoadbalancerDelete: minute,
					LoadbalancerLinger: 9 * minute, NetworkDelete: minute, NetworkLinger: 9 * minute}
				e := newEmulator(t, func(cfg *emulator.Config) { cfg.Delays = d })
				play(t, e, []step{
					{request: "POST /v1/vpcs", status: 201,
						body: `{"name":"a","cloudRegionIdentity":"nl-01","vpcCidrs":["10.1.0.0/16"]}`},
					{request: "POST /v1/subnets", body: `{"name":"a","vpcIdentity":"a","cidr":"10.1.0.0/24"}`,
						status: 201},
					{request: "POST /v1/security-groups", body: `{"name":"a","vpcIdentity":"a"}`, status: 201},
					{request: "POST " + path, body: body, status: 201},
					{request: "DELETE " + path + "/a", status: 204},
					{request: "DELETE /v1/subnets/a", status: 409, has: []string{"in use by"}},
					{wait: minute, request: "GET " + path + "/a", status: 200, has: []string{`"deleted"`}},
					{request: "DELETE /v1/subnets/a", status: 204},
					{request: "DELETE /v1/security-groups/a", status: 204},
					{request: "DELETE /v1/vpcs/a", status: 409},
					{wait: minute, request: "GET /v1/subnets/a", status: 200, has: []string{`"status":"deleted"`}},
					{request: "DELETE /v1/vpcs/a", status: 204},
					{request: "GET " + path + "/a", status: 200, has: []string{`"deleted"`}},
					{wait: 10 * minute, request: "GET /v1/vpcs/a", status: 404},
				})
				for _, gone := range []string{path, "/v1/security-groups", "/v1/subnets"} {
					play(t, e, []step{{request: fmt.Sprintf("GET %s/a", gone), status: 404}})
				}
			})
		})
	}
}
