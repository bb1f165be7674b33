package emulator

import (
	"bytes"
	"io"
	"net/http"
	"net/netip"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/seed"
)

type (
	// Seed is what a cloud starts with, see [seed.Seed].
	Seed = seed.Seed
	// RegionSeed is a region, see [seed.Region].
	RegionSeed = seed.Region
	// MachineTypeSeed is a type of machines, see [seed.MachineType].
	MachineTypeSeed = seed.MachineType
	// MachineImageSeed is an image of machines, see [seed.MachineImage].
	MachineImageSeed = seed.MachineImage
	// VolumeTypeSeed is a type of volumes, see [seed.VolumeType].
	VolumeTypeSeed = seed.VolumeType
	// KubernetesVersionSeed is a version of Kubernetes, see [seed.KubernetesVersion].
	KubernetesVersionSeed = seed.KubernetesVersion
	// OrganisationSeed is an organisation and all that it has, see [seed.Organisation].
	OrganisationSeed = seed.Organisation
	// ProjectSeed is a project, see [seed.Project].
	ProjectSeed = seed.Project
	// ClientSeed is an OIDC client, see [seed.Client].
	ClientSeed = seed.Client
	// ServiceAccountSeed is a service account, see [seed.ServiceAccount].
	ServiceAccountSeed = seed.ServiceAccount
	// MemberSeed is a member of an organisation, see [seed.Member].
	MemberSeed = seed.Member
	// InviteSeed is an invite to an organisation, see [seed.Invite].
	InviteSeed = seed.Invite
	// FederatedIdentitySeed is a federated identity, see [seed.FederatedIdentity].
	FederatedIdentitySeed = seed.FederatedIdentity
	// AudienceMatch is how audiences are compared, see [seed.AudienceMatch].
	AudienceMatch = seed.AudienceMatch
	// VPCSeed is a VPC, see [seed.VPC].
	VPCSeed = seed.VPC
	// SubnetSeed is a subnet, see [seed.Subnet].
	SubnetSeed = seed.Subnet
	// RouteTableSeed is a route table, see [seed.RouteTable].
	RouteTableSeed = seed.RouteTable
	// RouteSeed is a route, see [seed.Route].
	RouteSeed = seed.Route
	// SecurityGroupSeed is a security group, see [seed.SecurityGroup].
	SecurityGroupSeed = seed.SecurityGroup
	// RuleSeed is a rule of a security group, see [seed.Rule].
	RuleSeed = seed.Rule
	// ReservedIPSeed is a reserved IP address, see [seed.ReservedIP].
	ReservedIPSeed = seed.ReservedIP
	// MachineSpec is a machine, see [seed.Machine].
	MachineSpec = seed.Machine
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
	DefaultOwner            = seed.DefaultOwner
	DefaultSubject          = seed.DefaultSubject
	DefaultAudience         = seed.DefaultAudience

	MatchExact = seed.MatchExact
	MatchAny   = seed.MatchAny
	MatchAll   = seed.MatchAll
)

// ReadSeed reads a seed from YAML. Unknown keys are errors.
func ReadSeed(r io.Reader) (Seed, error) { return seed.Read(r) }

// WriteSeed writes a seed as YAML, as GET /_emulator/seed does.
func WriteSeed(w io.Writer, s Seed) error { return seed.Write(w, s) }

// Seed is the present state as a seed: an emulator that starts with it has the same objects and credentials. Faults,
// counters and the log of writes are not in it.
func (e *Emulator) Seed() Seed {
	described := e.describeStore()
	e.api.Auth.Describe(&described)
	return described
}

func (e *Emulator) describeStore() Seed {
	e.api.Store.Lock()
	defer e.api.Store.Unlock()
	e.api.ApplyDue(time.Now())
	return e.api.Store.Describe()
}

// Revision is how many changes there were. It does not count that credentials were used.
func (e *Emulator) Revision() uint64 { return e.api.Events.Revision() }

// getSeed answers with secrets, and needs no credentials.
func (e *Emulator) getSeed(w http.ResponseWriter, r *http.Request) {
	if misled(r) {
		http.Error(w, "a web site could have led its name "+r.Host+" here to read secrets: use an IP address, "+
			"localhost or a name without a dot, or set the header Host: localhost", http.StatusForbidden)
		return
	}
	var content bytes.Buffer
	if err := WriteSeed(&content, e.Seed()); err != nil {
		e.report(w, 0, nil, err)
		return
	}
	w.Header().Set("Content-Type", "application/yaml")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = content.WriteTo(w)
}

// DefaultSeed is a small cloud without a data plane.
func DefaultSeed() Seed { return seed.Default() }

// DualStackSeed is the default seed with addresses of both IP families.
func DualStackSeed() Seed { return seed.DualStack() }

// LoopbackSeed is the default seed for the loopback data plane, with addresses of the network.
func LoopbackSeed(network netip.Prefix) (Seed, error) { return seed.Loopback(network) }
