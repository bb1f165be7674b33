package api

import (
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/state"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

func (srv *Server) routeTableOperations() map[string]handler {
	const tables = "/v1/route-tables"
	return map[string]handler{
		"GET " + tables:                             srv.listRouteTables,
		"POST " + tables:                            srv.createRouteTable,
		"GET " + tables + "/{id}":                   srv.getRouteTable,
		"PUT " + tables + "/{id}":                   srv.updateRouteTable,
		"DELETE " + tables + "/{id}":                srv.deleteRouteTable,
		"GET " + tables + "/{id}/routes":            srv.listRoutes,
		"POST " + tables + "/{id}/routes":           srv.createRoute,
		"PUT " + tables + "/{id}/routes":            srv.replaceRoutes,
		"GET " + tables + "/{id}/routes/{route}":    srv.getRoute,
		"PUT " + tables + "/{id}/routes/{route}":    srv.updateRoute,
		"DELETE " + tables + "/{id}/routes/{route}": srv.deleteRoute,
	}
}

func (srv *Server) listRouteTables(c *call) (reply, error) {
	return listed(c, &c.org.RouteTables, (*state.RouteTable).Traits, func(t *state.RouteTable) wire.RouteTable {
		view := t.View(c.now)
		if srv.switches.BareRouteTables {
			view.Routes, view.AssociatedSubnets = nil, nil
		}
		return view
	})
}

func (c *call) routeTable() (*state.RouteTable, error) {
	return addressed(c, &c.org.RouteTables, "route table")
}

func (srv *Server) getRouteTable(c *call) (reply, error) {
	t, err := c.routeTable()
	if err != nil {
		return reply{}, err
	}
	return one(t.View(c.now)), nil
}

func (srv *Server) createRouteTable(c *call) (reply, error) {
	in, err := decode[wire.RouteTableInput](c)
	if err != nil {
		return reply{}, err
	}
	if err := checkNew(srv, &c.org.RouteTables, "route table", specified(in.MetaInput)); err != nil {
		return reply{}, err
	}
	home, err := object.Referred(&c.org.VPCs, "vpcIdentity", "VPC", in.VPCIdentity)
	if err != nil {
		return reply{}, err
	}
	if err := c.org.Admit(state.QuotaRouteTables); err != nil {
		return reply{}, err
	}
	t := &state.RouteTable{VPC: home}
	t.Record = object.NewRecord("rtb", specified(in.MetaInput), c.org.RouteTables.HasSlug, c.now)
	c.org.AddRouteTable(t)
	return created(t.Identity, t.View(c.now)), nil
}

// updateRouteTable keeps the name when the body leaves it out, because clients
// need not send it.
func (srv *Server) updateRouteTable(c *call) (reply, error) {
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
	next, err := revised(srv, c, &c.org.RouteTables, "route table", t, in.MetaInput)
	if err != nil {
		return reply{}, err
	}
	t.Record = next
	return changed(t.Identity, t.View(c.now)), nil
}

func (srv *Server) deleteRouteTable(c *call) (reply, error) {
	t, err := c.routeTable()
	if err != nil {
		return reply{}, err
	}
	if t.IsDefault {
		return reply{}, apierror.Conflict("route table %q is the default of VPC %q and goes with it", t.Identity,
			t.VPC.Identity)
	}
	for s := range t.Subnets.All() {
		return reply{}, apierror.Conflict("route table %q is in use by subnet %q; give the subnet another one first",
			t.Identity, s.Identity)
	}
	c.org.RemoveRouteTable(t)
	return done(t.Identity), nil
}

// table is the route table that a request gives to a subnet, and whether it was named for the subnet: absent means the
// current one, "" the default of the VPC.
func (c *call) table(ref *string, home *state.VPC, current *state.RouteTable,
	own bool) (*state.RouteTable, bool, error) {
	const field = "associatedRouteTableIdentity"
	switch {
	case ref == nil:
		return current, own, nil
	case *ref == "":
		return home.Table, false, nil
	}
	t, err := object.Referred(&c.org.RouteTables, field, "route table", *ref)
	if err == nil && t.VPC != home {
		err = apierror.Invalid("field %q: route table %q is in another VPC than the subnet", field, *ref)
	}
	return t, true, err
}
