package emulator

import (
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/address"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// store is the state of the cloud. Everything in it is guarded by mu: requests
// run one after the other, which keeps every handler sequential.
type store struct {
	mu            sync.Mutex
	regions       collection[*region]
	machineTypes  collection[*machineType]
	images        collection[*image]
	organisations collection[*organisation]
	// changed are the identities of load balancers whose traffic changed since
	// the data plane was told last, with the organisation they belong to.
	changed map[string]*organisation
	// mentions are what lists say about objects that many others nest.
	mentions mentions
	// now is the moment that the answer being made is about.
	now time.Time
	// deferred are the deletions that were answered and are yet to happen.
	deferred []deferred
	past     history
}

// organisation owns all other objects; nothing refers across organisations.
type organisation struct {
	meta
	store         *store
	vpcs          collection[*vpc]
	subnets       collection[*subnet]
	machines      collection[*machine]
	loadbalancers collection[*loadbalancer]
	targetGroups  collection[*targetGroup]
	cloudInits    collection[*cloudInit]
	peerings      collection[*peering]
	filesystems   collection[*filesystem]

	securityGroups collection[*securityGroup]
	reservedIPs    collection[*reservedIP]
	natGateways    collection[*natGateway]
	routeTables    collection[*routeTable]

	// root is the organisation of a project's space; nil in the organisation's own.
	root     *organisation
	projects collection[*project]
	// accounts are the service accounts; they never change.
	accounts collection[*serviceAccount]
	// limits are the quotas that were set, increases what was asked for.
	limits    map[string]int
	increases map[string][]wire.QuotaIncrease
	// selective are the target groups with a selector, or with machines that one selected.
	selective map[*targetGroup]bool
	// leaving are the objects that were deleted and are not gone yet.
	leaving []leaving
}

// newSpace is an organisation, or a project's part of one, without any objects.
func newSpace(s *store, m meta, root *organisation) *organisation {
	return &organisation{
		store: s, meta: m, root: root, selective: map[*targetGroup]bool{},
		limits: map[string]int{}, increases: map[string][]wire.QuotaIncrease{},
	}
}

// owner is the organisation that a space belongs to.
func (o *organisation) owner() *organisation {
	if o.root != nil {
		return o.root
	}
	return o
}

// parts are the organisation itself and the spaces of its projects.
func (o *organisation) parts() iter.Seq[*organisation] {
	return func(yield func(*organisation) bool) {
		if !yield(o) {
			return
		}
		for p := range o.projects.all() {
			if !yield(p.space) {
				return
			}
		}
	}
}

// spaces are the parts of all organisations.
func (s *store) spaces() iter.Seq[*organisation] {
	return func(yield func(*organisation) bool) {
		for org := range s.organisations.all() {
			for part := range org.parts() {
				if !yield(part) {
					return
				}
			}
		}
	}
}

// leaving is an object on its way out, and what to do once it is gone.
type leaving struct {
	life   *life
	finish func()
}

type region struct {
	meta
	zones  []wire.Zone
	public []*address.Pool
}

type machineType struct{ wire.MachineType }

func (t *machineType) key() (identity, slug string) { return t.Identity, t.Slug }

type image struct{ wire.MachineImage }

func (i *image) key() (identity, slug string) { return i.Identity, i.Slug }

type machine struct {
	meta
	life
	subnet     *subnet
	kind       *machineType
	zone       string
	image      *image
	rootVolume *wire.RootVolume
	cloudInit  *string
	addresses  []netip.Addr
	stopped    bool
	// boots counts how often the machine was switched on or restarted.
	boots            int
	deleteProtection bool
	// groups are the target groups that the machine is attached to.
	groups map[*targetGroup]bool

	securityGroups []*securityGroup
	// held is the status that SetMachineStatus chose.
	held string
}

type loadbalancer struct {
	meta
	life
	addressing
	subnet           *subnet
	internal         bool
	deleteProtection bool
	instanceSize     string
	listeners        []*listener
	securityGroups   []*securityGroup
	// held is the status that SetLoadBalancerStatus chose.
	held string
	// changingUntil is until when the latest change takes.
	changingUntil time.Time
}

type listener struct {
	meta
	lb             *loadbalancer
	group          *targetGroup
	port           int
	protocol       string
	maxConnections *uint32
	idleTimeout    *uint32
	allowedSources []string
}

type targetGroup struct {
	meta
	vpc           *vpc
	port          int
	protocol      string
	selector      map[string]string
	proxyProtocol *bool
	policy        string
	health        *wire.HealthCheck
	listeners     []*listener
	attachments   collection[*attachment]
}

type attachment struct {
	identity  string
	createdAt time.Time
	machine   *machine
	// selected attachments come and go with the group's selector.
	selected bool
}

// key makes attachments findable by their own identity and by the machine's.
func (a *attachment) key() (identity, slug string) { return a.identity, a.machine.Identity }

// leave deletes an object step by step: finish runs once its life is over.
func (o *organisation) leave(l *life, finish func()) {
	o.leaving = append(o.leaving, leaving{l, finish})
}

// sweep finishes the objects that are gone by now.
func (o *organisation) sweep(now time.Time) {
	o.leaving = slices.DeleteFunc(o.leaving, func(l leaving) bool {
		if l.life.at(now) != gone {
			return false
		}
		l.finish()
		return true
	})
}

// findSubnet resolves a subnet reference over all organisations; an empty one
// means the first subnet there is.
func (s *store) findSubnet(ref string) (*subnet, error) {
	for org := range s.spaces() {
		if found, ok := org.subnets.find(ref); ok {
			return found, nil
		}
		for first := range org.subnets.all() {
			if ref == "" {
				return first, nil
			}
			break
		}
	}
	return nil, fmt.Errorf("subnet %q does not exist in any organisation", ref)
}

// findMachine resolves a machine reference over all organisations.
func (s *store) findMachine(ref string) (*machine, error) {
	for org := range s.spaces() {
		if found, ok := org.machines.find(ref); ok {
			return found, nil
		}
	}
	return nil, notFound("machine", ref)
}

// takeAddresses hands out one address of every pool, or none at all.
func takeAddresses(pools []*address.Pool) ([]netip.Addr, error) {
	var taken []netip.Addr
	for _, pool := range pools {
		addr, err := pool.Take()
		if err != nil {
			releaseAddresses(pools, taken)
			return nil, err
		}
		taken = append(taken, addr)
	}
	return taken, nil
}

func releaseAddresses(pools []*address.Pool, addrs []netip.Addr) {
	for _, pool := range pools {
		for _, addr := range addrs {
			pool.Release(addr)
		}
	}
}

func texts[T fmt.Stringer](values []T) []string {
	out := make([]string, 0, len(values))
	for _, value := range values {
		out = append(out, value.String())
	}
	return out
}
