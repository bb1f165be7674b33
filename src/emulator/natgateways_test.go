package emulator_test

import (
	"testing"
	"time"

	"github.com/thalassa-cloud/client-go/iaas"
	vendor "github.com/thalassa-cloud/client-go/pkg/client"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

func TestNATGatewayOfTheOfficialClient(t *testing.T) {
	c := newCloud(t)
	ip, group := c.reservedIP(t, "egress"), c.securityGroup(t, "egress")
	created, err := c.api.CreateNatGateway(t.Context(), iaas.CreateVpcNatGateway{
		Name: "Egress", Labels: iaas.Labels{"a": "b"}, SubnetIdentity: emulator.DefaultSubnet,
		SecurityGroupAttachments: []string{group.Identity}, ConfigureDefaultRoute: true, ReservedIpID: &ip.Identity,
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.api.WaitUntilNatGatewayHasEndpoint(t.Context(), created.Identity)
	if err != nil {
		t.Fatal(err)
	}
	if got.Slug != "egress" || got.Status != "ready" || got.EndpointIP != ip.IPv4Address ||
		got.V4IP != ip.IPv4Address || got.V6IP != "" ||
		got.Vpc.Identity != emulator.DefaultVPC || got.Subnet.Identity != emulator.DefaultSubnet ||
		got.Organisation == nil {
		t.Errorf("NAT gateway %+v, want it ready at %s", got, ip.IPv4Address)
	}
	if got.ReservedIpID != ip.Identity || got.ReservedIp.Identity != ip.Identity ||
		got.SecurityGroups[0].Identity != group.Identity {
		t.Errorf("NAT gateway has reserved IP %+v and groups %+v", got.ReservedIp, got.SecurityGroups)
	}
	attached, err := c.api.GetReservedIP(t.Context(), ip.Identity)
	if err != nil || attached.AttachedToResourceType != iaas.ReservedIpAttachedNatGateway ||
		attached.AttachedToResourceIdentity != got.Identity {
		t.Errorf("reserved IP %+v, %v", attached, err)
	}
	got, err = c.api.UpdateNatGateway(t.Context(), got.Identity, iaas.UpdateVpcNatGateway{Name: "other",
		ReservedIpID: new("")})
	if err != nil || got.Name != "other" || got.ReservedIpID != "" || got.EndpointIP == ip.IPv4Address ||
		got.EndpointIP == "" || len(got.SecurityGroups) != 0 {
		t.Errorf("updated %+v, %v, want an address of its own and no groups", got, err)
	}
	if _, err := c.api.AssociateReservedIP(t.Context(), ip.Identity,
		iaas.AssociateReservedIpRequest{NatGatewayIdentity: &got.Identity}); err != nil {
		t.Error(err)
	}
	if gateways, err := c.api.ListNatGateways(t.Context(), nil); err != nil || len(gateways) != 1 ||
		gateways[0].ReservedIpID != ip.Identity {
		t.Errorf("gateways %+v, %v, want one with the reserved IP", gateways, err)
	}
	if err := c.api.DeleteNatGateway(t.Context(), got.Identity); err != nil {
		t.Fatal(err)
	}
	if err := c.api.WaitUntilNatGatewayDeleted(t.Context(), got.Identity); err != nil {
		t.Error(err)
	}
}

func TestNATGatewayRequests(t *testing.T) {
	const path = "/v1/nat-gateways"
	gateway := func(more string) string { return `{"name":"n","subnetIdentity":"emulator"` + more + `}` }
	tests := map[string][]step{
		"no name": {{request: "POST " + path, body: `{"subnetIdentity":"emulator"}`, status: 400}},
		"no subnet": {{request: "POST " + path, body: `{"name":"n"}`, status: 400,
			has: []string{`field \"subnetIdentity\"`}}},
		"far reserved IP": {{request: "POST " + path, body: gateway(`,"reservedIpId":"far"`), status: 400,
			has: []string{"is in region nl-02"}}, {request: "GET " + path, status: 200, has: []string{"![{"}}},
		"no reserved IP": {{request: "POST " + path, body: gateway(`,"reservedIpId":"x"`), status: 400}},
		"instance size": {{request: "POST " + path, body: gateway(`,"instanceSize":"ng-gp-small"`), status: 201,
			has: []string{`"instanceSize":"ng-gp-small"`}},
			{request: "PUT " + path + "/n", body: `{"name":"n"}`, status: 200, has: []string{"ng-gp-small"}},
			{request: "PUT " + path + "/n", body: `{"name":"n","instanceSize":"ng-gp-medium"}`, status: 200,
				has: []string{"ng-gp-medium"}}},
		"no size": {{request: "POST " + path, body: gateway(""), status: 201, has: []string{"!instanceSize"}}},
		"filters": {
			{request: "POST " + path, body: gateway(`,"labels":{"a":"b"}`), status: 201},
			{request: "POST " + path, body: `{"name":"far","subnetIdentity":"far","reservedIpId":"far"}`, status: 201,
				has: []string{`"endpointIP":"203.0.113.2"`}},
			{request: "GET " + path + "?vpc=emulator", status: 200,
				has: []string{`"name":"n"`, `!"name":"far","slug":"far","description":"","createdAt"`}},
			{request: "GET " + path + "?subnet=far&region=nl-02&reservedIp=far&status=ready", status: 200,
				has: []string{`!"name":"n"`, "203.0.113.2"}},
			{request: "GET " + path + "?matchLabels[a]=b", status: 200, has: []string{`"name":"n"`, "!203.0.113.2"}},
		},
		"a refused update leaves nothing": {
			{request: "POST " + path, body: gateway(""), status: 201},
			{request: "POST /v1/reserved-ips", body: `{"name":"i","region":"nl-01"}`, status: 201},
			{request: "PUT " + path + "/n", body: `{"name":"n","reservedIpId":"i","securityGroupAttachments":["x"]}`,
				status: 400},
			{request: "PUT " + path + "/n", body: `{"reservedIpId":"i"}`, status: 400},
			{request: "PUT " + path + "/n", body: `{"name":"n","reservedIpId":"far"}`, status: 400},
			{request: "GET /v1/reserved-ips/i", status: 200, has: []string{`"status":"available"`}},
		},
		"default route": {
			{request: "POST " + path, body: gateway(`,"configureDefaultRoute":true`), status: 201},
			{request: "GET /v1/route-tables?vpc=emulator", status: 200,
				has: []string{`"destinationCidrBlock":"0.0.0.0/0"`, `"type":"natGateway"`, `"isDefault":true`}},
			{request: "POST " + path, body: `{"name":"m","subnetIdentity":"emulator","configureDefaultRoute":true}`,
				status: 409, has: []string{"has a default route already"}},
			{request: "DELETE " + path + "/n", status: 204},
			{request: "GET /v1/route-tables?vpc=emulator", status: 200, has: []string{"!0.0.0.0/0"}},
			{request: "POST " + path, body: `{"name":"m","subnetIdentity":"emulator","configureDefaultRoute":true}`,
				status: 201},
		},
		"other routes": {
			{request: "POST " + path, body: gateway(`,"configureDefaultRoute":true`), status: 201},
			{request: "POST /v1/route-tables", body: `{"name":"r","vpcIdentity":"emulator"}`, status: 201},
			{request: "PUT /v1/route-tables/r/routes",
				body:   `{"routes":[{"destinationCidrBlock":"192.0.2.0/24","targetNatGatewayIdentity":"n"}]}`,
				status: 200},
			{request: "DELETE " + path + "/n", status: 409, has: []string{"is the target of 192.0.2.0/24",
				"delete those routes first"}},
			{request: "GET /v1/route-tables?vpc=emulator", status: 200, has: []string{"0.0.0.0/0"}},
			{request: "DELETE /v1/route-tables/r", status: 204},
			{request: "DELETE " + path + "/n", status: 204},
		},
		"the default route was deleted": {
			{request: "POST " + path, body: gateway(`,"configureDefaultRoute":true`), status: 201},
			{request: "PUT /v1/route-tables/default/routes", body: `{"routes":[]}`, status: 200},
			{request: "DELETE " + path + "/n", status: 204},
		},
		"unknown": {
			{request: "GET " + path + "/x", status: 404, has: []string{`NAT gateway \"x\" not found`}},
			{request: "PUT " + path + "/x", body: `{}`, status: 404},
			{request: "DELETE " + path + "/x", status: 404},
		},
	}
	for name, steps := range tests {
		t.Run(name, func(t *testing.T) {
			e := newEmulator(t, withSecondRegion, func(cfg *emulator.Config) {
				cfg.Seed.Organisations[0].ReservedIPs = []emulator.ReservedIPSeed{{Identity: "rip-far", Name: "far",
					Region: "nl-02"}}
			})
			play(t, e, steps)
		})
	}
}

func TestNATGatewayLifeCycle(t *testing.T) {
	const path = "/v1/nat-gateways"
	inVirtualTime(t, func(cfg *emulator.Config) {
		cfg.Delays = emulator.Delays{NATGatewayCreate: 30 * time.Second, NetworkDelete: minute, NetworkLinger: minute}
	}, func(e *emulator.Emulator) {
		play(t, e, []step{
			{request: "POST " + path, body: `{"name":"n","subnetIdentity":"emulator"}`, status: 201,
				has: []string{`"status":"creating"`, `"endpointIP":""`}},
			{wait: 29 * time.Second, request: "GET " + path + "/n", status: 200, has: []string{`"endpointIP":""`}},
			{wait: time.Second, request: "GET " + path + "/n", status: 200,
				has: []string{`"status":"ready"`, `"endpointIP":"198.18.0.2"`, `"v4IP":"198.18.0.2"`}},
			{request: "DELETE " + path + "/n", status: 204},
			{request: "DELETE " + path + "/n", status: 204},
			{request: "PUT " + path + "/n", body: `{"name":"n"}`, status: 409},
			{request: "POST /v1/route-tables/default/routes",
				body: `{"destinationCidrBlock":"0.0.0.0/0","targetNatGatewayIdentity":"n"}`, status: 409,
				has: []string{"is being deleted"}},
			{request: "GET " + path + "/n", status: 200, has: []string{`"status":"deleting"`}},
			{request: "DELETE /v1/subnets/emulator", status: 409},
			{wait: minute, request: "GET " + path + "/n", status: 200, has: []string{`"status":"deleted"`}},
			{wait: minute, request: "GET " + path + "/n", status: 404},
			{request: "DELETE /v1/subnets/emulator", status: 204},
		})
	})
}

func TestNATGatewayGivesItsAddressBack(t *testing.T) {
	e := newEmulator(t, func(cfg *emulator.Config) { cfg.Seed.Regions[0].PublicAddresses = prefixes("203.0.113.0/30") })
	const path, body = "/v1/nat-gateways", `{"name":"n","subnetIdentity":"emulator"}`
	play(t, e, []step{
		{request: "POST " + path, body: body, status: 201},
		{request: "POST " + path, body: body, status: 409, has: []string{"no free address left"}},
		{request: "DELETE " + path + "/n", status: 204},
		{request: "POST " + path, body: body, status: 201},
	})
}

func TestNATGatewayWithIPv6(t *testing.T) {
	e := newEmulator(t, func(cfg *emulator.Config) { cfg.Seed.Regions[0].PublicAddresses = prefixes("fd01::/64") })
	play(t, e, []step{
		{request: "POST /v1/nat-gateways", body: `{"name":"n","subnetIdentity":"emulator"}`, status: 201,
			has: []string{`"endpointIP":"fd01::2"`, `"v4IP":""`, `"v6IP":"fd01::2"`}},
	})
}

func TestNATGatewaysOfOthersAreOutOfReach(t *testing.T) {
	c := newCloud(t, withForeign)
	n, err := c.api.CreateNatGateway(t.Context(), iaas.CreateVpcNatGateway{Name: "n",
		SubnetIdentity: emulator.DefaultSubnet})
	if err != nil {
		t.Fatal(err)
	}
	foreign := c.client(t, vendor.WithOrganisation("other"), vendor.WithAuthPersonalToken("other-token"))
	if _, err := foreign.GetNatGateway(t.Context(), n.Identity); !vendor.IsNotFound(err) {
		t.Errorf("reading: %v, want not found", err)
	}
	if _, err := foreign.CreateNatGateway(t.Context(), iaas.CreateVpcNatGateway{Name: "n",
		SubnetIdentity: emulator.DefaultSubnet}); !vendor.IsBadRequest(err) {
		t.Errorf("creating in another organisation's subnet: %v, want bad request", err)
	}
}
