package state

import (
	"maps"
	"slices"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/address"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// copyable is an object of the store that refers to others.
type copyable interface {
	// copyReferences replaces everything that may change, of a flat copy, by copies.
	copyReferences(t *copier)
}

// copier are the copies of objects, each made once, however many refer to it.
type copier struct {
	store *Store
	made  map[any]any
	// todo are the copies that still refer to originals. A list instead of a
	// recursion, because everything is connected to everything.
	todo []copyable
}

// Copy is a store of its own with the same content. What leaves it is finished
// in the original only, and so are deletions that wait. The store is locked.
func (s *Store) Copy() *Store {
	t := &copier{store: &Store{
		Switches: s.Switches, network: s.network,
		MachineTypes: s.MachineTypes, Images: s.Images, VolumeTypes: s.VolumeTypes, changed: maps.Clone(s.changed),
		KubernetesVersions: s.KubernetesVersions,
	}, made: map[any]any{}}
	t.store.Regions = copyCollection(t, s.Regions)
	t.store.Organisations = copyCollection(t, s.Organisations)
	for identity, org := range t.store.changed {
		t.store.changed[identity] = copyOf(t, org)
	}
	for len(t.todo) > 0 {
		last := len(t.todo) - 1
		next := t.todo[last]
		t.todo = t.todo[:last]
		next.copyReferences(t)
	}
	return t.store
}

// copyOf is the copy of an object.
func copyOf[T any, P interface {
	*T
	copyable
}](t *copier, object P) P {
	if object == nil {
		return nil
	}
	if made, found := t.made[object].(P); found {
		return made
	}
	copied := P(new(T))
	*copied = *object
	t.made[object] = copied
	t.todo = append(t.todo, copied)
	return copied
}

func copyEach[T any, P interface {
	*T
	copyable
}](t *copier, objects []P) []P {
	var copied []P
	for _, object := range objects {
		copied = append(copied, copyOf(t, object))
	}
	return copied
}

func copyCollection[T any, P interface {
	*T
	copyable
	object.Keyed
}](t *copier, objects object.Collection[P]) object.Collection[P] {
	return object.Collection[P]{
		Order: copyEach(t, objects.Order), ByIdentity: maps.Clone(objects.ByIdentity),
		BySlug: maps.Clone(objects.BySlug),
	}
}

func copyKeys[T any, P interface {
	*T
	copyable
}](t *copier, objects map[P]bool) map[P]bool {
	copied := make(map[P]bool, len(objects))
	for object := range objects {
		copied[copyOf(t, object)] = true
	}
	return copied
}

// copyPools copies pools, which regions and subnets share with those that they
// gave addresses to.
func copyPools(t *copier, pools []*address.Pool) []*address.Pool {
	var copied []*address.Pool
	for _, pool := range pools {
		made, found := t.made[pool].(*address.Pool)
		if !found {
			made = pool.Clone()
			t.made[pool] = made
		}
		copied = append(copied, made)
	}
	return copied
}

func (o *Organisation) copyReferences(t *copier) {
	o.Store, o.root, o.leaving = t.store, copyOf(t, o.root), nil
	o.Projects, o.Directory = copyCollection(t, o.Projects), o.Directory.Copy()
	o.VPCs = copyCollection(t, o.VPCs)
	o.Subnets = copyCollection(t, o.Subnets)
	o.Machines = copyCollection(t, o.Machines)
	o.Loadbalancers = copyCollection(t, o.Loadbalancers)
	o.TargetGroups = copyCollection(t, o.TargetGroups)
	o.CloudInits = copyCollection(t, o.CloudInits)
	o.Peerings = copyCollection(t, o.Peerings)
	o.Filesystems = copyCollection(t, o.Filesystems)
	o.Volumes = copyCollection(t, o.Volumes)
	o.Snapshots = copyCollection(t, o.Snapshots)
	o.SnapshotPolicies = copyCollection(t, o.SnapshotPolicies)
	o.SecurityGroups = copyCollection(t, o.SecurityGroups)
	o.ReservedIPs = copyCollection(t, o.ReservedIPs)
	o.NATGateways = copyCollection(t, o.NATGateways)
	o.RouteTables = copyCollection(t, o.RouteTables)
	o.Clusters = copyCollection(t, o.Clusters)
	o.Buckets = copyCollection(t, o.Buckets)
	o.Selective = copyKeys(t, o.Selective)
	o.limits = maps.Clone(o.limits)
	increases := map[string][]wire.QuotaIncrease{}
	for quota, requests := range o.Increases {
		increases[quota] = slices.Clone(requests)
	}
	o.Increases = increases
}

func (p *Project) copyReferences(t *copier) {
	p.Parent, p.Space = copyOf(t, p.Parent), copyOf(t, p.Space)
}

func (*CloudInit) copyReferences(*copier) {}

func (p *Peering) copyReferences(t *copier) {
	p.Requester, p.Accepter, p.Routes = copyOf(t, p.Requester), copyOf(t, p.Accepter), copyKeys(t, p.Routes)
}

func (f *Filesystem) copyReferences(t *copier) {
	f.Subnet, f.SecurityGroups = copyOf(t, f.Subnet), copyEach(t, f.SecurityGroups)
}

func (v *Volume) copyReferences(t *copier) {
	v.Org, v.Region, v.latest = copyOf(t, v.Org), copyOf(t, v.Region), copyOf(t, v.latest)
	v.RestoredFrom, v.snapshots = copyOf(t, v.RestoredFrom), copyEach(t, v.snapshots)
}

func (s *VolumeSnapshot) copyReferences(t *copier) { s.Source = copyOf(t, s.Source) }

func (p *SnapshotPolicy) copyReferences(t *copier) {
	p.Org, p.Region = copyOf(t, p.Org), copyOf(t, p.Region)
}

func (a *VolumeAttachment) copyReferences(t *copier) { a.Machine = copyOf(t, a.Machine) }

func (r *FirewallRule) copyReferences(t *copier) {
	r.VPC, r.Inner, r.Source, r.DestinationTo = copyOf(t, r.VPC), copyOf(t, r.Inner), copyOf(t, r.Source), copyOf(t,
		r.DestinationTo)
}

func (r *region) copyReferences(t *copier) { r.Public = copyPools(t, r.Public) }

func (v *VPC) copyReferences(t *copier) {
	v.Org, v.Region, v.Subnets = copyOf(t, v.Org), copyOf(t, v.Region), copyEach(t, v.Subnets)
	v.Firewall, v.Table, v.Users = copyCollection(t, v.Firewall), copyOf(t, v.Table), maps.Clone(v.Users)
}

func (s *Subnet) copyReferences(t *copier) {
	s.VPC, s.Pools, s.Table, s.Users = copyOf(t, s.VPC), copyPools(t, s.Pools), copyOf(t, s.Table), maps.Clone(s.Users)
}

func (m *Machine) copyReferences(t *copier) {
	m.Subnet, m.Groups, m.SecurityGroups = copyOf(t, m.Subnet), copyKeys(t, m.Groups), copyEach(t, m.SecurityGroups)
	m.volumes = copyEach(t, m.volumes)
}

func (lb *Loadbalancer) copyReferences(t *copier) {
	lb.Addressing = lb.Addressing.copied(t)
	lb.Subnet, lb.Listeners, lb.SecurityGroups = copyOf(t, lb.Subnet), copyEach(t, lb.Listeners), copyEach(t,
		lb.SecurityGroups)
}

// copied is a copy of the addresses; unlike an object it belongs to one only.
func (a Addressing) copied(t *copier) Addressing {
	a.Pools, a.Reserved = copyPools(t, a.Pools), copyOf(t, a.Reserved)
	return a
}

func (g *SecurityGroup) copyReferences(t *copier) {
	g.VPC, g.Users = copyOf(t, g.VPC), maps.Clone(g.Users)
}

func (ip *ReservedIP) copyReferences(t *copier) {
	ip.Region = copyOf(t, ip.Region)
	switch holder := ip.Holder.(type) {
	case *Loadbalancer:
		ip.Holder = copyOf(t, holder)
	case *NATGateway:
		ip.Holder = copyOf(t, holder)
	}
}

func (n *NATGateway) copyReferences(t *copier) {
	n.Addressing = n.Addressing.copied(t)
	n.Subnet, n.SecurityGroups = copyOf(t, n.Subnet), copyEach(t, n.SecurityGroups)
	n.DefaultRoute, n.Routes = copyOf(t, n.DefaultRoute), copyKeys(t, n.Routes)
}

func (t *RouteTable) copyReferences(made *copier) {
	t.VPC, t.Routes, t.Subnets = copyOf(made, t.VPC), copyCollection(made, t.Routes), copyCollection(made, t.Subnets)
}

func (r *RouteEntry) copyReferences(t *copier) {
	r.Table, r.Gateway, r.Peering = copyOf(t, r.Table), copyOf(t, r.Gateway), copyOf(t, r.Peering)
}

func (b *Bucket) copyReferences(t *copier) { b.Org, b.Region = copyOf(t, b.Org), copyOf(t, b.Region) }

func (k *Cluster) copyReferences(t *copier) {
	k.Org, k.Region, k.Subnet = copyOf(t, k.Org), copyOf(t, k.Region), copyOf(t, k.Subnet)
	k.SecurityGroups, k.Pools = copyEach(t, k.SecurityGroups), copyCollection(t, k.Pools)
}

func (p *NodePool) copyReferences(t *copier) {
	p.Cluster, p.Subnet = copyOf(t, p.Cluster), copyOf(t, p.Subnet)
	p.SecurityGroups, p.machines = copyEach(t, p.SecurityGroups), copyEach(t, p.machines)
}

func (l *Listener) copyReferences(t *copier) { l.LB, l.Group = copyOf(t, l.LB), copyOf(t, l.Group) }

func (g *TargetGroup) copyReferences(t *copier) {
	g.VPC, g.Listeners, g.Attachments = copyOf(t, g.VPC), copyEach(t, g.Listeners), copyCollection(t, g.Attachments)
}

func (a *Attachment) copyReferences(t *copier) { a.Machine = copyOf(t, a.Machine) }
