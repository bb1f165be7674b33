package emulator_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thalassa-cloud/client-go/filters"
	"github.com/thalassa-cloud/client-go/iaas"
	vendor "github.com/thalassa-cloud/client-go/pkg/client"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

func (c *cloud) routeTable(t *testing.T, name string) *iaas.RouteTable {
	t.Helper()
	table, err := c.api.CreateRouteTable(t.Context(), iaas.CreateRouteTable{Name: name,
		VpcIdentity: emulator.DefaultVPC})
	if err != nil {
		t.Fatalf("CreateRouteTable: %v", err)
	}
	return table
}

func TestRouteTableOfTheOfficialClient(t *testing.T) {
	c := newCloud(t)
	tables, err := c.api.ListRouteTables(t.Context(), &iaas.ListRouteTablesRequest{Filters: []filters.Filter{
		&filters.FilterKeyValue{Key: filters.FilterVpcIdentity, Value: emulator.DefaultVPC},
	}})
	if err != nil || len(tables) != 1 || !tables[0].IsDefault ||
		tables[0].AssociatedSubnets[0].Identity != emulator.DefaultSubnet {
		t.Fatalf("route tables %+v, %v, want the default one with the default subnet", tables, err)
	}
	created, err := c.api.CreateRouteTable(t.Context(), iaas.CreateRouteTable{
		Name: "Pods", Description: new("d"), Labels: iaas.Labels{"a": "b"}, VpcIdentity: emulator.DefaultVPC,
	})
	if err != nil {
		t.Fatal(err)
	}
	// A subnet is in exactly one table: it leaves the one when it joins the other.
	for _, table := range []string{created.Identity, "", "pods"} {
		if _, err := c.api.UpdateSubnet(t.Context(), emulator.DefaultSubnet, iaas.UpdateSubnet{Name: "emulator",
			AssociatedRouteTableIdentity: &table}); err != nil {
			t.Fatal(err)
		}
		got, err := c.api.GetRouteTable(t.Context(), created.Identity)
		if err != nil || (len(got.AssociatedSubnets) == 1) != (table != "") {
			t.Errorf("after joining %q: %+v, %v", table, got.AssociatedSubnets, err)
		}
		first, err := c.api.GetRouteTable(t.Context(), tables[0].Identity)
		if err != nil || (len(first.AssociatedSubnets) == 1) != (table == "") {
			t.Errorf("after joining %q the default table has %+v, %v", table, first.AssociatedSubnets, err)
		}
	}
	if s, err := c.api.UpdateSubnet(t.Context(), emulator.DefaultSubnet,
		iaas.UpdateSubnet{Name: "emulator"}); err != nil || s.RouteTable.Identity != created.Identity {
		t.Errorf("an update that names no table moved the subnet: %+v, %v", s, err)
	}
	got, err := c.api.UpdateRouteTable(t.Context(), created.Identity, iaas.UpdateRouteTable{Description: new("e")})
	if err != nil || got.Name != "Pods" || *got.Description != "e" || len(got.Labels) != 0 ||
		got.Vpc.Identity != emulator.DefaultVPC || got.ObjectVersion != 2 || got.IsDefault {
		t.Errorf("updated %+v, %v", got, err)
	}
}

func TestRouteTableRequests(t *testing.T) {
	const tables = "/v1/route-tables"
	tests := map[string][]step{
		"no name": {{request: "POST " + tables, body: `{"vpcIdentity":"emulator"}`, status: 400}},
		"unknown VPC": {{request: "POST " + tables, body: `{"name":"a"}`, status: 400,
			has: []string{`field \"vpcIdentity\"`}}},
		"default": {
			{request: "DELETE " + tables + "/default", status: 409, has: []string{"is the default of VPC",
				"goes with it"}},
			{request: "PUT " + tables + "/default", body: `{"name":"renamed"}`, status: 200,
				has: []string{`"isDefault":true`}},
		},
		"with a subnet": {
			{request: "POST " + tables, body: `{"name":"a","vpcIdentity":"emulator"}`, status: 201},
			{request: "POST /v1/subnets", status: 201,
				body: `{"name":"s","vpcIdentity":"emulator","cidr":"10.0.128.0/24","associatedRouteTableIdentity":"a"}`,
				has:  []string{`"slug":"a"`}},
			{request: "DELETE " + tables + "/a", status: 409, has: []string{"is in use by subnet"}},
			{request: "PUT /v1/subnets/s", body: `{"name":"s","associatedRouteTableIdentity":"rtb-same"}`, status: 400},
			{request: "PUT /v1/subnets/s", body: `{"name":"s","associatedRouteTableIdentity":"x"}`, status: 400},
			{request: "DELETE /v1/subnets/s", status: 204},
			{request: "DELETE " + tables + "/a", status: 204},
		},
		"unknown": {
			{request: "GET " + tables + "/x", status: 404, has: []string{`route table \"x\" not found`}},
			{request: "PUT " + tables + "/x", body: `{}`, status: 404},
			{request: "DELETE " + tables + "/x", status: 404},
			{request: "GET " + tables + "/x/routes", status: 404},
			{request: "POST " + tables + "/x/routes", body: `{}`, status: 404},
			{request: "PUT " + tables + "/x/routes", body: `{}`, status: 404},
			{request: "GET " + tables + "/x/routes/y", status: 404},
			{request: "PUT " + tables + "/default/routes/y", body: `{}`, status: 404,
				has: []string{`route \"y\" not found`}},
			{request: "DELETE " + tables + "/default/routes/y", status: 404},
			{request: "GET " + tables + "/default/routes/y", status: 404},
		},
	}
	for name, steps := range tests {
		t.Run(name, func(t *testing.T) { play(t, newEmulator(t, withSecondRegion), steps) })
	}
}

