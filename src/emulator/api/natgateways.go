package api

import (
	"net/netip"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/state"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

func (srv *Server) natGatewayOperations() map[string]handler {
	const gateways = "/v1/nat-gateways"
	return map[string]handler{
		"GET " + gateways:              srv.listNATGateways,
		"POST " + gateways:             srv.createNATGateway,
		"GET " + gateways + "/{id}":    srv.getNATGateway,
		"PUT " + gateways + "/{id}":    srv.updateNATGateway,
		"DELETE " + gateways + "/{id}": srv.deleteNATGateway,
	}
}

func (srv *Server) listNATGateways(c *call) (reply, error) {
	return listed(c, &c.org.NATGateways,
		func(n *state.NATGateway) object.Traits { return n.Traits(c.now) },
		func(n *state.NATGateway) wire.NATGateway { return n.View(c.now) })
}

func (srv *Server) getNATGateway(c *call) (reply, error) {
	n, err := addressed(c, &c.org.NATGateways, "NAT gateway")
	if err != nil {
		return reply{}, err
	}
	return one(n.View(c.now)), nil
}

func (srv *Server) createNATGateway(c *call) (reply, error) {
	in, err := decode[wire.NATGatewayInput](c)
	if err != nil {
		return reply{}, err
	}
	if err := checkNew(srv, &c.org.NATGateways, "NAT gateway", specified(in.MetaInput)); err != nil {
		return reply{}, err
	}
	home, err := object.Referred(&c.org.Subnets, "subnetIdentity", "subnet", in.SubnetIdentity)
	if err != nil {
		return reply{}, err
	}
	groups, err := c.org.SecurityGroupsIn(home.VPC, in.SecurityGroupAttachments)
	if err != nil {
		return reply{}, err
	}
	if err := c.org.Admit(state.QuotaNATGateways); err != nil {
		return reply{}, err
	}
	n := &state.NATGateway{
		Subnet: home, InstanceSize: object.Kept(in.InstanceSize, ""), Routes: map[*state.RouteEntry]bool{},
		Addressing: state.Addressing{Pools: home.VPC.Region.Public},
		Life:       object.Life{ReadyAt: c.now.Add(srv.delays.NATGatewayCreate)},
	}
	n.Record = object.NewRecord("ngw", specified(in.MetaInput), c.org.NATGateways.HasSlug, c.now)
	if err := c.openNATGateway(n, in); err != nil {
		return reply{}, err
	}
	c.org.NATGateways.Add(n)
	home.Users.Add("NAT gateway", n.Identity)
	n.SecurityGroups = state.Reattach("NAT gateway", n.Identity, nil, groups)
	return created(n.Identity, n.View(c.now)), nil
}

// openNATGateway gives a new gateway its addresses and, if asked for, the
// default route of its subnet.
func (c *call) openNATGateway(n *state.NATGateway, in wire.NATGatewayInput) error {
	ip, err := c.reservedIP(in.ReservedIPID, n)
	if err != nil {
		return err
	}
	everywhere := &state.RouteEntry{Identity: object.NewIdentity("rte"),
		Destination: netip.PrefixFrom(netip.IPv4Unspecified(), 0), Gateway: n}
	if in.ConfigureDefaultRoute && n.Subnet.Table.Routes.HasSlug(everywhere.Destination.String()) {
		return apierror.Conflict("field \"configureDefaultRoute\": route table %q has a default route already",
			n.Subnet.Table.Identity)
	}
	if err := state.Occupy(n, ip, c.now); err != nil {
		return err
	}
	if in.ConfigureDefaultRoute {
		n.DefaultRoute = everywhere
		n.Subnet.Table.AddRoute(everywhere)
		n.Subnet.Table.Touch(c.now)
	}
	return nil
}

func (srv *Server) updateNATGateway(c *call) (reply, error) {
	n, err := writable(c, &c.org.NATGateways, "NAT gateway")
	if err != nil {
		return reply{}, err
	}
	in, err := decode[wire.NATGatewayInput](c)
	if err != nil {
		return reply{}, err
	}
	next, err := revised(srv, c, &c.org.NATGateways, "NAT gateway", n, in.MetaInput)
	if err != nil {
		return reply{}, err
	}
	groups, err := c.attachments(srv.rules(), in.SecurityGroupAttachments, n.SecurityGroups, n.Subnet.VPC)
	if err != nil {
		return reply{}, err
	}
	ip, err := c.reservedIP(in.ReservedIPID, n)
	if err != nil {
		return reply{}, err
	}
	if err := state.Occupy(n, ip, c.now); err != nil {
		return reply{}, err
	}
	n.Record, n.InstanceSize = next, object.Kept(in.InstanceSize, n.InstanceSize)
	n.SecurityGroups = state.Reattach("NAT gateway", n.Identity, n.SecurityGroups, groups)
	return changed(n.Identity, n.View(c.now)), nil
}

// deleteNATGateway removes the default route that came with the gateway. Other
// routes keep it from being deleted.
func (srv *Server) deleteNATGateway(c *call) (reply, error) {
	n, err := addressed(c, &c.org.NATGateways, "NAT gateway")
	if err != nil {
		return reply{}, err
	}
	if !n.Active() {
		return done(n.Identity), nil
	}
	for route := range n.Routes {
		if route != n.DefaultRoute {
			return reply{},
				apierror.Conflict("NAT gateway %q is the target of %s in route table %q; delete those routes first",
					n.Identity, route.Destination, route.Table.Identity)
		}
	}
	if n.DefaultRoute != nil {
		n.DefaultRoute.Table.Touch(c.now)
		n.DefaultRoute.Table.RemoveRoute(n.DefaultRoute)
	}
	n.Remove(c.now, srv.delays.NetworkDelete, srv.delays.NetworkLinger)
	n.Touch(c.now)
	if !srv.switches.LateRelease {
		n.Release(c.now)
	}
	n.Depart()
	c.org.FinishDeletions(c.now)
	return done(n.Identity), nil
}
