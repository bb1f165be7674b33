package emulator

import (
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

type routeTable struct {
	meta
	vpc *vpc
	// isDefault marks the table of subnets that name none.
	isDefault bool
	routes    collection[*routeEntry]
	subnets   collection[*subnet]
}

// wanted makes tables referable: they come and go at once.
func (t *routeTable) wanted() bool { return true }

// short is the route table inside another object: without routes and subnets.
func (t *routeTable) short() *wire.RouteTable {
	return &wire.RouteTable{Meta: t.nested(), IsDefault: t.isDefault, AssociatedSubnets: []wire.Subnet{}}
}

func (t *routeTable) view(now time.Time) wire.RouteTable {
	view := *t.short()
	view.Organisation, view.VPC = t.vpc.org.short(), t.vpc.short()
	view.Routes = t.routeViews(now)
	for s := range t.subnets.all() {
		view.AssociatedSubnets = append(view.AssociatedSubnets, *s.short())
	}
	return view
}

func (t *routeTable) traits() traits {
	return t.meta.traits().reference("vpc", &t.vpc.meta).reference("region", &t.vpc.region.meta)
}

func (e *Emulator) routeTableOperations() map[string]handler {
	const tables = "/v1/route-tables"
	return map[string]handler{
		"GET " + tables:                             e.listRouteTables,
		"POST " + tables:                            e.createRouteTable,
		"GET " + tables + "/{id}":                   e.getRouteTable,
		"PUT " + tables + "/{id}":                   e.updateRouteTable,
		"DELETE " + tables + "/{id}":                e.deleteRouteTable,
		"GET " + tables + "/{id}/routes":            e.listRoutes,
		"POST " + tables + "/{id}/routes":           e.createRoute,
		"PUT " + tables + "/{id}/routes":            e.replaceRoutes,
		"GET " + tables + "/{id}/routes/{route}":    e.getRoute,
		"PUT " + tables + "/{id}/routes/{route}":    e.updateRoute,
		"DELETE " + tables + "/{id}/routes/{route}": e.deleteRoute,
	}
}

func (e *Emulator) listRouteTables(c *call) (reply, error) {
	return listed(c, &c.org.routeTables, (*routeTable).traits, func(t *routeTable) wire.RouteTable {
		view := t.view(c.now)
		if e.switches.BareRouteTables {
			view.Routes, view.AssociatedSubnets = nil, nil
		}
		return view
	})
}

func (c *call) routeTable() (*routeTable, error) {
	return addressed(c, &c.org.routeTables, "route table")
}

func (e *Emulator) getRouteTable(c *call) (reply, error) {
	t, err := c.routeTable()
	if err != nil {
		return reply{}, err
	}
	return one(t.view(c.now)), nil
}

func (e *Emulator) createRouteTable(c *call) (reply, error) {
	in, err := decode[wire.RouteTableInput](c)
	if err != nil {
		return reply{}, err
	}
	if err := checkNew(e, &c.org.routeTables, "route table", specified(in.MetaInput)); err != nil {
		return reply{}, err
	}
	home, err := referred(&c.org.vpcs, "vpcIdentity", "VPC", in.VPCIdentity)
	if err != nil {
		return reply{}, err
	}
	if err := c.org.admit(quotaRouteTables); err != nil {
		return reply{}, err
	}
	t := &routeTable{vpc: home}
	t.meta = newMeta("rtb", specified(in.MetaInput), c.org.routeTables.hasSlug, c.now)
	c.org.addRouteTable(t)
	return created(t.Identity, t.view(c.now)), nil
}

// addRouteTable adds a table. The default one goes with its VPC, and so does not
// keep it from being deleted.
func (o *organisation) addRouteTable(t *routeTable) {
	o.routeTables.add(t)
	if t.isDefault {
		t.vpc.table = t
		return
	}
	t.vpc.users.add("route table", t.Identity)
}

// updateRouteTable keeps the name when the body leaves it out, because clients
// need not send it.
func (e *Emulator) updateRouteTable(c *call) (reply, error) {
	t, err := c.routeTable()
	if err != nil {
		return reply{}, err
	}
	in, err := decode[wire.RouteTableInput](c)
	if err != nil {
		return reply{}, err
	}
	if in.Name == nil {
		in.Name = &t.Name
	}
	next, err := revised(e, c, &c.org.routeTables, "route table", t, in.MetaInput)
	if err != nil {
		return reply{}, err
	}
	t.meta = next
	return changed(t.Identity, t.view(c.now)), nil
}

func (e *Emulator) deleteRouteTable(c *call) (reply, error) {
	t, err := c.routeTable()
	if err != nil {
		return reply{}, err
	}
	if t.isDefault {
		return reply{}, conflict("route table %q is the default of VPC %q and goes with it", t.Identity, t.vpc.Identity)
	}
	for s := range t.subnets.all() {
		return reply{}, conflict("route table %q is in use by subnet %q; give the subnet another one first", t.Identity, s.Identity)
	}
	c.org.removeRouteTable(t)
	return done(t.Identity), nil
}

func (o *organisation) removeRouteTable(t *routeTable) {
	for route := range t.routes.all() {
		t.removeRoute(route)
	}
	t.vpc.users.remove("route table", t.Identity)
	o.routeTables.remove(t)
}

// table is the route table that a request gives to a subnet: absent means the
// current one, "" the default of the VPC.
func (c *call) table(ref *string, home *vpc, current *routeTable) (*routeTable, error) {
	const field = "associatedRouteTableIdentity"
	switch {
	case ref == nil:
		return current, nil
	case *ref == "":
		return home.table, nil
	}
	t, err := referred(&c.org.routeTables, field, "route table", *ref)
	if err == nil && t.vpc != home {
		err = invalid("field %q: route table %q is in another VPC than the subnet", field, *ref)
	}
	return t, err
}