func TestRoutesOfTheOfficialClient(t *testing.T) {
	c := newCloud(t)
	table := c.routeTable(t, "pods")
	one, err := c.api.CreateRouteTableRoute(t.Context(), table.Identity,
		iaas.CreateRouteTableRoute{DestinationCidrBlock: "10.244.0.0/24", GatewayAddress: "10.0.0.5"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.api.GetRouteTableRoute(t.Context(), table.Identity, one.Identity)
	if err != nil || got.DestinationCidrBlock != "10.244.0.0/24" || *got.GatewayAddress != "10.0.0.5" ||
		got.Type == "" || got.RouteTable.Identity != table.Identity {
		t.Errorf("route %+v, %v", got, err)
	}
	if got, err = c.api.UpdateRouteTableRoute(t.Context(), table.Identity, one.Identity,
		iaas.UpdateRouteTableRoute{DestinationCidrBlock: "10.244.0.0/24", GatewayAddress: "10.0.0.6"}); err != nil ||
		got.Identity != one.Identity || *got.GatewayAddress != "10.0.0.6" {
		t.Errorf("updated %+v, %v", got, err)
	}
	n, err := c.api.CreateNatGateway(t.Context(), iaas.CreateVpcNatGateway{Name: "n",
		SubnetIdentity: emulator.DefaultSubnet})
	if err != nil {
		t.Fatal(err)
	}
	all, err := c.api.UpdateRouteTableRoutes(t.Context(), table.Identity,
		iaas.UpdateRouteTableRoutes{Routes: []iaas.UpdateRouteTableRoute{
			{DestinationCidrBlock: "0.0.0.0/0", TargetNatGatewayIdentity: n.Identity},
			{DestinationCidrBlock: "10.244.0.0/24", GatewayAddress: "10.0.0.7"},
		}})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 2 || *all[0].TargetNatGatewayIdentity != n.Identity ||
		all[0].TargetNatGateway.EndpointIP != n.EndpointIP || all[1].Identity != one.Identity ||
		*all[1].GatewayAddress != "10.0.0.7" {
		t.Errorf("replaced %+v, want two, the second with identity %s", all, one.Identity)
	}
	full, err := c.api.GetRouteTable(t.Context(), table.Identity)
	if err != nil || !cmp.Equal(full.Routes, all) || full.ObjectVersion != 4 {
		t.Errorf("table %+v, %v, want the two routes and version 4", full, err)
	}
	for _, route := range all {
		if err := c.api.DeleteRouteTableRoute(t.Context(), table.Identity, route.Identity); err != nil {
			t.Error(err)
		}
	}
	if _, err := c.api.GetRouteTableRoute(t.Context(), table.Identity, one.Identity); !vendor.IsNotFound(err) {
		t.Errorf("reading a deleted route: %v, want not found", err)
	}
	if err := c.api.DeleteNatGateway(t.Context(), n.Identity); err != nil {
		t.Error(err)
	}
	if err := c.api.DeleteRouteTable(t.Context(), table.Identity); err != nil {
		t.Error(err)
	}
}

func TestRouteRequests(t *testing.T) {
	const routes = "/v1/route-tables/default/routes"
	to := func(destination, target string) string {
		return `{"destinationCidrBlock":"` + destination + `",` + target + `}`
	}
	const via = `"gatewayAddress":"10.0.0.5"`
	tests := map[string]struct {
		body   string
		status int
		want   string
	}{
		"good":            {to("10.244.0.0/24", via), 201, `"type":"gatewayAddress"`},
		"no destination":  {`{` + via + `}`, 400, `field \"destinationCidrBlock\": \"\" is not a CIDR`},
		"host bits":       {to("10.244.0.1/24", via), 400, "it should be 10.244.0.0/24"},
		"no target":       {`{"destinationCidrBlock":"10.244.0.0/24"}`, 400, "exactly one of targetGatewayIdentity"},
		"two targets":     {to("10.244.0.0/24", via+`,"targetNatGatewayIdentity":"n"`), 400, "not 2"},
		"no address":      {to("10.244.0.0/24", `"gatewayAddress":"10.0.0"`), 400, "is not an IP address"},
		"outside the VPC": {to("10.244.0.0/24", `"gatewayAddress":"10.1.0.5"`), 400, "10.1.0.5 is outside VPC"},
		"other family":    {to("fd00::/64", via), 400, "different address families"},
		"no NAT gateway":  {to("0.0.0.0/0", `"targetNatGatewayIdentity":"x"`), 400, `NAT gateway \"x\" not found`},
		"NAT elsewhere": {to("0.0.0.0/0", `"targetNatGatewayIdentity":"far"`), 400,
			"in another VPC than the route table"},
		"no gateway": {to("0.0.0.0/0", `"targetGatewayIdentity":"x"`), 400, `gateway \"x\" not found`},
		"no peering": {to("0.0.0.0/0", `"targetVpcPeeringConnectionId":"x"`), 400,
			`VPC peering connection \"x\" not found`},
		"taken":         {to("10.100.0.0/24", via), 409, "has a route to 10.100.0.0/24 already"},
		"more specific": {to("10.100.0.0/25", via), 201, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			e := newEmulator(t, withSecondRegion, func(cfg *emulator.Config) {
				cfg.Seed.Organisations[0].VPCs[0].RouteTables = []emulator.RouteTableSeed{{Name: "default",
					Default: true, Routes: seedRoutes("10.100.0.0/24", "10.101.0.0/24")}}
			})
			replaced := test.status
			if replaced == 201 || replaced == 409 {
				replaced = 200
			}
			play(t, e, []step{
				{request: "POST /v1/nat-gateways", body: `{"name":"far","subnetIdentity":"far"}`, status: 201},
				{request: "POST " + routes, body: test.body, status: test.status, has: []string{test.want}},
				{request: "PUT " + routes, body: `{"routes":[` + test.body + `]}`, status: replaced},
			})
		})
	}
}

func seedRoutes(destinations ...string) []emulator.RouteSeed {
	var routes []emulator.RouteSeed
	for _, destination := range prefixes(destinations...) {
		routes = append(routes, emulator.RouteSeed{Destination: destination,
			GatewayAddress: prefixes("10.0.0.9/32")[0].Addr()})
	}
	return routes
}

func TestDestinationsAreUnique(t *testing.T) {
	c := newCloud(t, func(cfg *emulator.Config) {
		cfg.Seed.Organisations[0].VPCs[0].RouteTables = []emulator.RouteTableSeed{{Name: "a", Default: true,
			Routes: seedRoutes("10.100.0.0/24", "10.101.0.0/24")}}
	})
	table, err := c.api.GetRouteTable(t.Context(), "a")
	if err != nil || len(table.Routes) != 2 {
		t.Fatalf("table %+v, %v, want two routes", table, err)
	}
	const path, via = "/v1/route-tables/a/routes", `","gatewayAddress":"10.0.0.5"}`
	one := path + "/" + table.Routes[0].Identity
	play(t, c.Emulator, []step{
		{request: "PUT " + one, body: `{"destinationCidrBlock":"10.101.0.0/24` + via, status: 409,
			has: []string{"has a route to 10.101.0.0/24 already"}},
		{request: "PUT " + one, body: `{"destinationCidrBlock":"10.102.0.0/24` + via, status: 200},
		{request: "POST " + path, body: `{"destinationCidrBlock":"10.100.0.0/24` + via, status: 201},
		{request: "PUT " + path, status: 409,
			has: []string{`routes[1].destinationCidrBlock\": 10.9.0.0/24 is there twice`},
			body: `{"routes":[{"destinationCidrBlock":"10.9.0.0/24` + via + `,{"destinationCidrBlock":"10.9.0.0/24` +
				via + `]}`},
		{request: "PUT " + path, status: 400, has: []string{`routes[1].destinationCidrBlock`},
			body: `{"routes":[{"destinationCidrBlock":"10.9.0.0/24` + via + `,{"destinationCidrBlock":"x` + via + `]}`},
		{request: "GET " + path, status: 200, has: []string{"10.100.0.0/24", "10.101.0.0/24", "10.102.0.0/24",
			"!10.9.0.0/24"}},
		{request: "PUT " + path, body: `{"routes":null}`, status: 200, has: []string{"[]"}},
	})
}
