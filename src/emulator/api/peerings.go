package api

import (
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/state"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

func (srv *Server) peeringOperations() map[string]handler {
	const path = "/v1/vpc-peering-connections"
	return map[string]handler{
		"GET " + path:                   srv.listPeerings,
		"POST " + path:                  srv.createPeering,
		"GET " + path + "/{id}":         srv.getPeering,
		"PUT " + path + "/{id}":         srv.updatePeering,
		"DELETE " + path + "/{id}":      srv.deletePeering,
		"POST " + path + "/{id}/accept": srv.acceptPeering,
		"POST " + path + "/{id}/reject": srv.rejectPeering,
	}
}

func (c *call) viewPeering(p *state.Peering) wire.Peering {
	view := wire.Peering{
		Meta: p.Meta, Status: p.State(c.now), StatusMessage: p.Message, Organisation: c.org.Short(),
		RequesterVPC:          &wire.NamedReference{Identity: p.Requester.Identity, Name: p.Requester.Name},
		AccepterVPC:           &wire.NamedReference{Identity: p.Accepter.Identity, Name: p.Accepter.Name},
		RequesterOrganisation: &wire.NamedReference{Identity: p.Requester.Org.Identity, Name: p.Requester.Org.Name},
		AccepterOrganisation:  &wire.NamedReference{Identity: p.Accepter.Org.Identity, Name: p.Accepter.Org.Name},
	}
	if view.Status == state.PeeringPending {
		expires := p.CreatedAt.Add(state.PeeringTimeout)
		view.ExpiresAt = &expires
	}
	// Who is bound to a project learns nothing of a VPC outside of it until that accepts.
	if c.user.Project != "" && p.Accepter.Org != c.org && p.Status != state.PeeringActive {
		view.AccepterVPC.Name = ""
	}
	return view
}

func (c *call) peering() (*state.Peering, error) {
	p, found := c.org.Peerings.Find(c.PathValue("id"))
	if !found {
		return nil, apierror.NotFound("VPC peering connection", c.PathValue("id"))
	}
	return p, nil
}

func (srv *Server) listPeerings(c *call) (reply, error) {
	views := []wire.Peering{}
	for p := range c.org.Peerings.All() {
		if c.filter.Matches(p.Labels, func() object.Traits { return p.Traits(c.now) }) {
			views = append(views, c.viewPeering(p))
		}
	}
	return many(views), nil
}

func (srv *Server) getPeering(c *call) (reply, error) {
	p, err := c.peering()
	if err != nil {
		return reply{}, err
	}
	return one(c.viewPeering(p)), nil
}

func (srv *Server) createPeering(c *call) (reply, error) {
	in, err := decode[wire.PeeringInput](c)
	if err != nil {
		return reply{}, err
	}
	described := specified(in.MetaInput)
	described.Longest = state.PeeringLengths()
	if err := checkNew(srv, &c.org.Peerings, "VPC peering connection", described); err != nil {
		return reply{}, err
	}
	p := &state.Peering{Status: state.PeeringPending, Routes: map[*state.RouteEntry]bool{}}
	if err := c.connect(p, in); err != nil {
		return reply{}, err
	}
	if err := c.org.Admit(state.QuotaPeerings); err != nil {
		return reply{}, err
	}
	taken := func(slug string) bool {
		return p.Requester.Org.Peerings.HasSlug(slug) || p.Accepter.Org.Peerings.HasSlug(slug)
	}
	p.Record = object.NewRecord("vpcpc", described, taken, c.now)
	for _, side := range []*state.VPC{p.Requester, p.Accepter} {
		side.Users.Add(state.PeeringKind, p.Identity)
	}
	p.Requester.Org.Peerings.Add(p)
	if p.Accepter.Org != p.Requester.Org {
		p.Accepter.Org.Peerings.Add(p)
	}
	return created(p.Identity, c.viewPeering(p)), nil
}

// connect finds and checks the two sides.
func (c *call) connect(p *state.Peering, in wire.PeeringInput) error {
	var err error
	if p.Requester, err = object.Referred(&c.org.VPCs, "requesterVpcIdentity", "VPC",
		in.RequesterVPCIdentity); err != nil {
		return err
	}
	var found bool
	other := c.org.Owner()
	if in.AccepterOrganisationIdentity != "" {
		if other, found = c.org.Store.Organisations.Find(in.AccepterOrganisationIdentity); !found {
			return apierror.Invalid("field \"accepterOrganisationIdentity\": organisation %q not found",
				in.AccepterOrganisationIdentity)
		}
	}
	// Who is bound to a project accepts only for its VPCs, and learns nothing of others.
	bound := in.AutoAccept && c.user.Project != ""
	for part := range other.Parts() {
		if bound && part != c.org {
			continue
		}
		if v, found := part.VPCs.Find(in.AccepterVPCIdentity); found && v.Active() && p.Accepter == nil {
			p.Accepter = v
		}
	}
	switch {
	case p.Accepter == nil && bound:
		return apierror.Forbidden("field \"autoAccept\": the token is bound to project %q, and VPC %q is not in it: "+
			"leave autoAccept out, or use a token that is bound to no project", c.user.Project, in.AccepterVPCIdentity)
	case p.Accepter == nil:
		return apierror.Invalid("field \"accepterVpcIdentity\": VPC %q not found", in.AccepterVPCIdentity)
	}
	if err := p.CheckSides("accepterVpcIdentity"); err != nil {
		return err
	}
	switch {
	case in.AutoAccept && (other != c.org.Owner() || p.Accepter.Region != p.Requester.Region):
		return apierror.Invalid("field \"autoAccept\" is allowed within one organisation and region only")
	case in.AutoAccept:
		p.Status = state.PeeringActive
	}
	return nil
}

func (srv *Server) updatePeering(c *call) (reply, error) {
	p, err := c.peering()
	if err != nil {
		return reply{}, err
	}
	in, err := decode[wire.PeeringInput](c)
	if err != nil {
		return reply{}, err
	}
	next, rules := p.Record, srv.rules()
	rules.Longest = state.PeeringLengths()
	if err := next.Describe(rules, in.Name, in.Description, in.Labels, in.Annotations, c.now); err != nil {
		return reply{}, err
	}
	if err := checkUnique(srv, &c.org.Peerings, "VPC peering connection", next.Name, p.Identity); err != nil {
		return reply{}, err
	}
	p.Record = next
	return changed(p.Identity, c.viewPeering(p)), nil
}

func (srv *Server) deletePeering(c *call) (reply, error) {
	p, err := c.peering()
	if err != nil {
		return reply{}, err
	}
	for route := range p.Routes {
		return reply{},
			apierror.Conflict(
				"VPC peering connection %q is the target of %s in route table %q; delete that route first",
				p.Identity, route.Destination, route.Table.Identity)
	}
	for _, side := range []*state.VPC{p.Requester, p.Accepter} {
		side.Users.Remove(state.PeeringKind, p.Identity)
	}
	p.Requester.Org.Peerings.Remove(p)
	p.Accepter.Org.Peerings.Remove(p)
	return done(p.Identity), nil
}

func (srv *Server) acceptPeering(c *call) (reply, error) {
	return c.decidePeering(state.PeeringActive, nil)
}

func (srv *Server) rejectPeering(c *call) (reply, error) {
	in, err := decode[wire.PeeringRejection](c)
	if err != nil {
		return reply{}, err
	}
	return c.decidePeering(state.PeeringRejected, &in.Reason)
}

// decidePeering is for the side that was asked.
func (c *call) decidePeering(status string, message *string) (reply, error) {
	p, err := c.peering()
	switch {
	case err != nil:
		return reply{}, err
	case p.Accepter.Org != c.org:
		return reply{}, apierror.Forbidden("only the organisation of VPC %q may decide this", p.Accepter.Identity)
	case p.State(c.now) != state.PeeringPending:
		return reply{}, apierror.Conflict("VPC peering connection %q is %s, not pending", p.Identity, p.State(c.now))
	case status == state.PeeringActive && p.Overlaps():
		return reply{}, apierror.Conflict("the CIDRs of VPCs %q and %q overlap", p.Requester.Identity,
			p.Accepter.Identity)
	}
	p.Status, p.Message = status, message
	p.Touch(c.now)
	return changed(p.Identity, c.viewPeering(p)), nil
}
