package emulator_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

const networkSeed = `
regions:
- {name: nl-01, zones: [nl-01a], publicAddresses: [203.0.113.0/24]}
machineTypes: [{name: pgp-small}]
organisations:
- identity: o-demo
  name: demo
  personalAccessTokens: [` + emulator.DefaultToken + `]
  vpcs:
  - identity: vpc-demo
    name: demo
    region: nl-01
    cidrs: [10.1.0.0/16]
    routeTables:
    - {identity: rtb-first, name: first, default: true}
    - {identity: rtb-pods, name: pods, labels: {a: b}, routes: [{destination: 10.244.1.0/24, gatewayAddress: 10.1.0.11}]}
    subnets:
    - {identity: subnet-1, name: one, cidrs: [10.1.0.0/24], routeTable: pods}
    - {identity: subnet-2, name: two, cidrs: [10.1.1.0/24]}
    securityGroups:
    - identity: sg-nodes
      name: nodes
      labels: {a: b}
      allowSameGroupTraffic: true
      ingress: [{name: ssh, protocol: tcp, priority: 10, remote: 192.0.2.0/24, ports: [22, 22]}]
      egress: [{name: all, protocol: all, priority: 20, remote: "::/0", ports: [1, 65535]}]
  reservedIps:
  - {identity: rip-fixed, name: fixed, region: nl-01, labels: {a: b}, addresses: [203.0.113.80]}
  - {name: any, region: nl-01}
  machines:
  - {name: one, addresses: [10.1.0.11], securityGroups: [sg-nodes]}
`

func TestNetworkSeed(t *testing.T) {
	seed, err := emulator.ReadSeed(strings.NewReader(networkSeed))
	if err != nil {
		t.Fatal(err)
	}
	e := newEmulator(t, func(cfg *emulator.Config) { cfg.Seed = seed })
	play(t, e, []step{
		{request: "GET /v1/vpcs/demo", status: 200, has: []string{`"routeTable":{"identity":"rtb-first"`}},
		{request: "GET /v1/route-tables/rtb-first", status: 200,
			has: []string{`"isDefault":true`, `"subnet-2"`, `!"subnet-1"`}},
		{request: "GET /v1/route-tables?matchLabels[a]=b", status: 200,
			has: []string{`"isDefault":false`, `"subnet-1"`, `"destinationCidrBlock":"10.244.1.0/24"`,
				`"gatewayAddress":"10.1.0.11"`}},
		{request: "GET /v1/subnets/one", status: 200, has: []string{`"routeTable":{"identity":"rtb-pods"`}},
		{request: "GET /v1/security-groups/nodes", status: 200, has: []string{
			`"allowSameGroupTraffic":true`, `"name":"ssh","ipVersion":"ipv4"`, `"remoteAddress":"192.0.2.0/24"`,
			`"portRangeMin":22`,
			`"name":"all","ipVersion":"ipv6"`, `"policy":"allow"`, `"labels":{"a":"b"}`}},
		{request: "GET /v1/machines/one", status: 200, has: []string{`"securityGroupAttachments":["sg-nodes"]`}},
		{request: "DELETE /v1/security-groups/nodes", status: 409, has: []string{"in use by machine"}},
		{request: "GET /v1/reserved-ips", status: 200,
			has: []string{`"ipv4Address":"203.0.113.80"`, `"ipv4Address":"203.0.113.2"`, `"status":"available"`}},
		{request: "POST /v1/loadbalancers", body: `{"name":"a","subnet":"one"}`, status: 201,
			has: []string{"203.0.113.3"}},
	})
}

