package emulator

import (
	"io"
	"net/netip"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/seed"
)

// The parts of a seed, see package seed.
type (
	Seed                  = seed.Seed
	RegionSeed            = seed.Region
	MachineTypeSeed       = seed.MachineType
	MachineImageSeed      = seed.MachineImage
	OrganisationSeed      = seed.Organisation
	ProjectSeed           = seed.Project
	ClientSeed            = seed.Client
	ServiceAccountSeed    = seed.ServiceAccount
	FederatedIdentitySeed = seed.FederatedIdentity
	AudienceMatch         = seed.AudienceMatch
	VPCSeed               = seed.VPC
	SubnetSeed            = seed.Subnet
	RouteTableSeed        = seed.RouteTable
	RouteSeed             = seed.Route
	SecurityGroupSeed     = seed.SecurityGroup
	RuleSeed              = seed.Rule
	ReservedIPSeed        = seed.ReservedIP
	MachineSpec           = seed.Machine
)

// What the default seeds contain, see package seed.
const (
	DefaultOrganisation     = seed.DefaultOrganisation
	DefaultOrganisationSlug = seed.DefaultOrganisationSlug
	DefaultToken            = seed.DefaultToken
	DefaultClientID         = seed.DefaultClientID
	DefaultClientSecret     = seed.DefaultClientSecret
	DefaultRegion           = seed.DefaultRegion
	DefaultVPC              = seed.DefaultVPC
	DefaultSubnet           = seed.DefaultSubnet
	DefaultServiceAccount   = seed.DefaultServiceAccount
	DefaultSubject          = seed.DefaultSubject
	DefaultAudience         = seed.DefaultAudience

	MatchExact = seed.MatchExact
	MatchAny   = seed.MatchAny
	MatchAll   = seed.MatchAll
)

// ReadSeed reads a seed from YAML. Unknown keys are errors.
func ReadSeed(r io.Reader) (Seed, error) { return seed.Read(r) }

// DefaultSeed is a small cloud without a data plane.
func DefaultSeed() Seed { return seed.Default() }

// DualStackSeed is the default seed with addresses of both IP families.
func DualStackSeed() Seed { return seed.DualStack() }

// LoopbackSeed is the default seed for the loopback data plane, with addresses of the network.
func LoopbackSeed(network netip.Prefix) (Seed, error) { return seed.Loopback(network) }
