package emulator

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// routeEntry is a route of a route table. One of its targets is set. It
// is replaced and never modified while it is in a table.
type routeEntry struct {
	identity    string
	table       *routeTable
	destination netip.Prefix
	gateway     *natGateway
	peering     *peering
	address     netip.Addr
}

// key makes a destination unique within its table.
func (r *routeEntry) key() (identity, slug string) { return r.identity, r.destination.String() }

func (r *routeEntry) view(now time.Time) wire.RouteEntry {
	view := wire.RouteEntry{Identity: r.identity, DestinationCIDRBlock: r.destination.String()}
	switch {
	case r.gateway != nil:
		view.TargetNATGatewayIdentity, view.TargetNATGateway = r.gateway.Identity, r.gateway.short(now)
		view.Type = "natGateway"
	case r.peering != nil:
		view.TargetVPCPeeringConnectionID, view.Type = r.peering.Identity, "vpcPeering"
	default:
		view.GatewayAddress, view.Type = r.address.String(), "gatewayAddress"
	}
	return view
}

func (t *routeTable) routeViews(now time.Time) []wire.RouteEntry {
	views := make([]wire.RouteEntry, 0, t.routes.len())
	for r := range t.routes.all() {
		views = append(views, r.view(now))
	}
	return views
}

func (t *routeTable) addRoute(r *routeEntry) {
	r.table = t
	t.routes.add(r)
	if users := r.users(); users != nil {
		users[r] = true
	}
}

func (t *routeTable) removeRoute(r *routeEntry) {
	t.routes.remove(r)
	delete(r.users(), r)
	if r.gateway != nil && r.gateway.defaultRoute == r {
		r.gateway.defaultRoute = nil
	}
}

// users is where the target of a route knows it, if the target is an object.
func (r *routeEntry) users() map[*routeEntry]bool {
	switch {
	case r.gateway != nil:
		return r.gateway.routes
	case r.peering != nil:
		return r.peering.routes
	}
	return nil
}

// newRoute checks a route and makes it, outside of the table yet.
func (c *call) newRoute(t *routeTable, at string, in wire.RouteInput) (*routeEntry, error) {
	destination, err := parseNetwork(at+"destinationCidrBlock", in.DestinationCIDRBlock)
	if err != nil {
		return nil, err
	}
	r := &routeEntry{identity: newIdentity("rte"), destination: destination}
	targets := 0
	for _, target := range []string{in.TargetGatewayIdentity, in.TargetNATGatewayIdentity, in.TargetVPCPeeringConnectionID, in.GatewayAddress} {
		if target != "" {
			targets++
		}
	}
	switch {
	case targets != 1:
		return nil, invalid("route %s must have exactly one of %stargetGatewayIdentity, targetNatGatewayIdentity, targetVpcPeeringConnectionId and gatewayAddress, not %d",
			destination, at, targets)
	case in.TargetGatewayIdentity != "":
		return nil, invalid("field \"%stargetGatewayIdentity\": gateway %q not found", at, in.TargetGatewayIdentity)
	case in.TargetVPCPeeringConnectionID != "":
		r.peering, err = c.crossing(t, at+"targetVpcPeeringConnectionId", in.TargetVPCPeeringConnectionID)
		return r, err
	case in.GatewayAddress != "":
		r.address, err = t.vpc.gatewayAddress(at+"gatewayAddress", in.GatewayAddress, destination)
		return r, err
	}
	r.gateway, err = referred(&c.org.natGateways, at+"targetNatGatewayIdentity", "NAT gateway", in.TargetNATGatewayIdentity)
	if err == nil && r.gateway.subnet.vpc != t.vpc {
		err = invalid("field \"%stargetNatGatewayIdentity\": NAT gateway %q is in another VPC than the route table", at, in.TargetNATGatewayIdentity)
	}
	return r, err
}

// crossing is the peering connection that a route of a VPC uses.
func (c *call) crossing(t *routeTable, field, ref string) (*peering, error) {
	p, found := c.org.peerings.find(ref)
	switch {
	case !found || p.requester != t.vpc && p.accepter != t.vpc:
		return nil, invalid("field %q: VPC peering connection %q not found in VPC %q", field, ref, t.vpc.Identity)
	case p.state(c.now) != peeringActive:
		return nil, conflict("field %q: VPC peering connection %q is %s, not active", field, ref, p.state(c.now))
	}
	return p, nil
}

// gatewayAddress reads the address that a route sends its traffic to.
func (v *vpc) gatewayAddress(field, text string, destination netip.Prefix) (netip.Addr, error) {
	addr, err := netip.ParseAddr(text)
	switch {
	case err != nil:
		return addr, invalid("field %q: %q is not an IP address", field, text)
	case !within(netip.PrefixFrom(addr, addr.BitLen()), v.cidrs):
		return addr, invalid("field %q: %s is outside VPC %q", field, addr, v.Identity)
	case addr.Is4() != destination.Addr().Is4():
		return addr, invalid("field %q: %s and destination %s are of different address families", field, addr, destination)
	}
	return addr, nil
}

