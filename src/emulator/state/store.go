// Package state provides the objects of the cloud and the changes that keep them consistent. It does not
// depend on HTTP: package api decides which changes a request makes.
package state

import (
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/address"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/behaviour"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/iam"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// Store is the state of the cloud. Everything in it is guarded by mu: requests
// run one after the other, which keeps every handler sequential.
type Store struct {
	mu sync.Mutex
	// Switches are the choices about what the API shows.
	Switches behaviour.Switches
	// network is that of the data plane, which VPCs and public addresses share. It is not valid if each VPC has a
	// network of its own.
	network      netip.Prefix
	Regions      object.Collection[*region]
	MachineTypes object.Collection[*MachineType]
	Images       object.Collection[*Image]
	VolumeTypes  object.Collection[*VolumeType]

	KubernetesVersions object.Collection[*KubernetesVersion]

	Organisations object.Collection[*Organisation]
	// restoring is set while New reads a state that an emulator wrote. Such a state must be well-formed, and what it
	// refers to must be there. It need not be what the API permits now: later writes and other switches can have made
	// the requests wrong that it came from.
	restoring bool
	// changed are the identities of load balancers whose traffic changed since
	// the data plane got last, with the organisation they belong to.
	changed map[string]*Organisation
	// views are what lists say about objects that many others nest.
	views responseCache
	// Now is the moment that the answer being made is about.
	Now time.Time
	// Deferred are the deletions that were answered and are yet to happen.
	Deferred []Deferred
	Past     history
}

// Organisation owns all other objects; nothing refers across organisations.
type Organisation struct {
	object.Record
	Store         *Store
	VPCs          object.Collection[*VPC]
	Subnets       object.Collection[*Subnet]
	Machines      object.Collection[*Machine]
	Loadbalancers object.Collection[*Loadbalancer]
	TargetGroups  object.Collection[*TargetGroup]
	CloudInits    object.Collection[*CloudInit]
	Peerings      object.Collection[*Peering]
	Filesystems   object.Collection[*Filesystem]
	Volumes       object.Collection[*Volume]
	Snapshots     object.Collection[*VolumeSnapshot]

	SnapshotPolicies object.Collection[*SnapshotPolicy]

	SecurityGroups object.Collection[*SecurityGroup]
	ReservedIPs    object.Collection[*ReservedIP]
	NATGateways    object.Collection[*NATGateway]
	RouteTables    object.Collection[*RouteTable]
	Clusters       object.Collection[*Cluster]
	Buckets        object.Collection[*Bucket]

	// root is the organisation of a project's space; nil in the organisation's own.
	root     *Organisation
	Projects object.Collection[*Project]
	// deletedProjects are identities and slugs.
	deletedProjects []string
	// Directory has the identities of the organisation. That of a project is empty.
	Directory iam.Directory
	// limits are the quotas that were set, increases what was asked for.
	limits    map[string]int
	Increases map[string][]wire.QuotaIncrease
	// Selective are the target groups with a selector, or with machines that one selected.
	Selective map[*TargetGroup]bool
	// leaving are the objects that were deleted and are not gone yet.
	leaving []leaving
}

// newSpace is an organisation, or a project's part of one, without any objects.
func newSpace(s *Store, m object.Record, root *Organisation) *Organisation {
	return &Organisation{
		Store: s, Record: m, root: root, Selective: map[*TargetGroup]bool{},
		limits: map[string]int{}, Increases: map[string][]wire.QuotaIncrease{},
	}
}

// Owner is the organisation that a space belongs to.
func (o *Organisation) Owner() *Organisation {
	if o.root != nil {
		return o.root
	}
	return o
}

// Parts are the organisation itself and the spaces of its projects.
func (o *Organisation) Parts() iter.Seq[*Organisation] {
	return func(yield func(*Organisation) bool) {
		if !yield(o) {
			return
		}
		for p := range o.Projects.All() {
			if !yield(p.Space) {
				return
			}
		}
	}
}

// Spaces are the parts of all organisations.
func (s *Store) Spaces() iter.Seq[*Organisation] {
	return func(yield func(*Organisation) bool) {
		for org := range s.Organisations.All() {
			for part := range org.Parts() {
				if !yield(part) {
					return
				}
			}
		}
	}
}

// leaving is an object on its way out.
type leaving struct {
	life *object.Life
	// release runs once the object is deleted, also if it is still listed. It is nil after that.
	release func()
	// finish runs once the object is not listed any more.
	finish func()
}

// next is when the next step of the object happens.
func (l leaving) next() time.Time {
	if l.release != nil {
		return l.life.DeletedAt()
	}
	return l.life.GoneAt()
}

type region struct {
	object.Record
	Zones  []wire.Zone
	Public []*address.Pool
}

// MachineType is a type of machines.
type MachineType struct{ wire.MachineType }

// Key implements object.Keyed.
func (t *MachineType) Key() (identity, slug string) { return t.Identity, t.Slug }

// Image is what a machine can be installed from.
type Image struct{ wire.MachineImage }

// Key implements object.Keyed.
func (i *Image) Key() (identity, slug string) { return i.Identity, i.Slug }

// Machine is a virtual machine.
type Machine struct {
	object.Record
	object.Life
	Subnet    *Subnet
	kind      *MachineType
	zone      string
	Image     *Image
	CloudInit *string
	// volumes are those that the latest attachment of which is to the machine.
	volumes   []*Volume
	Addresses []netip.Addr
	stopped   bool
	// boots counts how often the machine was switched on or restarted.
	boots            int
	DeleteProtection bool
	// Groups are the target groups that the machine is attached to.
	Groups map[*TargetGroup]bool

	SecurityGroups []*SecurityGroup
	// Held is the status that SetMachineStatus chose.
	Held string
}

// Loadbalancer distributes connections to the machines of target groups.
type Loadbalancer struct {
	object.Record
	object.Life
	Addressing
	Subnet           *Subnet
	Internal         bool
	DeleteProtection bool
	InstanceSize     string
	Listeners        []*Listener
	SecurityGroups   []*SecurityGroup
	// Held is the status that SetLoadBalancerStatus chose.
	Held string
	// ChangingUntil is until when the latest change takes.
	ChangingUntil time.Time
}

// Listener is a port of a load balancer.
type Listener struct {
	object.Record
	LB             *Loadbalancer
	Group          *TargetGroup
	Port           int
	Protocol       string
	MaxConnections *uint32
	IdleTimeout    *uint32
	AllowedSources []string
}

// TargetGroup is a set of machines that listeners send traffic to.
type TargetGroup struct {
	object.Record
	VPC           *VPC
	Port          int
	Protocol      string
	Selector      map[string]string
	ProxyProtocol *bool
	Policy        string
	Health        *wire.HealthCheck
	Listeners     []*Listener
	Attachments   object.Collection[*Attachment]
}

// Attachment is the membership of a machine in a target group.
type Attachment struct {
	Identity  string
	CreatedAt time.Time
	Machine   *Machine
	// Selected attachments come and go with the group's selector.
	Selected bool
}

// Key makes attachments findable by their own identity and by the machine's.
func (a *Attachment) Key() (identity, slug string) { return a.Identity, a.Machine.Identity }

// Leave deletes an object step by step. release runs once it is deleted, and ends its use of other objects: an object
// that is only still listed must not keep others from being deleted. finish runs once it is not listed any more.
func (o *Organisation) Leave(l *object.Life, release, finish func()) {
	o.leaving = append(o.leaving, leaving{l, release, finish})
}

// FinishDeletions does what is due by now for the objects on their way out.
func (o *Organisation) FinishDeletions(now time.Time) {
	for i := range o.leaving {
		if l := &o.leaving[i]; l.release != nil && l.life.At(now) >= object.Deleted {
			l.release()
			l.release = nil
		}
	}
	o.leaving = slices.DeleteFunc(o.leaving, func(l leaving) bool {
		if l.life.At(now) != object.Gone {
			return false
		}
		l.finish()
		return true
	})
}

// FindSubnet resolves a subnet reference over all organisations; an empty one
// means the first subnet there is.
func (s *Store) FindSubnet(ref string) (*Subnet, error) {
	for org := range s.Spaces() {
		if found, ok := org.Subnets.Find(ref); ok {
			return found, nil
		}
		for first := range org.Subnets.All() {
			if ref == "" {
				return first, nil
			}
			break
		}
	}
	return nil, fmt.Errorf("subnet %q does not exist in any organisation", ref)
}

// FindMachine resolves a machine reference over all organisations.
func (s *Store) FindMachine(ref string) (*Machine, error) {
	for org := range s.Spaces() {
		if found, ok := org.Machines.Find(ref); ok {
			return found, nil
		}
	}
	return nil, apierror.NotFound("machine", ref)
}

// TakeAddresses hands out one address of every pool, or none at all.
func TakeAddresses(pools []*address.Pool) ([]netip.Addr, error) {
	var taken []netip.Addr
	for _, pool := range pools {
		addr, err := pool.Take()
		if err != nil {
			ReleaseAddresses(pools, taken)
			return nil, err
		}
		taken = append(taken, addr)
	}
	return taken, nil
}

// ReleaseAddresses returns addresses to the pools that they belong to.
func ReleaseAddresses(pools []*address.Pool, addrs []netip.Addr) {
	for _, pool := range pools {
		for _, addr := range addrs {
			pool.Release(addr)
		}
	}
}

// Texts are the values as strings; never nil.
func Texts[T fmt.Stringer](values []T) []string {
	out := make([]string, 0, len(values))
	for _, value := range values {
		out = append(out, value.String())
	}
	return out
}

// Lock starts a request or another change of the state: one runs at a time.
func (s *Store) Lock() { s.mu.Lock() }

// Unlock ends what Lock started.
func (s *Store) Unlock() { s.mu.Unlock() }
