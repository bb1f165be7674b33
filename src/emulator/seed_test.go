package emulator_test

import (
	"net/netip"
	"regexp"
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

const seedYAML = `
regions:
- name: nl-01
  zones: [nl-01a, nl-01b]
  publicAddresses: [203.0.113.0/24]
machineTypes:
- {name: pgp-small, vcpus: 1, ramMb: 2048, diskGb: 10}
organisations:
- identity: o-demo
  name: Demo
  personalAccessTokens: [demo-token]
  clients:
  - {id: demo, secret: s3cret}
  vpcs:
  - identity: vpc-demo
    name: demo
    region: nl-01
    cidrs: [10.9.0.0/16]
    subnets:
    - {identity: subnet-demo, name: demo, cidrs: [10.9.1.0/24]}
  machines:
  - {identity: vm-demo-1, name: node-1, addresses: [10.9.1.77], zone: nl-01b, stopped: true}
  - {name: node-2}
`

func TestReadSeed(t *testing.T) {
	seed, err := emulator.ReadSeed(strings.NewReader(seedYAML))
	if err != nil {
		t.Fatal(err)
	}
	e, err := emulator.NewDescribed(t, emulator.Config{Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	request := newRequest(t, "GET", "/v1/machines/vm-demo-1", "")
	request.Header.Set("Authorization", "Token demo-token")
	body := serve(e, request).Body.String()
	for _, part := range []string{`"10.9.1.77"`, `"nl-01b"`, `"state":"stopped"`, `"pgp-small"`, `"vpc-demo"`} {
		if !strings.Contains(body, part) {
			t.Errorf("%s lacks %s", body, part)
		}
	}
}

func TestIdentitiesAreMadeUpWhenMissing(t *testing.T) {
	seed := emulator.Seed{
		Regions: []emulator.RegionSeed{{Name: "r", Zones: []string{"z"},
			PublicAddresses: prefixes("203.0.113.0/24")}},
		MachineTypes: []emulator.MachineTypeSeed{{Name: "m"}},
		Organisations: []emulator.OrganisationSeed{{
			Name: "My Org", PersonalAccessTokens: []string{"t"},
			VPCs: []emulator.VPCSeed{{Name: "v", Region: "r", CIDRs: prefixes("10.0.0.0/8"),
				Subnets: []emulator.SubnetSeed{{Name: "s", CIDRs: prefixes("10.0.0.0/24")}}}},
			Machines: []emulator.MachineSpec{{Name: "Node.1"}, {Name: "two", Slug: "zwei"}},
		}},
	}
	e, err := emulator.NewDescribed(t, emulator.Config{Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	for path, pattern := range map[string]string{
		"/v1/regions/r":        `"identity":"r"`,
		"/v1/machine-types/m":  `"identity":"mt-[0-9a-v]{20}"`,
		"/v1/vpcs/v":           `"identity":"vpc-[0-9a-v]{20}".*"organisation":{"identity":"o-[0-9a-v]{20}","name":"My Org","slug":"my-org"`,
		"/v1/subnets/s":        `"identity":"subnet-[0-9a-v]{20}"`,
		"/v1/machines/node-1":  `"identity":"vm-[0-9a-v]{20}","name":"Node.1","slug":"node-1".*"availabilityZone":"z"`,
		"/v1/machines/zwei":    `"name":"two","slug":"zwei"`,
		"/v1/machines?zone=z":  `(?s)node-1.*zwei`,
		"/v1/machines?zone=zz": `^\[\]`,
	} {
		request := newRequest(t, "GET", path, "")
		request.Header.Set("Authorization", "Token t")
		request.Header.Set("X-Organisation-Identity", "my-org")
		if body := serve(e, request).Body.String(); !regexp.MustCompile(pattern).MatchString(body) {
			t.Errorf("GET %s: %s does not match %s", path, body, pattern)
		}
	}
}

func TestReadSeedRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"unknown keys":  "regionz: []",
		"two documents": "regions: []\n---\nregions: []",
		"bad prefix":    "regions: [{name: a, zones: [a1], publicAddresses: [x]}]",
		"nothing":       "",
	} {
		if _, err := emulator.ReadSeed(strings.NewReader(text)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestNewRefusesBadSeeds(t *testing.T) {
	tests := map[string]struct {
		change func(*emulator.Seed)
		want   string
	}{
		"region without zones": {func(s *emulator.Seed) { s.Regions[0].Zones = nil },
			`seed: regions[0].zones (region "nl-01"): must have at least one zone`},
		"unknown region": {func(s *emulator.Seed) { s.Organisations[0].VPCs[0].Region = "x" },
			`organisations[0].vpcs[0].region (VPC "emulator"): region "x" not found`},
		"subnet outside VPC": {func(s *emulator.Seed) {
			s.Organisations[0].VPCs[0].Subnets[0].CIDRs = prefixes("10.9.0.0/24")
		},
			`vpcs[0].subnets[0].cidrs (subnet "emulator"): 10.9.0.0/24 is outside`},
		"identity twice": {func(s *emulator.Seed) {
			s.MachineTypes[1].Identity = s.MachineTypes[0].Identity
		}, "is used twice"},
		"machine identity twice": {func(s *emulator.Seed) {
			s.Organisations[0].Machines = []emulator.MachineSpec{{Identity: "a", Name: "a"}, {Identity: "a", Name: "b"}}
		}, `machines[1].identity (machine "b"): "a" is used twice`},
		"address twice": {func(s *emulator.Seed) {
			a := []netip.Addr{netip.MustParseAddr("10.0.0.9")}
			s.Organisations[0].Machines = []emulator.MachineSpec{{Name: "a", Addresses: a}, {Name: "b", Addresses: a}}
		}, "address 10.0.0.9 is already in use"},
		"address outside": {func(s *emulator.Seed) {
			s.Organisations[0].Machines = []emulator.MachineSpec{{Name: "a",
				Addresses: []netip.Addr{netip.MustParseAddr("10.3.0.9")}}}
		}, "outside subnet"},
		"unknown machine type": {func(s *emulator.Seed) {
			s.Organisations[0].Machines = []emulator.MachineSpec{{Name: "a", Type: "x"}}
		}, `machine type "x"`},
		"unknown zone": {func(s *emulator.Seed) {
			s.Organisations[0].Machines = []emulator.MachineSpec{{Name: "a", Zone: "x"}}
		}, `zone "x"`},
		"unknown subnet": {func(s *emulator.Seed) {
			s.Organisations[0].Machines = []emulator.MachineSpec{{Name: "a", Subnet: "x"}}
		}, `subnet "x"`},
		"nameless organisation": {func(s *emulator.Seed) {
			s.Organisations[0].Name = ""
		}, "organisations[0].name (organisation): must have 1 to 62 characters"},
		"same family twice": {func(s *emulator.Seed) {
			s.Organisations[0].VPCs[0].Subnets[0].CIDRs = prefixes("10.0.1.0/24", "10.0.2.0/24")
		}, "must be one CIDR, or one of each address family, not [10.0.1.0/24 10.0.2.0/24]"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			seed := emulator.DefaultSeed()
			test.change(&seed)
			if _, err := emulator.NewDescribed(t, emulator.Config{Seed: seed}); err == nil ||
				!strings.Contains(err.Error(), test.want) {
				t.Errorf("New: %v, want an error with %q", err, test.want)
			}
		})
	}
}

func TestNewRefusesUnknownSwitches(t *testing.T) {
	for name, switches := range map[string]emulator.Switches{
		"updates": {Updates: "x"}, "listeners": {InlineListeners: "x"},
	} {
		if _, err := emulator.NewDescribed(t, emulator.Config{Seed: emulator.DefaultSeed(),
			Switches: switches}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestLoopbackSeed(t *testing.T) {
	seed, err := emulator.LoopbackSeed(netip.MustParsePrefix("127.77.0.0/16"))
	if err != nil {
		t.Fatal(err)
	}
	v := seed.Organisations[0].VPCs[0]
	if got := v.CIDRs[0].String(); got != "127.77.0.0/16" {
		t.Errorf("VPC %s", got)
	}
	if got := v.Subnets[0].CIDRs[0].String(); got != "127.77.0.0/17" {
		t.Errorf("subnet %s", got)
	}
	if got := seed.Regions[0].PublicAddresses[0].String(); got != "127.77.128.0/17" {
		t.Errorf("public addresses %s", got)
	}
	for _, bad := range []string{"10.0.0.0/16", "127.0.0.0/30", "::1/128"} {
		if _, err := emulator.LoopbackSeed(netip.MustParsePrefix(bad)); err == nil {
			t.Errorf("%s: no error", bad)
		}
	}
}

func TestAddMachineRefuses(t *testing.T) {
	c := newCloud(t)
	for name, spec := range map[string]emulator.MachineSpec{
		"no name": {}, "unknown subnet": {Name: "a", Subnet: "x"}, "unknown type": {Name: "a", Type: "x"},
	} {
		if _, err := c.AddMachine(spec); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestEqualNamesGetDifferentSlugs(t *testing.T) {
	c := newCloud(t)
	one, two := c.loadbalancer(t, "same"), c.loadbalancer(t, "same")
	if one.Slug != "same" || !strings.HasPrefix(two.Slug, "same-") {
		t.Errorf("slugs %q and %q, want same and same-...", one.Slug, two.Slug)
	}
}
