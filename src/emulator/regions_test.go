package emulator_test

import (
	"strings"
	"testing"

	"github.com/thalassa-cloud/client-go/filters"
	"github.com/thalassa-cloud/client-go/iaas"
	vendor "github.com/thalassa-cloud/client-go/pkg/client"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

func TestRegions(t *testing.T) {
	c := newCloud(t)
	for value, want := range map[string]int{emulator.DefaultRegion: 1, "nl-02": 0} {
		regions, err := c.api.ListRegions(t.Context(), &iaas.ListRegionsRequest{Filters: []filters.Filter{
			&filters.FilterKeyValue{Key: filters.FilterRegion, Value: value},
		}})
		if err != nil || len(regions) != want {
			t.Errorf("region=%s: %d regions, %v, want %d", value, len(regions), err, want)
		}
	}
	region, err := c.api.GetRegion(t.Context(), emulator.DefaultRegion)
	if err != nil || len(region.Zones) != 3 || region.Zones[1].Slug != "nl-01b" ||
		region.Zones[1].CloudRegion.Slug != "nl-01" {
		t.Errorf("GetRegion = %+v, %v, want three zones that know their region", region, err)
	}
	if _, err := c.api.GetRegion(t.Context(), "x"); !vendor.IsNotFound(err) {
		t.Errorf("unknown region: %v, want not found", err)
	}
}

func TestMachineTypes(t *testing.T) {
	c := newCloud(t)
	types, err := c.api.ListMachineTypes(t.Context(), nil)
	if err != nil || len(types) != 6 {
		t.Errorf("ListMachineTypes = %d, %v, want 6", len(types), err)
	}
	small, err := c.api.GetMachineType(t.Context(), "pgp-small")
	if err != nil || small.Vcpus != 1 || small.RamMb != 4096 {
		t.Errorf("GetMachineType = %+v, %v, want 1 CPU and 4 GiB", small, err)
	}
	categories, err := c.api.ListMachineTypeCategories(t.Context())
	if err != nil || len(categories) != 1 || len(categories[0].MachineTypes) != 6 {
		t.Errorf("ListMachineTypeCategories = %+v, %v, want one with all types", categories, err)
	}
	if _, err := c.api.GetMachineType(t.Context(), "x"); !vendor.IsNotFound(err) {
		t.Errorf("unknown type: %v, want not found", err)
	}
}

func TestVPCFilters(t *testing.T) {
	c := newCloud(t)
	for query, want := range map[string]int{
		"": 1, "region=nl-01": 1, "region=nl-02": 0, "name=emulator": 1, "status=ready": 1, "status=creating": 0,
		"vpc=emulator": 1, "matchLabels[a]=b": 0,
	} {
		status, _, body := c.call(t, "GET", "/v1/vpcs?"+query, "")
		if got := strings.Count(body, `"firewallRules"`); status != 200 || got != want {
			t.Errorf("VPCs with %q: %d, status %d, want %d", query, got, status, want)
		}
	}
	for query, want := range map[string]int{"slug=pgp-large": 1, "name=x": 0} {
		if _, _, body := c.call(t, "GET", "/v1/machine-types?"+query, ""); strings.Count(body, `"vcpus"`) != want {
			t.Errorf("machine types with %q: %s, want %d", query, body, want)
		}
	}
}

func TestVPCsAndSubnets(t *testing.T) {
	c := newCloud(t, func(cfg *emulator.Config) {
		v := &cfg.Seed.Organisations[0].VPCs[0]
		v.CIDRs = append(v.CIDRs, prefixes("fd00:1::/48")...)
		v.Subnets = append(v.Subnets, emulator.SubnetSeed{Name: "dual", CIDRs: prefixes("10.0.200.0/24", "fd00:1::/64"),
			Labels: map[string]string{"kubernetes.io/role/lb": "true"}})
	})
	c.machine(t, "one")
	v, err := c.api.GetVpc(t.Context(), emulator.DefaultVPC)
	if err != nil || v.CloudRegion.Slug != emulator.DefaultRegion || len(v.Subnets) != 2 || v.Status != "ready" {
		t.Fatalf("GetVpc = %+v, %v, want a region and two subnets", v, err)
	}
	if v.Subnets[1].Labels["kubernetes.io/role/lb"] != "true" || v.Subnets[1].Type != "Dual" ||
		v.Subnets[1].Cidr != "10.0.200.0/24,fd00:1::/64" {
		t.Errorf("subnet %+v, want labels and both prefixes", v.Subnets[1])
	}
	subnets, err := c.api.ListSubnets(t.Context(), &iaas.ListSubnetsRequest{Filters: []filters.Filter{
		&filters.FilterKeyValue{Key: filters.FilterVpcIdentity, Value: emulator.DefaultVPC},
	}})
	if err != nil || len(subnets) != 2 || subnets[0].Vpc.Identity != emulator.DefaultVPC || subnets[0].V4usingIPs != 1 {
		t.Errorf("ListSubnets = %+v, %v, want two of the VPC, one address in use", subnets, err)
	}
	if subnet, err := c.api.GetSubnet(t.Context(), "dual"); err != nil || subnet.Status != "ready" {
		t.Errorf("GetSubnet by slug = %+v, %v", subnet, err)
	}
	for name, get := range map[string]func() error{
		"VPC":    func() error { _, err := c.api.GetVpc(t.Context(), "x"); return err },
		"subnet": func() error { _, err := c.api.GetSubnet(t.Context(), "x"); return err },
	} {
		if err := get(); !vendor.IsNotFound(err) {
			t.Errorf("unknown %s: %v, want not found", name, err)
		}
	}
}
