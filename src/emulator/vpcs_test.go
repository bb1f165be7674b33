package emulator_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/thalassa-cloud/client-go/filters"
	"github.com/thalassa-cloud/client-go/iaas"
	vendor "github.com/thalassa-cloud/client-go/pkg/client"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

func TestVPCOfTheOfficialClient(t *testing.T) {
	c := newCloud(t)
	created, err := c.api.CreateVpc(t.Context(), iaas.CreateVpc{
		Name: "My VPC", Description: "d", Labels: iaas.Labels{"a": "b"}, CloudRegionIdentity: emulator.DefaultRegion,
		VpcCidrs: []string{"10.1.0.0/16", "fd00:1::/48"},
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.api.GetVpc(t.Context(), "my-vpc")
	if err != nil {
		t.Fatal(err)
	}
	if got.Identity != created.Identity || got.Status != "ready" || got.CloudRegion.Slug != emulator.DefaultRegion ||
		got.ObjectVersion != 1 {
		t.Errorf("VPC %+v is not the one that was created", got)
	}
	if got.RouteTable == nil || !got.RouteTable.IsDefault {
		t.Errorf("VPC has route table %+v, want a default one", got.RouteTable)
	}
	updated, err := c.api.UpdateVpc(t.Context(), got.Identity,
		iaas.UpdateVpc{Name: "other", VpcCidrs: []string{"10.1.0.0/17"}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"10.1.0.0/17"}, updated.CIDRs); diff != "" || updated.Slug != "my-vpc" ||
		updated.ObjectVersion != 2 || len(updated.Labels) != 0 {
		t.Errorf("updated %+v (-want +got ranges):\n%s", updated, diff)
	}
	if err := c.api.DeleteVpc(t.Context(), got.Identity); err != nil {
		t.Fatal(err)
	}
	if err := c.api.WaitUntilVpcIsDeleted(t.Context(), got.Identity); err != nil {
		t.Error(err)
	}
	if tables, err := c.api.ListRouteTables(t.Context(), nil); err != nil || len(tables) != 1 {
		t.Errorf("%d route tables are left, %v, want that of the default VPC", len(tables), err)
	}
}

func TestVPCRequests(t *testing.T) {
	const vpcs = "/v1/vpcs"
	body := func(rest string) string { return `{"name":"a","cloudRegionIdentity":"nl-01",` + rest + `}` }
	tests := map[string][]step{
		"no name": {{request: "POST " + vpcs, body: `{"vpcCidrs":["10.1.0.0/16"]}`, status: 400,
			has: []string{`field \"name\"`}}},
		"name of a type": {{request: "POST " + vpcs, body: `{"name":1}`, status: 400,
			has: []string{`field \"name\" must be of type string`}}},
		"no region": {{request: "POST " + vpcs, body: `{"name":"a","vpcCidrs":["10.1.0.0/16"]}`, status: 400,
			has: []string{`field \"cloudRegionIdentity\"`}}},
		"no range": {{request: "POST " + vpcs, body: body(`"vpcCidrs":null`), status: 400,
			has: []string{"at least one CIDR"}}},
		"bad range": {{request: "POST " + vpcs, body: body(`"vpcCidrs":["10.1.0.0"]`), status: 400,
			has: []string{"is not a CIDR"}}},
		"host bits": {{request: "POST " + vpcs, body: body(`"vpcCidrs":["10.1.2.3/16"]`), status: 400,
			has: []string{"it should be 10.1.0.0/16"}}},
		"overlapping range": {{request: "POST " + vpcs, body: body(`"vpcCidrs":["10.0.0.0/8","10.1.0.0/16"]`),
			status: 400, has: []string{"10.1.0.0/16 overlaps 10.0.0.0/8"}}},
		"the range of another VPC": {
			{request: "POST " + vpcs, body: body(`"vpcCidrs":["10.0.0.0/16"]`), status: 201,
				has: []string{`"status":"ready"`}},
		},
		"region by identity": {
			{request: "POST " + vpcs, body: `{"name":"a","cloudRegionIdentity":"region-2","vpcCidrs":["10.1.0.0/16"]}`,
				status: 201, has: []string{`"slug":"nl-02"`}},
		},
		"update without ranges": {{request: "PUT " + vpcs + "/emulator", body: `{"name":"a"}`, status: 400,
			has: []string{"at least one CIDR"}}},
		"update without subnets": {{request: "PUT " + vpcs + "/emulator",
			body: `{"name":"a","vpcCidrs":["10.2.0.0/16"]}`, status: 409, has: []string{emulator.DefaultSubnet}}},
		"update with more": {
			{request: "PUT " + vpcs + "/emulator", body: `{"name":"emulator","vpcCidrs":["10.0.0.0/16","10.2.0.0/16"]}`,
				status: 200},
			{request: "POST /v1/subnets", body: `{"name":"b","vpcIdentity":"emulator","cidr":"10.2.0.0/24"}`,
				status: 201},
		},
		"delete with a subnet": {
			{request: "DELETE " + vpcs + "/emulator", status: 409, has: []string{"is in use by subnet",
				"delete or change that first"}},
		},
		"delete with a security group": {
			{request: "POST /v1/security-groups", body: `{"name":"g","vpcIdentity":"emulator"}`, status: 201},
			{request: "DELETE " + vpcs + "/emulator", status: 409, has: []string{"in use by security group",
				"and 1 more"}},
		},
		"delete with a target group": {
			{request: "POST " + vpcs, body: body(`"vpcCidrs":["10.1.0.0/16"]`), status: 201},
			{request: "POST /v1/loadbalancer-target-groups",
				body: `{"name":"g","vpc":"a","targetPort":80,"protocol":"tcp"}`, status: 201},
			{request: "DELETE " + vpcs + "/a", status: 409, has: []string{"in use by target group"}},
			{request: "DELETE /v1/loadbalancer-target-groups/g", status: 204},
			{request: "DELETE " + vpcs + "/a", status: 204},
			{request: "GET " + vpcs + "/a", status: 404},
		},
		"delete with a route table": {
			{request: "POST " + vpcs, body: body(`"vpcCidrs":["10.1.0.0/16"]`), status: 201},
			{request: "POST /v1/route-tables", body: `{"name":"r","vpcIdentity":"a"}`, status: 201},
			{request: "DELETE " + vpcs + "/a", status: 409, has: []string{"in use by route table"}},
			{request: "DELETE /v1/route-tables/r", status: 204},
			{request: "DELETE " + vpcs + "/a", status: 204},
		},
		"unknown": {
			{request: "PUT " + vpcs + "/x", body: `{}`, status: 404, has: []string{`VPC \"x\" not found`}},
			{request: "DELETE " + vpcs + "/x", status: 404},
		},
	}
	for name, steps := range tests {
		t.Run(name, func(t *testing.T) { play(t, newEmulator(t, withSecondRegion), steps) })
	}
}

func TestVPCsAreMerged(t *testing.T) {
	e := newEmulator(t, withSwitches(emulator.Switches{Updates: emulator.Merge}))
	play(t, e, []step{
		{request: "POST /v1/vpcs",
			body:   `{"name":"a","labels":{"x":"y"},"cloudRegionIdentity":"nl-01","vpcCidrs":["10.1.0.0/16"]}`,
			status: 201},
		{request: "PUT /v1/vpcs/a", body: `{"description":"d"}`, status: 200,
			has: []string{`"name":"a"`, `"x":"y"`, `"10.1.0.0/16"`, `"description":"d"`}},
		{request: "PUT /v1/vpcs/a", body: `{"labels":{}}`, status: 200, has: []string{`!"x":"y"`}},
	})
}

func TestNetworkLifeCycle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEmulator(t, func(cfg *emulator.Config) {
			cfg.Delays = emulator.Delays{NetworkCreate: time.Minute, NetworkDelete: 20 * time.Second,
				NetworkLinger: 5 * time.Second}
		})
		second := time.Second
		play(t, e, []step{
			{request: "GET /v1/vpcs", status: 200, has: []string{`!"status":"creating"`}},
			{request: "POST /v1/vpcs", body: `{"name":"a","cloudRegionIdentity":"nl-01","vpcCidrs":["10.1.0.0/16"]}`,
				status: 201, has: []string{`"status":"creating"`}},
			{request: "POST /v1/subnets", body: `{"name":"a","vpcIdentity":"a","cidr":"10.1.0.0/24"}`, status: 201,
				has: []string{`"status":"creating"`}},
			{request: "POST /v1/security-groups", body: `{"name":"a","vpcIdentity":"a"}`, status: 201,
				has: []string{`"status":"provisioning"`}},
			{wait: 59 * second, request: "GET /v1/vpcs?status=ready", status: 200, has: []string{`!"name":"a"`}},
			{wait: second, request: "GET /v1/vpcs?status=ready", status: 200, has: []string{`"name":"a"`}},
			{request: "GET /v1/subnets/a", status: 200, has: []string{`"status":"ready"`}},
			{request: "GET /v1/security-groups?status=active", status: 200, has: []string{`"name":"a"`}},
			{request: "DELETE /v1/subnets/a", status: 204},
			{request: "DELETE /v1/subnets/a", status: 204},
			{request: "DELETE /v1/security-groups/a", status: 204},
			{request: "DELETE /v1/security-groups/a", status: 204},
			{request: "DELETE /v1/vpcs/a", status: 409, has: []string{"in use by"}},
			{request: "GET /v1/subnets/a", status: 200, has: []string{`"status":"deleting"`}},
			{request: "GET /v1/security-groups/a", status: 200, has: []string{`"status":"deleting"`}},
			{request: "PUT /v1/subnets/a", body: `{"name":"a"}`, status: 409, has: []string{"is being deleted"}},
			{request: "PUT /v1/security-groups/a", body: `{"name":"a"}`, status: 409,
				has: []string{"is being deleted"}},
			{request: "POST /v1/loadbalancers", body: `{"name":"a","subnet":"a"}`, status: 409,
				has: []string{`subnet \"a\" is being deleted`}},
			{request: "POST /v1/machines", body: `{"name":"a","subnet":"a","machineType":"pgp-small"}`, status: 409,
				has: []string{`subnet \"a\" is being deleted`}},
			{request: "POST /v1/loadbalancers",
				body: `{"name":"a","subnet":"emulator","securityGroupAttachments":["a"]}`, status: 409,
				has: []string{`security group \"a\" is being deleted`}},
			{wait: 20 * second, request: "GET /v1/subnets/a", status: 200, has: []string{`"status":"deleted"`}},
			{wait: 5 * second, request: "GET /v1/subnets/a", status: 404},
			{request: "GET /v1/security-groups/a", status: 404},
			{request: "DELETE /v1/vpcs/a", status: 204},
			{request: "DELETE /v1/vpcs/a", status: 204},
			{request: "PUT /v1/vpcs/a", body: `{"name":"a"}`, status: 409},
			{request: "POST /v1/subnets", body: `{"name":"b","vpcIdentity":"a","cidr":"10.1.0.0/24"}`, status: 409,
				has: []string{`VPC \"a\" is being deleted`}},
			{wait: 25 * second, request: "GET /v1/vpcs/a", status: 404},
		})
	})
}

