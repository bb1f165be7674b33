package emulator

import (
	"maps"
	"slices"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/address"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// rewired is an object of the store that refers to others.
type rewired interface {
	// rewire replaces everything that may change, of a flat copy, by copies.
	rewire(t *twins)
}

// twins are the copies of objects, each made once, however many refer to it.
type twins struct {
	store *store
	made  map[any]any
	// todo are the copies that still refer to originals. A list instead of a
	// recursion, because everything is connected to everything.
	todo []rewired
}

// copy is a store of its own with the same content. What leaves it is finished
// in the original only, and so are deletions that wait. The store is locked.
func (s *store) copy() *store {
	t := &twins{store: &store{
		machineTypes: s.machineTypes, images: s.images, changed: maps.Clone(s.changed),
	}, made: map[any]any{}}
	t.store.regions = twinCollection(t, s.regions)
	t.store.organisations = twinCollection(t, s.organisations)
	for identity, org := range t.store.changed {
		t.store.changed[identity] = twin(t, org)
	}
	for len(t.todo) > 0 {
		last := len(t.todo) - 1
		next := t.todo[last]
		t.todo = t.todo[:last]
		next.rewire(t)
	}
	return t.store
}

// twin is the copy of an object.
func twin[T any, P interface {
	*T
	rewired
}](t *twins, object P) P {
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

func twinEach[T any, P interface {
	*T
	rewired
}](t *twins, objects []P) []P {
	var copied []P
	for _, object := range objects {
		copied = append(copied, twin(t, object))
	}
	return copied
}

func twinCollection[T any, P interface {
	*T
	rewired
	keyed
}](t *twins, objects collection[P]) collection[P] {
	return collection[P]{
		order: twinEach(t, objects.order), byIdentity: maps.Clone(objects.byIdentity), bySlug: maps.Clone(objects.bySlug),
	}
}

func twinKeys[T any, P interface {
	*T
	rewired
}](t *twins, objects map[P]bool) map[P]bool {
	copied := make(map[P]bool, len(objects))
	for object := range objects {
		copied[twin(t, object)] = true
	}
	return copied
}

// twinPools copies pools, which regions and subnets share with those that they
// gave addresses to.
func twinPools(t *twins, pools []*address.Pool) []*address.Pool {
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

func (o *organisation) rewire(t *twins) {
	o.store, o.root, o.leaving = t.store, twin(t, o.root), nil
	o.projects = twinCollection(t, o.projects)
	o.accounts = twinCollection(t, o.accounts)
	o.vpcs = twinCollection(t, o.vpcs)
	o.subnets = twinCollection(t, o.subnets)
	o.machines = twinCollection(t, o.machines)
	o.loadbalancers = twinCollection(t, o.loadbalancers)
	o.targetGroups = twinCollection(t, o.targetGroups)
	o.cloudInits = twinCollection(t, o.cloudInits)
	o.peerings = twinCollection(t, o.peerings)
	o.filesystems = twinCollection(t, o.filesystems)
	o.securityGroups = twinCollection(t, o.securityGroups)
	o.reservedIPs = twinCollection(t, o.reservedIPs)
	o.natGateways = twinCollection(t, o.natGateways)
	o.routeTables = twinCollection(t, o.routeTables)
	o.selective = twinKeys(t, o.selective)
	o.limits = maps.Clone(o.limits)
	increases := map[string][]wire.QuotaIncrease{}
	for quota, requests := range o.increases {
		increases[quota] = slices.Clone(requests)
	}
	o.increases = increases
}

func (p *project) rewire(t *twins) { p.parent, p.space = twin(t, p.parent), twin(t, p.space) }

func (a *serviceAccount) rewire(t *twins) { a.org = twin(t, a.org) }

func (*cloudInit) rewire(*twins) {}

func (p *peering) rewire(t *twins) {
	p.requester, p.accepter, p.routes = twin(t, p.requester), twin(t, p.accepter), twinKeys(t, p.routes)
}

func (f *filesystem) rewire(t *twins) {
	f.subnet, f.securityGroups = twin(t, f.subnet), twinEach(t, f.securityGroups)
}

func (r *firewallRule) rewire(t *twins) {
	r.vpc, r.inner, r.source, r.destinationTo = twin(t, r.vpc), twin(t, r.inner), twin(t, r.source), twin(t, r.destinationTo)
}

func (r *region) rewire(t *twins) { r.public = twinPools(t, r.public) }

func (v *vpc) rewire(t *twins) {
	v.org, v.region, v.subnets = twin(t, v.org), twin(t, v.region), twinEach(t, v.subnets)
	v.firewall, v.table, v.users = twinCollection(t, v.firewall), twin(t, v.table), maps.Clone(v.users)
}

func (s *subnet) rewire(t *twins) {
	s.vpc, s.pools, s.table, s.users = twin(t, s.vpc), twinPools(t, s.pools), twin(t, s.table), maps.Clone(s.users)
}

func (m *machine) rewire(t *twins) {
	m.subnet, m.groups, m.securityGroups = twin(t, m.subnet), twinKeys(t, m.groups), twinEach(t, m.securityGroups)
}

func (lb *loadbalancer) rewire(t *twins) {
	lb.addressing = lb.addressing.twin(t)
	lb.subnet, lb.listeners, lb.securityGroups = twin(t, lb.subnet), twinEach(t, lb.listeners), twinEach(t, lb.securityGroups)
}

// twin is a copy of the addresses; unlike an object it belongs to one only.
func (a addressing) twin(t *twins) addressing {
	a.pools, a.reserved = twinPools(t, a.pools), twin(t, a.reserved)
	return a
}

func (g *securityGroup) rewire(t *twins) { g.vpc, g.users = twin(t, g.vpc), maps.Clone(g.users) }

func (ip *reservedIP) rewire(t *twins) {
	ip.region = twin(t, ip.region)
	switch holder := ip.holder.(type) {
	case *loadbalancer:
		ip.holder = twin(t, holder)
	case *natGateway:
		ip.holder = twin(t, holder)
	}
}

func (n *natGateway) rewire(t *twins) {
	n.addressing = n.addressing.twin(t)
	n.subnet, n.securityGroups = twin(t, n.subnet), twinEach(t, n.securityGroups)
	n.defaultRoute, n.routes = twin(t, n.defaultRoute), twinKeys(t, n.routes)
}

func (t *routeTable) rewire(made *twins) {
	t.vpc, t.routes, t.subnets = twin(made, t.vpc), twinCollection(made, t.routes), twinCollection(made, t.subnets)
}

func (r *routeEntry) rewire(t *twins) {
	r.table, r.gateway, r.peering = twin(t, r.table), twin(t, r.gateway), twin(t, r.peering)
}

func (l *listener) rewire(t *twins) { l.lb, l.group = twin(t, l.lb), twin(t, l.group) }

func (g *targetGroup) rewire(t *twins) {
	g.vpc, g.listeners, g.attachments = twin(t, g.vpc), twinEach(t, g.listeners), twinCollection(t, g.attachments)
}

func (a *attachment) rewire(t *twins) { a.machine = twin(t, a.machine) }
