// Package seed describes the state with which an emulated cloud starts. It is data: it can be written in Go or read
// from YAML, and has no objects of a running cloud.
package seed

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
	Regions      []Region      `yaml:"regions"`
	MachineTypes []MachineType `yaml:"machineTypes"`
	// MachineImages are the usual ones when there are none.
	MachineImages []MachineImage `yaml:"machineImages"`
	// VolumeTypes are Block and Premium Block when there are none.
	VolumeTypes []VolumeType `yaml:"volumeTypes"`
	// KubernetesVersions are those of DefaultKubernetesVersions when there are none.
	KubernetesVersions []KubernetesVersion `yaml:"kubernetesVersions"`

	Organisations []Organisation `yaml:"organisations"`
}

// Region is a region and its zones.
type Region struct {
	Identity string `yaml:"identity"`
	// Name is the slug too, e.g. "nl-01".
	Name string `yaml:"name"`
	// Zones are the slugs of the zones, e.g. "nl-01a".
	Zones []string `yaml:"zones"`
	// PublicAddresses are the prefixes that public load balancers get their
	// addresses from, one address of each.
	PublicAddresses []netip.Prefix `yaml:"publicAddresses"`
}

// MachineType is a size of machine.
type MachineType struct {
	Identity string `yaml:"identity"`
	// Name is the slug too, e.g. "pgp-small".
	Name  string `yaml:"name"`
	VCPUs int    `yaml:"vcpus"`
	// RAMMb is in MiB, DiskGb in GiB.
	RAMMb  int `yaml:"ramMb"`
	DiskGb int `yaml:"diskGb"`
}

// MachineImage is what machines can be installed from.
type MachineImage struct {
	Identity string            `yaml:"identity"`
	Name     string            `yaml:"name"`
	Labels   map[string]string `yaml:"labels"`
	// Architecture is e.g. amd64, which is the default.
	Architecture string `yaml:"architecture"`
}

// VolumeType is a kind of storage that volumes are on.
type VolumeType struct {
	Identity    string `yaml:"identity"`
	Name        string `yaml:"name"`
	Description string `yaml:"description"`
	// StorageType is block when empty.
	StorageType string `yaml:"storageType"`
	// FixedSize volumes cannot grow.
	FixedSize bool `yaml:"fixedSize"`
}

// KubernetesVersion is a version of Kubernetes that clusters can have.
type KubernetesVersion struct {
	Identity string `yaml:"identity"`
	// Name is e.g. 1.34.1.
	Name string `yaml:"name"`
	// Disabled versions are listed, and cannot be chosen.
	Disabled bool `yaml:"disabled"`
}

// Organisation is an organisation, who may act for it, and what it owns.
type Organisation struct {
	Identity string `yaml:"identity"`
	Name     string `yaml:"name"`
	Slug     string `yaml:"slug"`
	// PersonalAccessTokens are accepted as `Authorization: Token ...`.
	PersonalAccessTokens []string `yaml:"personalAccessTokens"`
	// Clients may fetch bearer tokens from /oidc/token.
	Clients []Client `yaml:"clients"`
	// ServiceAccounts are used through tokens of other issuers.
	ServiceAccounts []ServiceAccount `yaml:"serviceAccounts"`
	// Members are the people in the organisation, Invites those who may become members.
	Members []Member `yaml:"members"`
	Invites []Invite `yaml:"invites"`
	// Quotas are the limits that differ from the standard ones, by name.
	Quotas   map[string]int `yaml:"quotas"`
	VPCs     []VPC          `yaml:"vpcs"`
	Machines []Machine      `yaml:"machines"`
	Projects []Project      `yaml:"projects"`

	ReservedIPs []ReservedIP `yaml:"reservedIps"`
}

// Project is a project and what it owns.
type Project struct {
	Identity string    `yaml:"identity"`
	Name     string    `yaml:"name"`
	Slug     string    `yaml:"slug"`
	VPCs     []VPC     `yaml:"vpcs"`
	Machines []Machine `yaml:"machines"`

	ReservedIPs []ReservedIP `yaml:"reservedIps"`
}

// Client are OIDC client credentials.
type Client struct {
	ID     string `yaml:"id"`
	Secret string `yaml:"secret"`
	// Scopes limit what its tokens may do, e.g. api:read; none means no limit.
	Scopes []string `yaml:"scopes"`
	// Project binds its tokens to a project, by identity or slug.
	Project string `yaml:"project"`
}

// Member is a person in an organisation.
type Member struct {
	// Subject is what requests name the person by; it is made up when empty.
	Subject string `yaml:"subject"`
	Name    string `yaml:"name"`
	Email   string `yaml:"email"`
	// Role is OWNER or MEMBER; MEMBER when empty.
	Role string `yaml:"role"`
}

// Invite is an invitation to an organisation.
type Invite struct {
	Email string `yaml:"email"`
	// Role is as in Member.
	Role string `yaml:"role"`
}

// ServiceAccount is a service account that others may act as.
type ServiceAccount struct {
	Identity            string              `yaml:"identity"`
	Name                string              `yaml:"name"`
	FederatedIdentities []FederatedIdentity `yaml:"federatedIdentities"`
}

// FederatedIdentity is who may act as a service account: a subject of an
// issuer, e.g. a Kubernetes service account.
type FederatedIdentity struct {
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
	// Scopes and Project are as in Client.
	Scopes  []string `yaml:"scopes"`
	Project string   `yaml:"project"`
}

// AudienceMatch says how a token's audiences compare with the trusted ones.
type AudienceMatch string

// The ways to compare audiences. The zero value means MatchAny.
const (
	// MatchExact requires the same audiences, in any order.
	MatchExact AudienceMatch = "exact"
	// MatchAny requires one trusted audience or more.
	MatchAny AudienceMatch = "any"
	// MatchAll requires all trusted audiences; others may be there too.
	MatchAll AudienceMatch = "all"
)

// VPC is a private network.
type VPC struct {
	Identity string            `yaml:"identity"`
	Name     string            `yaml:"name"`
	Labels   map[string]string `yaml:"labels"`
	// Region is a region's name.
	Region  string         `yaml:"region"`
	CIDRs   []netip.Prefix `yaml:"cidrs"`
	Subnets []Subnet       `yaml:"subnets"`

	RouteTables    []RouteTable    `yaml:"routeTables"`
	SecurityGroups []SecurityGroup `yaml:"securityGroups"`
}

// Subnet is a part of a VPC.
type Subnet struct {
	Identity string            `yaml:"identity"`
	Name     string            `yaml:"name"`
	Labels   map[string]string `yaml:"labels"`
	// CIDRs is one prefix, or one of each address family.
	CIDRs []netip.Prefix `yaml:"cidrs"`
	// RouteTable is the identity or slug of one of the VPC's route tables; empty
	// means the default one.
	RouteTable string `yaml:"routeTable"`
}

// Machine describes a machine of a seed, or one added by AddMachine. Only
// the name is required.
type Machine struct {
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

// Read reads a seed from YAML. Unknown keys are errors.
func Read(r io.Reader) (Seed, error) {
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