// The same filters work for lists of every kind.
func TestNetworkFilters(t *testing.T) {
	c := newCloud(t, withSecondRegion)
	is := func(key, value string) []filters.Filter {
		return []filters.Filter{&filters.FilterKeyValue{Key: filters.FilterKey(key), Value: value}}
	}
	count := func(name string, want int, list func() (int, error)) {
		t.Helper()
		if got, err := list(); err != nil || got != want {
			t.Errorf("%s: %d, %v, want %d", name, got, err, want)
		}
	}
	for _, filter := range []struct {
		key, value                    string
		vpcs, subnets, groups, tables int
	}{
		{"region", "nl-02", 1, 1, 1, 1},
		{"region", "region-2", 1, 1, 1, 1},
		{"vpc", "same", 1, 1, 1, 1},
		{"vpc", emulator.DefaultVPC, 1, 1, 0, 1},
		{"name", "far", 1, 1, 1, 1},
		{"slug", "far", 1, 1, 1, 1},
		{"identity", "sg-far", 0, 0, 1, 0},
		{"subnet", "same", 3, 1, 2, 3},
		{"status", "nonsense", 0, 0, 0, 3},
	} {
		name := filter.key + "=" + filter.value
		count("VPCs with "+name, filter.vpcs, func() (int, error) {
			items, err := c.api.ListVpcs(t.Context(), &iaas.ListVpcsRequest{Filters: is(filter.key, filter.value)})
			return len(items), err
		})
		count("subnets with "+name, filter.subnets, func() (int, error) {
			items, err := c.api.ListSubnets(t.Context(),
				&iaas.ListSubnetsRequest{Filters: is(filter.key, filter.value)})
			return len(items), err
		})
		count("security groups with "+name, filter.groups, func() (int, error) {
			items, err := c.api.ListSecurityGroups(t.Context(),
				&iaas.ListSecurityGroupsRequest{Filters: is(filter.key, filter.value)})
			return len(items), err
		})
		count("route tables with "+name, filter.tables, func() (int, error) {
			items, err := c.api.ListRouteTables(t.Context(),
				&iaas.ListRouteTablesRequest{Filters: is(filter.key, filter.value)})
			return len(items), err
		})
	}
}

