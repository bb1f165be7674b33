package emulator_test

import (
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// What lives in a VPC or subnet keeps it, whichever kind it is.
func TestWhatIsInUseStays(t *testing.T) {
	const tfs = `{"name":"fs","cloudRegionIdentity":"nl-01","vpcIdentity":"emulator","subnetIdentity":"emulator","size":10`
	tests := map[string][]step{
		"subnet of a file system": {
			{request: "POST /v1/tfs", body: tfs + "}", status: 201},
			{request: "DELETE /v1/subnets/emulator", status: 409, has: []string{"in use by TFS instance"}},
			{request: "DELETE /v1/tfs/fs", status: 204},
			{request: "DELETE /v1/subnets/emulator", status: 204},
		},
		"security group of a file system": {
			{request: "POST /v1/security-groups", body: `{"name":"g","vpcIdentity":"emulator"}`, status: 201},
			{request: "POST /v1/tfs", body: tfs + `,"securityGroupAttachments":["sg-far"]}`, status: 400,
				has: []string{"is in another VPC"}},
			{request: "POST /v1/tfs", body: tfs + `,"securityGroupAttachments":["g"]}`, status: 201,
				has: []string{`"securityGroups":[{`}},
			{request: "DELETE /v1/security-groups/g", status: 409, has: []string{"in use by TFS instance"}},
			{request: "PUT /v1/tfs/fs", body: `{"name":"fs","securityGroupAttachments":["g"]}`, status: 200},
			{request: "DELETE /v1/security-groups/g", status: 409},
			{request: "PUT /v1/tfs/fs", body: `{"name":"fs"}`, status: 200, has: []string{"!securityGroups"}},
			{request: "PUT /v1/tfs/fs", body: `{"name":"fs","securityGroupAttachments":["g"]}`, status: 200},
			{request: "DELETE /v1/tfs/fs", status: 204},
			{request: "DELETE /v1/security-groups/g", status: 204},
		},
		"subnet of a firewall rule": {
			{request: "POST /v1/vpc-firewall-rules/emulator",
				body: `{"name":"r","protocols":{"any":true},"direction":"inbound","action":"allow","state":"active",` +
					`"priority":10,"sourceSubnetIdentity":"` + emulator.DefaultSubnet + `"}`, status: 201},
			{request: "DELETE /v1/subnets/emulator", status: 409, has: []string{"in use by VPC firewall rule"}},
		},
		"VPCs of a peering connection": {
			{request: "POST /v1/vpcs", body: `{"name":"a","cloudRegionIdentity":"nl-01","vpcCidrs":["10.1.0.0/16"]}`,
				status: 201},
			{request: "POST /v1/vpc-peering-connections",
				body: `{"name":"p","requesterVpcIdentity":"emulator","accepterVpcIdentity":"a"}`, status: 201},
			{request: "DELETE /v1/vpcs/a", status: 409, has: []string{"in use by VPC peering connection"}},
			{request: "DELETE /v1/vpc-peering-connections/p", status: 204},
			{request: "DELETE /v1/vpcs/a", status: 204},
		},
		"peering connection of a route": {
			{request: "POST /v1/vpcs", body: `{"name":"a","cloudRegionIdentity":"nl-01","vpcCidrs":["10.1.0.0/16"]}`,
				status: 201},
			{request: "POST /v1/vpc-peering-connections",
				body: `{"name":"p","requesterVpcIdentity":"emulator","accepterVpcIdentity":"a"}`, status: 201},
			{request: "POST /v1/route-tables/default/routes",
				body: `{"destinationCidrBlock":"10.1.0.0/16","targetVpcPeeringConnectionId":"p"}`, status: 409,
				has: []string{"is pending, not active"}},
			{request: "POST /v1/vpc-peering-connections/p/accept", status: 200},
			{request: "POST /v1/route-tables/rtb-far/routes",
				body: `{"destinationCidrBlock":"10.1.0.0/16","targetVpcPeeringConnectionId":"p"}`, status: 400,
				has: []string{`not found in VPC \"vpc-far\"`}},
			{request: "POST /v1/route-tables/default/routes",
				body: `{"destinationCidrBlock":"10.1.0.0/16","targetVpcPeeringConnectionId":"p"}`, status: 201,
				has: []string{`"targetVpcPeeringConnectionId":"vpcpc-`, `"type":"vpcPeering"`}},
			{request: "DELETE /v1/vpc-peering-connections/p", status: 409,
				has: []string{"is the target of 10.1.0.0/16"}},
			{request: "PUT /v1/route-tables/default/routes", body: `{"routes":[]}`, status: 200},
			{request: "DELETE /v1/vpc-peering-connections/p", status: 204},
		},
	}
	for name, steps := range tests {
		t.Run(name, func(t *testing.T) { play(t, newEmulator(t, withSecondRegion), steps) })
	}
}

// Every kind of network object has a quota.
func TestNetworkQuotas(t *testing.T) {
	quotas := map[string]string{
		"VPC": "vpcs", "route table": "route-tables", "security group": "security-groups",
		"reserved IP": "reserved-ips",
		"NAT gateway": "nat-gateways", "subnet": "subnets",
	}
	bodies := creations()
	bodies["subnet"] = creation{"/v1/subnets", `{"name":"same","vpcIdentity":"emulator","cidr":"10.0.128.0/24"}`}
	for kind, quota := range quotas {
		t.Run(kind, func(t *testing.T) {
			of := bodies[kind]
			e := newEmulator(t)
			play(t, e, []step{
				{request: "PUT /_emulator/quotas/" + quota, body: `{"maxUsage":0}`, status: 204},
				{request: "POST " + of.path, body: of.body, status: 403,
					has: []string{`quota \"` + quota + `\"`, "is used up"}},
				{request: "PUT /_emulator/quotas/" + quota, body: `{"maxUsage":2}`, status: 204},
				{request: "POST " + of.path, body: of.body, status: 201},
			})
		})
	}
}

// A project has networks of its own, and nothing reaches across.
func TestNetworksOfProjects(t *testing.T) {
	e := newEmulator(t, func(cfg *emulator.Config) {
		cfg.Seed.Organisations[0].Projects = []emulator.ProjectSeed{{
			Identity: "prj-1", Name: "shop", ReservedIPs: []emulator.ReservedIPSeed{{Identity: "rip-shop", Name: "shop",
				Region: "nl-01"}},
			VPCs: []emulator.VPCSeed{{Identity: "vpc-shop", Name: "shop", Region: "nl-01",
				CIDRs: prefixes("10.8.0.0/16"),
				Subnets: []emulator.SubnetSeed{{Identity: "subnet-shop", Name: "shop",
					CIDRs: prefixes("10.8.0.0/24")}}}},
		}}
	})
	const in = "?project=shop"
	play(t, e, []step{
		{request: "GET /v1/reserved-ips", status: 200, has: []string{"!rip-shop"}},
		{request: "GET /v1/reserved-ips" + in, status: 200, has: []string{"rip-shop"}},
		{request: "POST /v1/loadbalancers", body: `{"name":"a","subnet":"emulator","reservedIpId":"rip-shop"}`,
			status: 400},
		{request: "POST /v1/loadbalancers" + in, body: `{"name":"a","subnet":"shop","reservedIpId":"rip-shop"}`,
			status: 201},
		{request: "POST /v1/security-groups" + in, body: `{"name":"a","vpcIdentity":"vpc-shop"}`, status: 201},
		{request: "POST /v1/security-groups" + in, body: `{"name":"a","vpcIdentity":"` + emulator.DefaultVPC + `"}`,
			status: 400},
		{request: "GET /v1/route-tables" + in, status: 200, has: []string{"subnet-shop", "!" + emulator.DefaultSubnet}},
		{request: "DELETE /v1/projects/shop", status: 400},
		{request: "GET /_emulator/state", status: 200, has: []string{"rip-shop"}},
	})
}
