// Package seed describes the state with which an emulated cloud starts. It is data: it can be written in Go or read
// from YAML, and has no objects of a running cloud.
package seed

import (
	"net/netip"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// Version is that of the format of seeds. It changes when an older emulator would not understand a seed, and not when
// there are new keys.
const Version = 1

// Seed is the state a cloud starts with. Identities and slugs may be left out
// and are then made up; one that others refer to is easier to use when given.
type Seed struct {
	// Version is Version when a seed was written by an emulator. Other seeds need none.
	Version int `yaml:"version,omitempty"`

	Regions      []Region      `yaml:"regions,omitempty"`
	MachineTypes []MachineType `yaml:"machineTypes,omitempty"`
	// MachineImages are the usual ones when there are none.
	MachineImages []MachineImage `yaml:"machineImages,omitempty"`
	// VolumeTypes are Block and Premium Block when there are none.
	VolumeTypes []VolumeType `yaml:"volumeTypes,omitempty"`
	// KubernetesVersions are those of DefaultKubernetesVersions when there are none.
	KubernetesVersions []KubernetesVersion `yaml:"kubernetesVersions,omitempty"`

	Organisations []Organisation `yaml:"organisations,omitempty"`

	// IdentityProviderKey signs the tokens of the emulator's own identity provider: PEM with a private key for ES256.
	// It is made up when empty.
	IdentityProviderKey string `yaml:"identityProviderKey,omitempty"`
	// BearerTokens were issued, and are valid for a while.
	BearerTokens []BearerToken `yaml:"bearerTokens,omitempty"`
}

// Region is a region and its zones.
type Region struct {
	// Identity is the name when empty.
	Identity string `yaml:"identity,omitempty"`
	// Name is the slug too, e.g. "nl-01".
	Name string `yaml:"name,omitempty"`
	// Zones are the slugs of the zones, e.g. "nl-01a".
	Zones []string `yaml:"zones,omitempty"`
	// PublicAddresses are the prefixes that public load balancers get their
	// addresses from, one address of each.
	PublicAddresses []netip.Prefix `yaml:"publicAddresses,omitempty"`
	// ZoneIdentities are the identities of zones, by slug.
	ZoneIdentities map[string]string `yaml:"zoneIdentities,omitempty"`

	Details `yaml:",inline"`
}

// MachineType is a size of machine.
type MachineType struct {
	Identity string `yaml:"identity,omitempty"`
	// Name is the slug too, e.g. "pgp-small".
	Name  string `yaml:"name,omitempty"`
	VCPUs int    `yaml:"vcpus,omitempty"`
	// RAMMb is in MiB, DiskGb in GiB.
	RAMMb  int `yaml:"ramMb,omitempty"`
	DiskGb int `yaml:"diskGb,omitempty"`
}

// MachineImage is what machines can be installed from.
type MachineImage struct {
	Identity string            `yaml:"identity,omitempty"`
	Name     string            `yaml:"name,omitempty"`
	Labels   map[string]string `yaml:"labels,omitempty"`
	// Architecture is e.g. amd64, which is the default.
	Architecture string `yaml:"architecture,omitempty"`
}

// VolumeType is a kind of storage that volumes are on.
type VolumeType struct {
	Identity    string `yaml:"identity,omitempty"`
	Name        string `yaml:"name,omitempty"`
	Description string `yaml:"description,omitempty"`
	// StorageType is block when empty.
	StorageType string `yaml:"storageType,omitempty"`
	// FixedSize volumes cannot grow.
	FixedSize bool `yaml:"fixedSize,omitempty"`
}

// KubernetesVersion is a version of Kubernetes that clusters can have.
type KubernetesVersion struct {
	Identity string `yaml:"identity,omitempty"`
	// Name is e.g. 1.34.1.
	Name string `yaml:"name,omitempty"`
	// Disabled versions are listed, and cannot be chosen.
	Disabled bool `yaml:"disabled,omitempty"`
	// CreatedAt is now when empty.
	CreatedAt time.Time `yaml:"createdAt,omitempty"`
}

// Organisation is an organisation, who may act for it, and what it owns.
type Organisation struct {
	Identity string `yaml:"identity,omitempty"`
	Name     string `yaml:"name,omitempty"`
	Slug     string `yaml:"slug,omitempty"`
	// PersonalAccessTokens are accepted as `Authorization: Token ...`.
	PersonalAccessTokens []string `yaml:"personalAccessTokens,omitempty"`
	// Clients may fetch bearer tokens from /oidc/token.
	Clients []Client `yaml:"clients,omitempty"`
	// ServiceAccounts are used through tokens of other issuers.
	ServiceAccounts []ServiceAccount `yaml:"serviceAccounts,omitempty"`
	// Members are the people in the organisation, Invites those who may become members.
	Members []Member `yaml:"members,omitempty"`
	Invites []Invite `yaml:"invites,omitempty"`
	Teams   []Team   `yaml:"teams,omitempty"`
	Roles   []Role   `yaml:"roles,omitempty"`
	// Quotas are the limits that differ from the standard ones, by name.
	Quotas   map[string]int `yaml:"quotas,omitempty"`
	VPCs     []VPC          `yaml:"vpcs,omitempty"`
	Machines []Machine      `yaml:"machines,omitempty"`
	Projects []Project      `yaml:"projects,omitempty"`
	// DeletedProjects are the identities and slugs of projects that credentials can still name.
	DeletedProjects []string `yaml:"deletedProjects,omitempty"`

	ReservedIPs []ReservedIP `yaml:"reservedIps,omitempty"`
	// Tokens are personal access tokens with scopes.
	Tokens []Token `yaml:"tokens,omitempty"`
	// Providers are issuers that federated identities name.
	Providers []Provider `yaml:"federatedIdentityProviders,omitempty"`
	// QuotaIncreases are the requests for more, by the name of the quota.
	QuotaIncreases map[string]JSON[[]wire.QuotaIncrease] `yaml:"quotaIncreases,omitempty"`

	Objects `yaml:",inline"`
	History `yaml:",inline"`
	Tags    `yaml:",inline"`
}

// Project is a project and what it owns.
type Project struct {
	Identity string    `yaml:"identity,omitempty"`
	Name     string    `yaml:"name,omitempty"`
	Slug     string    `yaml:"slug,omitempty"`
	VPCs     []VPC     `yaml:"vpcs,omitempty"`
	Machines []Machine `yaml:"machines,omitempty"`

	ReservedIPs []ReservedIP `yaml:"reservedIps,omitempty"`
	// Parent is the identity or slug of another project of the organisation.
	Parent string `yaml:"parent,omitempty"`

	Objects `yaml:",inline"`
	History `yaml:",inline"`
	Tags    `yaml:",inline"`
}

// VPC is a private network.
type VPC struct {
	Identity string            `yaml:"identity,omitempty"`
	Name     string            `yaml:"name,omitempty"`
	Labels   map[string]string `yaml:"labels,omitempty"`
	// Region is a region's name.
	Region  string         `yaml:"region,omitempty"`
	CIDRs   []netip.Prefix `yaml:"cidrs,omitempty"`
	Subnets []Subnet       `yaml:"subnets,omitempty"`

	RouteTables    []RouteTable    `yaml:"routeTables,omitempty"`
	SecurityGroups []SecurityGroup `yaml:"securityGroups,omitempty"`
	FirewallRules  []FirewallRule  `yaml:"firewallRules,omitempty"`

	Details `yaml:",inline"`
	Life    `yaml:",inline"`
}

// Subnet is a part of a VPC.
type Subnet struct {
	Identity string            `yaml:"identity,omitempty"`
	Name     string            `yaml:"name,omitempty"`
	Labels   map[string]string `yaml:"labels,omitempty"`
	// CIDRs is one prefix, or one of each address family.
	CIDRs []netip.Prefix `yaml:"cidrs,omitempty"`
	// RouteTable is the identity or slug of one of the VPC's route tables; empty
	// means the default one.
	RouteTable string `yaml:"routeTable,omitempty"`

	Details `yaml:",inline"`
	Life    `yaml:",inline"`
}

// Machine describes a machine of a seed, or one added by AddMachine. Only
// the name is required.
type Machine struct {
	Identity string `yaml:"identity,omitempty"`
	Name     string `yaml:"name,omitempty"`
	// Slug is what Kubernetes nodes are matched by; it is made from the name
	// when empty.
	Slug        string            `yaml:"slug,omitempty"`
	Labels      map[string]string `yaml:"labels,omitempty"`
	Annotations map[string]string `yaml:"annotations,omitempty"`
	// Subnet is an identity or slug; empty means the first subnet.
	Subnet string `yaml:"subnet,omitempty"`
	// Zone is a zone's slug; empty means the region's first zone.
	Zone string `yaml:"zone,omitempty"`
	// Type is a machine type's identity or slug; empty means the first type.
	Type string `yaml:"type,omitempty"`
	// Addresses are taken from the subnet when empty.
	Addresses []netip.Addr `yaml:"addresses,omitempty"`
	Stopped   bool         `yaml:"stopped,omitempty"`
	// SecurityGroups are identities or slugs.
	SecurityGroups []string `yaml:"securityGroups,omitempty"`
	// WithoutAddresses leaves the machine without any.
	WithoutAddresses bool `yaml:"withoutAddresses,omitempty"`
	// Image is the identity, slug or name of a machine image.
	Image            string  `yaml:"image,omitempty"`
	CloudInit        *string `yaml:"cloudInit,omitempty"`
	DeleteProtection bool    `yaml:"deleteProtection,omitempty"`
	// Boots counts how often it was switched on again.
	Boots int `yaml:"boots,omitempty"`

	History `yaml:",inline"`
	Life    `yaml:",inline"`
}