func TestVPCsOfOthersAreOutOfReach(t *testing.T) {
	c := newCloud(t, withForeign)
	foreign := c.client(t, vendor.WithOrganisation("other"), vendor.WithAuthPersonalToken("other-token"))
	v, err := c.api.CreateVpc(t.Context(), iaas.CreateVpc{Name: "mine", CloudRegionIdentity: "nl-01",
		VpcCidrs: []string{"10.1.0.0/16"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := foreign.GetVpc(t.Context(), v.Identity); !vendor.IsNotFound(err) {
		t.Errorf("reading: %v, want not found", err)
	}
	if err := foreign.DeleteVpc(t.Context(), v.Identity); !vendor.IsNotFound(err) {
		t.Errorf("deleting: %v, want not found", err)
	}
	for _, create := range []func() error{
		func() error {
			_, err := foreign.CreateSubnet(t.Context(), iaas.CreateSubnet{Name: "a", VpcIdentity: v.Identity,
				Cidr: "10.1.0.0/24"})
			return err
		},
		func() error {
			_, err := foreign.CreateSecurityGroup(t.Context(), iaas.CreateSecurityGroupRequest{Name: "a",
				VpcIdentity: v.Identity})
			return err
		},
		func() error {
			_, err := foreign.CreateRouteTable(t.Context(), iaas.CreateRouteTable{Name: "a", VpcIdentity: v.Identity})
			return err
		},
	} {
		if err := create(); !vendor.IsBadRequest(err) {
			t.Errorf("creating in another organisation's VPC: %v, want bad request", err)
		}
	}
}

// withForeign adds an organisation with a token of its own and nothing in it.
func withForeign(cfg *emulator.Config) {
	cfg.Seed.Organisations = append(cfg.Seed.Organisations, emulator.OrganisationSeed{
		Name: "other", PersonalAccessTokens: []string{"other-token"},
	})
}
