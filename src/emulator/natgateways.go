package emulator

import (
	"net/netip"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

type natGateway struct {
	meta
	life
	addressing
	subnet         *subnet
	securityGroups []*securityGroup
	instanceSize   string
	// defaultRoute is the route that was configured along with the gateway; it
	// goes with it.
	defaultRoute *routeEntry
	// routes are those that send their traffic to the gateway.
	routes map[*routeEntry]bool
}

func (n *natGateway) resource() (kind, identity string) { return resourceNATGateway, n.Identity }
func (n *natGateway) reach() *addressing                { return &n.addressing }
func (n *natGateway) readdressed(now time.Time)         { n.touch(now) }
func (n *natGateway) accepts() error                    { return nil }
func (n *natGateway) home() *region                     { return n.subnet.vpc.region }

// short is the NAT gateway inside a route: without its subnet and VPC.
func (n *natGateway) short(now time.Time) *wire.NATGateway {
	view := &wire.NATGateway{
		Meta: n.nested(), Status: n.at(now).String(), VPCIdentity: n.subnet.vpc.Identity,
		SubnetIdentity: n.subnet.Identity, SecurityGroups: []wire.SecurityGroup{}, InstanceSize: n.instanceSize,
	}
	if n.at(now) == creating {
		return view
	}
	view.V4IP, view.V6IP = families(n.addresses())
	view.EndpointIP = view.V4IP
	if view.EndpointIP == "" {
		view.EndpointIP = view.V6IP
	}
	return view
}

func (n *natGateway) view(now time.Time) wire.NATGateway {
	view := *n.short(now)
	view.Organisation, view.VPC, view.Subnet = n.subnet.vpc.org.short(), n.subnet.vpc.short(), n.subnet.short()
	view.SecurityGroups = securityGroupViews(n.securityGroups, now)
	if ip := n.reserved; ip != nil {
		view.ReservedIPID, view.ReservedIP = ip.Identity, ip.short(now)
	}
	return view
}

func (n *natGateway) traits(now time.Time) traits {
	return n.meta.traits().reference("subnet", &n.subnet.meta).reference("vpc", &n.subnet.vpc.meta).
		reference("region", &n.subnet.vpc.region.meta).with("status", n.at(now).String()).
		with("reservedIp", n.addressing.references()...)
}

func (e *Emulator) natGatewayOperations() map[string]handler {
	const gateways = "/v1/nat-gateways"
	return map[string]handler{
		"GET " + gateways:              e.listNATGateways,
		"POST " + gateways:             e.createNATGateway,
		"GET " + gateways + "/{id}":    e.getNATGateway,
		"PUT " + gateways + "/{id}":    e.updateNATGateway,
		"DELETE " + gateways + "/{id}": e.deleteNATGateway,
	}
}

func (e *Emulator) listNATGateways(c *call) (reply, error) {
	return listed(c, &c.org.natGateways,
		func(n *natGateway) traits { return n.traits(c.now) },
		func(n *natGateway) wire.NATGateway { return n.view(c.now) })
}

func (e *Emulator) getNATGateway(c *call) (reply, error) {
	n, err := addressed(c, &c.org.natGateways, "NAT gateway")
	if err != nil {
		return reply{}, err
	}
	return one(n.view(c.now)), nil
}

func (e *Emulator) createNATGateway(c *call) (reply, error) {
	in, err := decode[wire.NATGatewayInput](c)
	if err != nil {
		return reply{}, err
	}
	if err := checkNew(e, &c.org.natGateways, "NAT gateway", specified(in.MetaInput)); err != nil {
		return reply{}, err
	}
	home, err := referred(&c.org.subnets, "subnetIdentity", "subnet", in.SubnetIdentity)
	if err != nil {
		return reply{}, err
	}
	groups, err := c.org.securityGroupsIn(home.vpc, in.SecurityGroupAttachments)
	if err != nil {
		return reply{}, err
	}
	if err := c.org.admit(quotaNATGateways); err != nil {
		return reply{}, err
	}
	n := &natGateway{
		subnet: home, instanceSize: kept(in.InstanceSize, ""), routes: map[*routeEntry]bool{},
		addressing: addressing{pools: home.vpc.region.public},
		life:       life{readyAt: c.now.Add(e.delays.NATGatewayCreate)},
	}
	n.meta = newMeta("ngw", specified(in.MetaInput), c.org.natGateways.hasSlug, c.now)
	if err := c.openNATGateway(n, in); err != nil {
		return reply{}, err
	}
	c.org.natGateways.add(n)
	home.users.add("NAT gateway", n.Identity)
	n.securityGroups = reattach("NAT gateway", n.Identity, nil, groups)
	return created(n.Identity, n.view(c.now)), nil
}

// openNATGateway gives a new gateway its addresses and, if asked for, the
// default route of its subnet.
func (c *call) openNATGateway(n *natGateway, in wire.NATGatewayInput) error {
	ip, err := c.reservedIP(in.ReservedIPID, n)
	if err != nil {
		return err
	}
	everywhere := &routeEntry{identity: newIdentity("rte"), destination: netip.PrefixFrom(netip.IPv4Unspecified(), 0), gateway: n}
	if in.ConfigureDefaultRoute && n.subnet.table.routes.hasSlug(everywhere.destination.String()) {
		return conflict("field \"configureDefaultRoute\": route table %q has a default route already", n.subnet.table.Identity)
	}
	if err := occupy(n, ip, c.now); err != nil {
		return err
	}
	if in.ConfigureDefaultRoute {
		n.defaultRoute = everywhere
		n.subnet.table.addRoute(everywhere)
		n.subnet.table.touch(c.now)
	}
	return nil
}

func (e *Emulator) updateNATGateway(c *call) (reply, error) {
	n, err := writable(c, &c.org.natGateways, "NAT gateway")
	if err != nil {
		return reply{}, err
	}
	in, err := decode[wire.NATGatewayInput](c)
	if err != nil {
		return reply{}, err
	}
	next, err := revised(e, c, &c.org.natGateways, "NAT gateway", n, in.MetaInput)
	if err != nil {
		return reply{}, err
	}
	groups, err := c.attachments(e.rules(), in.SecurityGroupAttachments, n.securityGroups, n.subnet.vpc)
	if err != nil {
		return reply{}, err
	}
	ip, err := c.reservedIP(in.ReservedIPID, n)
	if err != nil {
		return reply{}, err
	}
	if err := occupy(n, ip, c.now); err != nil {
		return reply{}, err
	}
	n.meta, n.instanceSize = next, kept(in.InstanceSize, n.instanceSize)
	n.securityGroups = reattach("NAT gateway", n.Identity, n.securityGroups, groups)
	return changed(n.Identity, n.view(c.now)), nil
}

// deleteNATGateway removes the default route that came with the gateway. Other
// routes keep it from being deleted.
func (e *Emulator) deleteNATGateway(c *call) (reply, error) {
	n, err := addressed(c, &c.org.natGateways, "NAT gateway")
	if err != nil {
		return reply{}, err
	}
	if !n.wanted() {
		return done(n.Identity), nil
	}
	for route := range n.routes {
		if route != n.defaultRoute {
			return reply{}, conflict("NAT gateway %q is the target of %s in route table %q; delete those routes first",
				n.Identity, route.destination, route.table.Identity)
		}
	}
	if n.defaultRoute != nil {
		n.defaultRoute.table.touch(c.now)
		n.defaultRoute.table.removeRoute(n.defaultRoute)
	}
	n.remove(c.now, e.delays.NetworkDelete, e.delays.NetworkLinger)
	n.touch(c.now)
	if !e.switches.LateRelease {
		n.release(c.now)
	}
	org := c.org
	org.leave(&n.life, func() {
		n.release(n.goneAt())
		n.leave()
		n.subnet.users.remove("NAT gateway", n.Identity)
		org.natGateways.remove(n)
	})
	org.sweep(c.now)
	return done(n.Identity), nil
}

// release lets go of what outlives the gateway.
func (n *natGateway) release(now time.Time) {
	n.securityGroups = reattach("NAT gateway", n.Identity, n.securityGroups, nil)
	n.leaveReserved(now)
}