func TestNewRefusesBadNetworkSeeds(t *testing.T) {
	address := func(text string) []netip.Addr { return []netip.Addr{netip.MustParseAddr(text)} }
	good := emulator.RuleSeed{Protocol: "tcp", Priority: 1, Remote: netip.MustParsePrefix("10.0.0.0/8"),
		Ports: [2]int32{1, 2}}
	tests := map[string]struct {
		change func(*emulator.OrganisationSeed, *emulator.VPCSeed)
		want   string
	}{
		"nameless table": {func(_ *emulator.OrganisationSeed, v *emulator.VPCSeed) {
			v.RouteTables = []emulator.RouteTableSeed{{}}
		}, "vpcs[0].routeTables[0].name (route table): must have 1 to 62 characters"},
		"two defaults": {func(_ *emulator.OrganisationSeed, v *emulator.VPCSeed) {
			v.RouteTables = []emulator.RouteTableSeed{{Name: "a", Default: true}, {Name: "b", Default: true}}
		}, `routeTables[1].default (route table "b"): the VPC has a default route table already, "a"`},
		"table twice": {func(_ *emulator.OrganisationSeed, v *emulator.VPCSeed) {
			v.RouteTables = []emulator.RouteTableSeed{{Identity: "r", Name: "a"}, {Identity: "r", Name: "b"}}
		}, `"r" is used twice`},
		"empty route": {func(_ *emulator.OrganisationSeed, v *emulator.VPCSeed) {
			v.RouteTables = []emulator.RouteTableSeed{{Name: "a", Routes: []emulator.RouteSeed{{}}}}
		}, "is not a CIDR"},
		"route without an address": {func(_ *emulator.OrganisationSeed, v *emulator.VPCSeed) {
			v.RouteTables = []emulator.RouteTableSeed{{Name: "a",
				Routes: []emulator.RouteSeed{{Destination: good.Remote}}}}
		}, "is not an IP address"},
		"route twice": {func(_ *emulator.OrganisationSeed, v *emulator.VPCSeed) {
			v.RouteTables = []emulator.RouteTableSeed{{Name: "a", Routes: seedRoutes("10.9.0.0/24", "10.9.0.0/24")}}
		}, "has a route to 10.9.0.0/24 already"},
		"unknown table": {func(_ *emulator.OrganisationSeed, v *emulator.VPCSeed) { v.Subnets[0].RouteTable = "x" },
			`route table "x" is not in the VPC`},
		"subnet twice": {func(_ *emulator.OrganisationSeed, v *emulator.VPCSeed) {
			v.Subnets = append(v.Subnets, v.Subnets[0])
		}, "is used twice"},
		"nameless group": {func(_ *emulator.OrganisationSeed, v *emulator.VPCSeed) {
			v.SecurityGroups = []emulator.SecurityGroupSeed{{}}
		}, "vpcs[0].securityGroups[0].name (security group): must have 1 to 62 characters"},
		"group twice": {func(_ *emulator.OrganisationSeed, v *emulator.VPCSeed) {
			v.SecurityGroups = []emulator.SecurityGroupSeed{{Identity: "s", Name: "a"}, {Identity: "s", Name: "b"}}
		}, `"s" is used twice`},
		"empty rule": {func(_ *emulator.OrganisationSeed, v *emulator.VPCSeed) {
			v.SecurityGroups = []emulator.SecurityGroupSeed{{Name: "a", Ingress: []emulator.RuleSeed{good, {}}}}
		}, `securityGroups[0].ingress[1].protocol (security group "a"): must be one of`},
		"rule without a remote": {func(_ *emulator.OrganisationSeed, v *emulator.VPCSeed) {
			bad := good
			bad.Remote = netip.Prefix{}
			v.SecurityGroups = []emulator.SecurityGroupSeed{{Name: "a", Egress: []emulator.RuleSeed{bad}}}
		}, `securityGroups[0].egress[0].remote (security group "a"): `},
		"unknown region": {func(o *emulator.OrganisationSeed, _ *emulator.VPCSeed) {
			o.ReservedIPs = []emulator.ReservedIPSeed{{Name: "a"}}
		}, `reservedIps[0].region (reserved IP "a"): region "" not found`},
		"nameless reserved IP": {func(o *emulator.OrganisationSeed, _ *emulator.VPCSeed) {
			o.ReservedIPs = []emulator.ReservedIPSeed{{Region: "nl-01"}}
		}, "reservedIps[0].name (reserved IP): must have 1 to 62 characters"},
		"reserved IP twice": {func(o *emulator.OrganisationSeed, _ *emulator.VPCSeed) {
			o.ReservedIPs = []emulator.ReservedIPSeed{{Identity: "i", Name: "a", Region: "nl-01"},
				{Identity: "i", Name: "b", Region: "nl-01"}}
		}, `"i" is used twice`},
		"address twice": {func(o *emulator.OrganisationSeed, _ *emulator.VPCSeed) {
			o.ReservedIPs = []emulator.ReservedIPSeed{{Name: "a", Region: "nl-01", Addresses: address("198.18.0.9")},
				{Name: "b", Region: "nl-01", Addresses: address("198.18.0.9")}}
		}, "already in use"},
		"address elsewhere": {func(o *emulator.OrganisationSeed, _ *emulator.VPCSeed) {
			o.ReservedIPs = []emulator.ReservedIPSeed{{Name: "a", Region: "nl-01", Addresses: address("192.0.2.1")}}
		}, "outside the region's public addresses"},
		"unknown group": {func(o *emulator.OrganisationSeed, _ *emulator.VPCSeed) {
			o.Machines = []emulator.MachineSpec{{Name: "a", SecurityGroups: []string{"x"}}}
		}, `security group "x" not found`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			seed := emulator.DefaultSeed()
			org := &seed.Organisations[0]
			test.change(org, &org.VPCs[0])
			_, err := emulator.NewDescribed(t, emulator.Config{Seed: seed})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("New: %v, want an error with %q", err, test.want)
			}
			checkPlace(t, err)
		})
	}
}

func TestNewRefusesReservedIPsWithoutPublicAddresses(t *testing.T) {
	seed := emulator.DefaultSeed()
	seed.Regions[0].PublicAddresses = nil
	seed.Organisations[0].ReservedIPs = []emulator.ReservedIPSeed{{Name: "a", Region: "nl-01"}}
	if _, err := emulator.NewDescribed(t, emulator.Config{Seed: seed}); err == nil ||
		!strings.Contains(err.Error(), "has no public addresses") {
		t.Errorf("New: %v, want that there are no public addresses", err)
	}
}
