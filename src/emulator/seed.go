package emulator

import (
	"errors"
	"fmt"
	"io"
	"net/netip"

	"go.yaml.in/yaml/v3"
)

// Seed is the state a cloud starts with. Identities and slugs may be left out
// and are then made up; one that others refer to is easier to use when given.
type Seed struct {
	Regions      []RegionSeed      `yaml:"regions"`
	MachineTypes []MachineTypeSeed `yaml:"machineTypes"`
	// MachineImages are the usual ones when there are none.
	MachineImages []MachineImageSeed `yaml:"machineImages"`
	Organisations []OrganisationSeed `yaml:"organisations"`
}

// RegionSeed is a region and its zones.
type RegionSeed struct {
	Identity string `yaml:"identity"`
	// Name is the slug too, e.g. "nl-01".
	Name string `yaml:"name"`
	// Zones are the slugs of the zones, e.g. "nl-01a".
	Zones []string `yaml:"zones"`
	// PublicAddresses are the prefixes that public load balancers get their
	// addresses from, one address of each.
	PublicAddresses []netip.Prefix `yaml:"publicAddresses"`
}

// MachineTypeSeed is a size of machine.
type MachineTypeSeed struct {
	Identity string `yaml:"identity"`
	// Name is the slug too, e.g. "pgp-small".
	Name  string `yaml:"name"`
	VCPUs int    `yaml:"vcpus"`
	// RAMMb is in MiB, DiskGb in GiB.
	RAMMb  int `yaml:"ramMb"`
	DiskGb int `yaml:"diskGb"`
}

// MachineImageSeed is what machines can be installed from.
type MachineImageSeed struct {
	Identity string            `yaml:"identity"`
	Name     string            `yaml:"name"`
	Labels   map[string]string `yaml:"labels"`
	// Architecture is e.g. amd64, which is the default.
	Architecture string `yaml:"architecture"`
}

// OrganisationSeed is an organisation, who may act for it, and what it owns.
type OrganisationSeed struct {
	Identity string `yaml:"identity"`
	Name     string `yaml:"name"`
	Slug     string `yaml:"slug"`
	// PersonalAccessTokens are accepted as `Authorization: Token ...`.
	PersonalAccessTokens []string `yaml:"personalAccessTokens"`
	// Clients may fetch bearer tokens from /oidc/token.
	Clients []ClientSeed `yaml:"clients"`
	// ServiceAccounts are used through tokens of other issuers.
	ServiceAccounts []ServiceAccountSeed `yaml:"serviceAccounts"`
	// Quotas are the limits that differ from the standard ones, by name.
	Quotas   map[string]int `yaml:"quotas"`
	VPCs     []VPCSeed      `yaml:"vpcs"`
	Machines []MachineSpec  `yaml:"machines"`
	Projects []ProjectSeed  `yaml:"projects"`

	ReservedIPs []ReservedIPSeed `yaml:"reservedIps"`
}

// ProjectSeed is a project and what it owns.
type ProjectSeed struct {
	Identity string        `yaml:"identity"`
	Name     string        `yaml:"name"`
	Slug     string        `yaml:"slug"`
	VPCs     []VPCSeed     `yaml:"vpcs"`
	Machines []MachineSpec `yaml:"machines"`

	ReservedIPs []ReservedIPSeed `yaml:"reservedIps"`
}

// ClientSeed are OIDC client credentials.
type ClientSeed struct {
	ID     string `yaml:"id"`
	Secret string `yaml:"secret"`
	// Scopes limit what its tokens may do, e.g. api:read; none means no limit.
	Scopes []string `yaml:"scopes"`
	// Project binds its tokens to a project, by identity or slug.
	Project string `yaml:"project"`
}

// ServiceAccountSeed is a service account that others may act as.
type ServiceAccountSeed struct {
	Identity            string                  `yaml:"identity"`
	Name                string                  `yaml:"name"`
	FederatedIdentities []FederatedIdentitySeed `yaml:"federatedIdentities"`
}

// FederatedIdentitySeed is who may act as a service account: a subject of an
// issuer, e.g. a Kubernetes service account.
type FederatedIdentitySeed struct {
	// Issuer and Keys go together; without them the emulator is the issuer, see
	// SubjectToken. Keys are a JSON Web Key Set, or PEM with public keys or
	// certificates; for RS256 and ES256.
	Issuer string `yaml:"issuer"`
	Keys   string `yaml:"keys"`
	// Subject is e.g. system:serviceaccount:kube-system:cloud-controller-manager.
	Subject       string        `yaml:"subject"`
	Audiences     []string      `yaml:"audiences"`
	AudienceMatch AudienceMatch `yaml:"audienceMatch"`
	// Claims are conditions: other claims that a token must have, with their text.
	// A slash leads into a claim: kubernetes.io/namespace.
	Claims map[string]string `yaml:"claims"`
	// Scopes and Project are as in ClientSeed.
	Scopes  []string `yaml:"scopes"`
	Project string   `yaml:"project"`
}

// VPCSeed is a private network.
type VPCSeed struct {
	Identity string            `yaml:"identity"`
	Name     string            `yaml:"name"`
	Labels   map[string]string `yaml:"labels"`
	// Region is a region's name.
	Region  string         `yaml:"region"`
	CIDRs   []netip.Prefix `yaml:"cidrs"`
	Subnets []SubnetSeed   `yaml:"subnets"`

	RouteTables    []RouteTableSeed    `yaml:"routeTables"`
	SecurityGroups []SecurityGroupSeed `yaml:"securityGroups"`
}

// SubnetSeed is a part of a VPC.
type SubnetSeed struct {
	Identity string            `yaml:"identity"`
	Name     string            `yaml:"name"`
	Labels   map[string]string `yaml:"labels"`
	// CIDRs is one prefix, or one of each address family.
	CIDRs []netip.Prefix `yaml:"cidrs"`
	// RouteTable is the identity or slug of one of the VPC's route tables; empty
	// means the default one.
	RouteTable string `yaml:"routeTable"`
}

// MachineSpec describes a machine of a seed, or one added by AddMachine. Only
// the name is required.
type MachineSpec struct {
	Identity string `yaml:"identity"`
	Name     string `yaml:"name"`
	// Slug is what Kubernetes nodes are matched by; it is made from the name
	// when empty.
	Slug        string            `yaml:"slug"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
	// Subnet is an identity or slug; empty means the first subnet.
	Subnet string `yaml:"subnet"`
	// Zone is a zone's slug; empty means the region's first zone.
	Zone string `yaml:"zone"`
	// Type is a machine type's identity or slug; empty means the first type.
	Type string `yaml:"type"`
	// Addresses are taken from the subnet when empty.
	Addresses []netip.Addr `yaml:"addresses"`
	Stopped   bool         `yaml:"stopped"`
	// SecurityGroups are identities or slugs.
	SecurityGroups []string `yaml:"securityGroups"`
}

// ReadSeed reads a seed from YAML. Unknown keys are errors.
func ReadSeed(r io.Reader) (Seed, error) {
	var seed Seed
	decoder := yaml.NewDecoder(r)
	decoder.KnownFields(true)
	if err := decoder.Decode(&seed); err != nil {
		return Seed{}, fmt.Errorf("reading seed: %w", err)
	}
	if err := decoder.Decode(&struct{}{}); !errors.Is(err, io.EOF) {
		return Seed{}, errors.New("reading seed: more than one YAML document; put everything in one")
	}
	return seed, nil
}