// route is the route that the path of a request names, and its table.
func (c *call) route() (*routeTable, *routeEntry, error) {
	t, err := c.routeTable()
	if err != nil {
		return nil, nil, err
	}
	r, found := t.routes.exact(c.PathValue("route"))
	if !found {
		return nil, nil, notFound("route", c.PathValue("route"))
	}
	return t, r, nil
}

func (e *Emulator) listRoutes(c *call) (reply, error) {
	t, err := c.routeTable()
	if err != nil {
		return reply{}, err
	}
	return many(t.routeViews(c.now)), nil
}

func (e *Emulator) getRoute(c *call) (reply, error) {
	t, r, err := c.route()
	if err != nil {
		return reply{}, err
	}
	view := r.view(c.now)
	view.RouteTable = t.short()
	return one(view), nil
}

func (e *Emulator) createRoute(c *call) (reply, error) {
	t, err := c.routeTable()
	if err != nil {
		return reply{}, err
	}
	r, err := e.sentRoute(c, t, nil)
	if err != nil {
		return reply{}, err
	}
	if err := c.org.admitTo(quotaRoutes, t.routes.len()); err != nil {
		return reply{}, err
	}
	t.addRoute(r)
	t.touch(c.now)
	return e.routeReply(created, t, r, c.now), nil
}

// routeReply is what the cloud answers when a route has been written, by as: created or changed.
func (e *Emulator) routeReply(as func(identity string, body any) reply, t *routeTable, r *routeEntry, now time.Time) reply {
	switch e.switches.RouteAnswer {
	case AnswerTable:
		return as(r.identity, t.view(now))
	case AnswerNothing:
		return done(r.identity)
	case AnswerRoute:
	}
	return as(r.identity, r.view(now))
}

// sentRoute is the route of a request's body; the one that it replaces, if any,
// may have the same destination.
func (e *Emulator) sentRoute(c *call, t *routeTable, replaced *routeEntry) (*routeEntry, error) {
	in, err := decode[wire.RouteInput](c)
	if err != nil {
		return nil, err
	}
	r, err := c.newRoute(t, "", in)
	if err != nil {
		return nil, err
	}
	if taken, found := t.routes.find(r.destination.String()); found && taken != replaced && !e.switches.DuplicateRoutes {
		return nil, t.destinationTaken(r)
	}
	return r, nil
}

func (t *routeTable) destinationTaken(r *routeEntry) error {
	return conflict("route table %q has a route to %s already", t.Identity, r.destination)
}

// updateRoute replaces a route; it keeps its identity.
func (e *Emulator) updateRoute(c *call) (reply, error) {
	t, before, err := c.route()
	if err != nil {
		return reply{}, err
	}
	after, err := e.sentRoute(c, t, before)
	if err != nil {
		return reply{}, err
	}
	after.identity = before.identity
	t.removeRoute(before)
	t.addRoute(after)
	t.touch(c.now)
	return e.routeReply(changed, t, after, c.now), nil
}

// replaceRoutes makes the routes of a table exactly those of the request. A
// destination that stays keeps its identity.
func (e *Emulator) replaceRoutes(c *call) (reply, error) {
	t, err := c.routeTable()
	if err != nil {
		return reply{}, err
	}
	in, err := decode[wire.RouteBatch](c)
	if err != nil {
		return reply{}, err
	}
	next, err := e.nextRoutes(c, t, in.Routes)
	if err != nil {
		return reply{}, err
	}
	if before := t.routes.len(); next.len() > before {
		if err := c.org.admitTo(quotaRoutes, next.len()-1); err != nil {
			return reply{}, err
		}
	}
	for before := range t.routes.all() {
		t.removeRoute(before)
	}
	for after := range next.all() {
		t.addRoute(after)
	}
	t.touch(c.now)
	answer := many(t.routeViews(c.now))
	answer.identity = t.Identity
	return answer, nil
}

// nextRoutes are the routes of a batch.
func (e *Emulator) nextRoutes(c *call, t *routeTable, batch []wire.RouteInput) (next collection[*routeEntry], err error) {
	for i, route := range batch {
		r, err := c.newRoute(t, fmt.Sprintf("routes[%d].", i), route)
		if err != nil {
			return next, err
		}
		twice := next.hasSlug(r.destination.String())
		if twice && !e.switches.DuplicateRoutes {
			return next, conflict("field \"routes[%d].destinationCidrBlock\": %s is there twice", i, r.destination)
		}
		if before, stays := t.routes.find(r.destination.String()); stays && !twice {
			r.identity = before.identity
		}
		next.add(r)
	}
	return next, nil
}

func (e *Emulator) deleteRoute(c *call) (reply, error) {
	t, r, err := c.route()
	if err != nil {
		return reply{}, err
	}
	t.removeRoute(r)
	t.touch(c.now)
	return done(r.identity), nil
}
