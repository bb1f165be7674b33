package api

import (
	"fmt"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/behaviour"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/state"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// newRoute checks a route and makes it, outside of the table yet.
func (c *call) newRoute(t *state.RouteTable, at string, in wire.RouteInput) (*state.RouteEntry, error) {
	destination, err := state.ParseNetwork(at+"destinationCidrBlock", in.DestinationCIDRBlock)
	if err != nil {
		return nil, err
	}
	r := &state.RouteEntry{Identity: object.NewIdentity("rte"), Destination: destination}
	targets := 0
	for _, target := range []string{in.TargetGatewayIdentity, in.TargetNATGatewayIdentity,
		in.TargetVPCPeeringConnectionID, in.GatewayAddress} {
		if target != "" {
			targets++
		}
	}
	switch {
	case targets != 1:
		return nil, apierror.Invalid("route %s must have exactly one of %stargetGatewayIdentity, "+
			"targetNatGatewayIdentity, targetVpcPeeringConnectionId and gatewayAddress, not %d",
			destination, at, targets)
	case in.TargetGatewayIdentity != "":
		return nil, apierror.Invalid("field \"%stargetGatewayIdentity\": gateway %q not found", at,
			in.TargetGatewayIdentity)
	case in.TargetVPCPeeringConnectionID != "":
		r.Peering, err = t.Crossing(at+"targetVpcPeeringConnectionId", in.TargetVPCPeeringConnectionID, c.now)
		return r, err
	case in.GatewayAddress != "":
		r.Address, err = t.VPC.GatewayAddress(at+"gatewayAddress", in.GatewayAddress, destination)
		return r, err
	}
	r.Gateway, err = t.NATGateway(at+"targetNatGatewayIdentity", in.TargetNATGatewayIdentity)
	return r, err
}

// route is the route that the path of a request names, and its table.
func (c *call) route() (*state.RouteTable, *state.RouteEntry, error) {
	t, err := c.routeTable()
	if err != nil {
		return nil, nil, err
	}
	r, found := t.Routes.Exact(c.PathValue("route"))
	if !found {
		return nil, nil, apierror.NotFound("route", c.PathValue("route"))
	}
	return t, r, nil
}

func (srv *Server) listRoutes(c *call) (reply, error) {
	t, err := c.routeTable()
	if err != nil {
		return reply{}, err
	}
	return many(t.RouteViews(c.now)), nil
}

func (srv *Server) getRoute(c *call) (reply, error) {
	t, r, err := c.route()
	if err != nil {
		return reply{}, err
	}
	view := r.View(c.now)
	view.RouteTable = t.Short()
	return one(view), nil
}

func (srv *Server) createRoute(c *call) (reply, error) {
	t, err := c.routeTable()
	if err != nil {
		return reply{}, err
	}
	r, err := srv.sentRoute(c, t, nil)
	if err != nil {
		return reply{}, err
	}
	if err := c.org.AdmitTo(state.QuotaRoutes, t.Routes.Len()); err != nil {
		return reply{}, err
	}
	t.AddRoute(r)
	t.Touch(c.now)
	return srv.routeReply(created, t, r, c.now), nil
}

// routeReply is what the cloud answers when a route has been written, by as: created or changed.
func (srv *Server) routeReply(as func(identity string, body any) reply, t *state.RouteTable, r *state.RouteEntry,
	now time.Time) reply {
	switch srv.switches.RouteAnswer {
	case behaviour.AnswerTable:
		return as(r.Identity, t.View(now))
	case behaviour.AnswerNothing:
		return done(r.Identity)
	case behaviour.AnswerRoute:
	}
	return as(r.Identity, r.View(now))
}

// sentRoute is the route of a request's body; the one that it replaces, if any,
// may have the same destination.
func (srv *Server) sentRoute(c *call, t *state.RouteTable, replaced *state.RouteEntry) (*state.RouteEntry, error) {
	in, err := decode[wire.RouteInput](c)
	if err != nil {
		return nil, err
	}
	r, err := c.newRoute(t, "", in)
	if err != nil {
		return nil, err
	}
	if taken, found := t.Routes.Find(r.Destination.String()); found && taken != replaced &&
		!srv.switches.DuplicateRoutes {
		return nil, t.DestinationTaken(r)
	}
	return r, nil
}

// updateRoute replaces a route; it keeps its identity.
func (srv *Server) updateRoute(c *call) (reply, error) {
	t, before, err := c.route()
	if err != nil {
		return reply{}, err
	}
	after, err := srv.sentRoute(c, t, before)
	if err != nil {
		return reply{}, err
	}
	after.Identity = before.Identity
	t.RemoveRoute(before)
	t.AddRoute(after)
	t.Touch(c.now)
	return srv.routeReply(changed, t, after, c.now), nil
}

// replaceRoutes makes the routes of a table exactly those of the request. A
// destination that stays keeps its identity.
func (srv *Server) replaceRoutes(c *call) (reply, error) {
	t, err := c.routeTable()
	if err != nil {
		return reply{}, err
	}
	in, err := decode[wire.RouteBatch](c)
	if err != nil {
		return reply{}, err
	}
	next, err := srv.nextRoutes(c, t, in.Routes)
	if err != nil {
		return reply{}, err
	}
	if before := t.Routes.Len(); next.Len() > before {
		if err := c.org.AdmitTo(state.QuotaRoutes, next.Len()-1); err != nil {
			return reply{}, err
		}
	}
	for before := range t.Routes.All() {
		t.RemoveRoute(before)
	}
	for after := range next.All() {
		t.AddRoute(after)
	}
	t.Touch(c.now)
	answer := many(t.RouteViews(c.now))
	answer.identity = t.Identity
	return answer, nil
}

// nextRoutes are the routes of a batch.
func (srv *Server) nextRoutes(c *call, t *state.RouteTable,
	batch []wire.RouteInput) (next object.Collection[*state.RouteEntry], err error) {
	for i, route := range batch {
		r, err := c.newRoute(t, fmt.Sprintf("routes[%d].", i), route)
		if err != nil {
			return next, err
		}
		twice := next.HasSlug(r.Destination.String())
		if twice && !srv.switches.DuplicateRoutes {
			return next, apierror.Conflict("field \"routes[%d].destinationCidrBlock\": %s is there twice", i,
				r.Destination)
		}
		if before, stays := t.Routes.Find(r.Destination.String()); stays && !twice {
			r.Identity = before.Identity
		}
		next.Add(r)
	}
	return next, nil
}

func (srv *Server) deleteRoute(c *call) (reply, error) {
	t, r, err := c.route()
	if err != nil {
		return reply{}, err
	}
	t.RemoveRoute(r)
	t.Touch(c.now)
	return done(r.Identity), nil
}
