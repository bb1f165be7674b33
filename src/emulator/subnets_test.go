package emulator_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/thalassa-cloud/client-go/iaas"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

func TestSubnetOfTheOfficialClient(t *testing.T) {
	c := newCloud(t)
	if _, err := c.api.UpdateVpc(t.Context(), emulator.DefaultVPC, iaas.UpdateVpc{Name: "emulator",
		VpcCidrs: []string{"10.0.0.0/16", "fd00:1::/48"}}); err != nil {
		t.Fatal(err)
	}
	created, err := c.api.CreateSubnet(t.Context(), iaas.CreateSubnet{
		Name: "dual", Labels: iaas.Labels{"a": "b"}, VpcIdentity: emulator.DefaultVPC,
		Cidr: "10.0.128.0/28,fd00:1::/64",
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.AddMachine(emulator.MachineSpec{Name: "one", Subnet: "dual"}); err != nil {
		t.Fatal(err)
	}
	got, err := c.api.GetSubnet(t.Context(), "dual")
	if err != nil {
		t.Fatal(err)
	}
	want := &iaas.Subnet{
		Identity: created.Identity, Name: "dual", Slug: "dual", ObjectVersion: 1, Labels: iaas.Labels{"a": "b"},
		Type: iaas.SubnetTypeDual, VpcIdentity: emulator.DefaultVPC, Cidr: "10.0.128.0/28,fd00:1::/64",
		Status:     iaas.SubnetStatusReady,
		V4usingIPs: 1, V4availableIPs: 12, V6usingIPs: 1, V6availableIPs: 1<<30 - 3,
	}
	ignore := cmpopts.IgnoreFields(iaas.Subnet{}, "CreatedAt", "UpdatedAt", "Vpc", "RouteTable", "Annotations")
	if diff := cmp.Diff(want, got, ignore); diff != "" {
		t.Errorf("subnet (-want +got):\n%s", diff)
	}
	if got.Vpc.Identity != emulator.DefaultVPC || got.RouteTable != nil {
		t.Errorf("subnet is in %+v with table %+v", got.Vpc, got.RouteTable)
	}
	if err := c.DeleteMachine("one"); err != nil {
		t.Fatal(err)
	}
	if err := c.api.DeleteSubnet(t.Context(), got.Identity); err != nil {
		t.Fatal(err)
	}
	if err := c.api.WaitUntilSubnetDeleted(t.Context(), got.Identity); err != nil {
		t.Error(err)
	}
	if v, err := c.api.GetVpc(t.Context(), emulator.DefaultVPC); err != nil || len(v.Subnets) != 1 {
		t.Errorf("VPC has subnets %+v, %v, want the default one", v.Subnets, err)
	}
}

func TestSubnetTypes(t *testing.T) {
	for cidr, want := range map[string]string{
		"10.1.1.0/24": "IPv4", "fd00:1::/64": "IPv6", "10.1.1.0/24,fd00:1::/64": "Dual",
		"fd00:1::/64,10.1.1.0/24": "Dual",
	} {
		play(t, newEmulator(t), []step{
			{request: "POST /v1/vpcs",
				body:   `{"name":"a","cloudRegionIdentity":"nl-01","vpcCidrs":["10.1.0.0/16","fd00:1::/48"]}`,
				status: 201},
			{request: "POST /v1/subnets", body: `{"name":"a","vpcIdentity":"a","cidr":"` + cidr + `"}`, status: 201,
				has: []string{`"type":"` + want + `"`, `"cidr":"` + cidr + `"`}},
		})
	}
}

func TestSubnetRequests(t *testing.T) {
	const subnets = "/v1/subnets"
	cidr := func(text string) string { return `{"name":"a","vpcIdentity":"emulator","cidr":"` + text + `"}` }
	tests := map[string][]step{
		"no name": {{request: "POST " + subnets, body: `{"vpcIdentity":"emulator","cidr":"10.0.128.0/24"}`,
			status: 400, has: []string{`field \"name\"`}}},
		"unknown VPC": {{request: "POST " + subnets, body: `{"name":"a","vpcIdentity":"x","cidr":"10.0.128.0/24"}`,
			status: 400, has: []string{`field \"vpcIdentity\": VPC \"x\" not found`}}},
		"no CIDR": {{request: "POST " + subnets, body: cidr(""), status: 400,
			has: []string{"is not a CIDR"}}},
		"host bits": {{request: "POST " + subnets, body: cidr("10.0.128.1/24"), status: 400,
			has: []string{"it should be 10.0.128.0/24"}}},
		"outside the VPC": {{request: "POST " + subnets, body: cidr("10.1.0.0/24"), status: 400,
			has: []string{"10.1.0.0/24 is outside VPC"}}},
		"larger than it": {{request: "POST " + subnets, body: cidr("10.0.0.0/15"), status: 400,
			has: []string{"is outside VPC"}}},
		"too small": {{request: "POST " + subnets, body: cidr("10.0.128.0/31"), status: 400,
			has: []string{"too small"}}},
		"overlap": {{request: "POST " + subnets, body: cidr("10.0.1.0/24"), status: 409,
			has: []string{"overlaps 10.0.0.0/17 of subnet", emulator.DefaultSubnet}}},
		"two of one family": {{request: "POST " + subnets, body: cidr("10.0.128.0/24,10.0.129.0/24"), status: 400,
			has: []string{"one of each address family"}}},
		"three": {{request: "POST " + subnets, body: cidr("10.0.128.0/24,fd00::/64,fd00:1::/64"),
			status: 400, has: []string{"one of each address family"}}},
		"unknown table": {{request: "POST " + subnets,
			body:   `{"name":"a","vpcIdentity":"emulator","cidr":"10.0.128.0/24","associatedRouteTableIdentity":"x"}`,
			status: 400, has: []string{`route table \"x\" not found`}}},
		"table elsewhere": {{request: "POST " + subnets, body: `{"name":"a","vpcIdentity":"emulator","cidr":"10.0.128.0/24","associatedRouteTableIdentity":"rtb-same"}`,
			status: 400, has: []string{`is in another VPC than the subnet`}}},
		"the range of a deleted one": {
			{request: "POST " + subnets, body: cidr("10.0.128.0/24"), status: 201},
			{request: "DELETE " + subnets + "/a", status: 204},
			{request: "POST " + subnets, body: cidr("10.0.128.0/24"), status: 201},
		},
		"its range does not change": {
			{request: "PUT " + subnets + "/emulator", body: `{"name":"b","cidr":"10.0.128.0/24","labels":{"x":"y"}}`,
				status: 200,
				has:    []string{`"name":"b"`, `"cidr":"10.0.0.0/17"`, `"x":"y"`, `"objectVersion":2`}},
		},
		"with a machine": {
			{request: "POST /v1/machines", body: `{"name":"m","subnet":"emulator","machineType":"pgp-small"}`,
				status: 201},
			{request: "DELETE " + subnets + "/emulator", status: 409, has: []string{"in use by machine"}},
			{request: "DELETE /v1/machines/m", status: 204},
			{request: "DELETE " + subnets + "/emulator", status: 204},
		},
		"with a load balancer": {
			{request: "POST /v1/loadbalancers", body: `{"name":"l","subnet":"emulator"}`, status: 201},
			{request: "DELETE " + subnets + "/emulator", status: 409, has: []string{"in use by load balancer"}},
			{request: "DELETE /v1/loadbalancers/l", status: 204},
			{request: "DELETE " + subnets + "/emulator", status: 204},
		},
		"with a NAT gateway": {
			{request: "POST /v1/nat-gateways", body: `{"name":"n","subnetIdentity":"emulator"}`, status: 201},
			{request: "DELETE " + subnets + "/emulator", status: 409, has: []string{"in use by NAT gateway"}},
			{request: "DELETE /v1/nat-gateways/n", status: 204},
			{request: "DELETE " + subnets + "/emulator", status: 204},
		},
		"after all moved out": {
			{request: "POST " + subnets, body: cidr("10.0.128.0/24"), status: 201},
			{request: "POST /v1/machines", body: `{"name":"m","subnet":"emulator","machineType":"pgp-small"}`,
				status: 201},
			{request: "POST /v1/loadbalancers", body: `{"name":"l","subnet":"emulator"}`, status: 201},
			{request: "PUT /v1/machines/m", body: `{"name":"m","subnet":"a"}`, status: 200},
			{request: "PUT /v1/loadbalancers/l", body: `{"name":"l","subnet":"a"}`, status: 200},
			{request: "DELETE " + subnets + "/emulator", status: 204},
			{request: "DELETE " + subnets + "/a", status: 409},
		},
		"unknown": {
			{request: "PUT " + subnets + "/x", body: `{}`, status: 404},
			{request: "DELETE " + subnets + "/x", status: 404, has: []string{`subnet \"x\" not found`}},
		},
	}
	for name, steps := range tests {
		t.Run(name, func(t *testing.T) { play(t, newEmulator(t, withSecondRegion), steps) })
	}
}
