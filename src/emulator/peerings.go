package emulator

import (
	"slices"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// The states of a peering connection.
const (
	peeringPending  = "pending"
	peeringActive   = "active"
	peeringRejected = "rejected"
	peeringExpired  = "expired"
)

// peeringPatience is how long a request waits for an answer.
const peeringPatience = 7 * 24 * time.Hour

// peering connects two VPCs. Both sides list it, perhaps in two organisations.
type peering struct {
	meta
	requester, accepter *vpc
	status              string
	message             *string
	// routes are those that send their traffic across.
	routes map[*routeEntry]bool
}

// peeringKind is how messages call a peering connection.
const peeringKind = "VPC peering connection"

func (e *Emulator) peeringOperations() map[string]handler {
	const path = "/v1/vpc-peering-connections"
	return map[string]handler{
		"GET " + path:                   e.listPeerings,
		"POST " + path:                  e.createPeering,
		"GET " + path + "/{id}":         e.getPeering,
		"PUT " + path + "/{id}":         e.updatePeering,
		"DELETE " + path + "/{id}":      e.deletePeering,
		"POST " + path + "/{id}/accept": e.acceptPeering,
		"POST " + path + "/{id}/reject": e.rejectPeering,
	}
}

// state is the status, which a request that nobody answered changes by itself.
func (p *peering) state(now time.Time) string {
	if p.status == peeringPending && !now.Before(p.CreatedAt.Add(peeringPatience)) {
		return peeringExpired
	}
	return p.status
}

func (p *peering) view(c *call) wire.Peering {
	view := wire.Peering{
		Meta: p.Meta, Status: p.state(c.now), StatusMessage: p.message, Organisation: c.org.short(),
		RequesterVPC:          &wire.NamedReference{Identity: p.requester.Identity, Name: p.requester.Name},
		AccepterVPC:           &wire.NamedReference{Identity: p.accepter.Identity, Name: p.accepter.Name},
		RequesterOrganisation: &wire.NamedReference{Identity: p.requester.org.Identity, Name: p.requester.org.Name},
		AccepterOrganisation:  &wire.NamedReference{Identity: p.accepter.org.Identity, Name: p.accepter.org.Name},
	}
	if view.Status == peeringPending {
		expires := p.CreatedAt.Add(peeringPatience)
		view.ExpiresAt = &expires
	}
	return view
}

func (p *peering) traits(now time.Time) traits {
	return p.meta.traits().with("status", p.state(now)).
		with("vpc", p.requester.Identity, p.requester.Slug, p.accepter.Identity, p.accepter.Slug)
}

func (c *call) peering() (*peering, error) {
	p, found := c.org.peerings.find(c.PathValue("id"))
	if !found {
		return nil, notFound("VPC peering connection", c.PathValue("id"))
	}
	return p, nil
}

func (e *Emulator) listPeerings(c *call) (reply, error) {
	views := []wire.Peering{}
	for p := range c.org.peerings.all() {
		if c.filter.matches(p.Labels, func() traits { return p.traits(c.now) }) {
			views = append(views, p.view(c))
		}
	}
	return many(views), nil
}

func (e *Emulator) getPeering(c *call) (reply, error) {
	p, err := c.peering()
	if err != nil {
		return reply{}, err
	}
	return one(p.view(c)), nil
}

func (e *Emulator) createPeering(c *call) (reply, error) {
	in, err := decode[wire.PeeringInput](c)
	if err != nil {
		return reply{}, err
	}
	described := specified(in.MetaInput)
	if err := checkMeta(described); err != nil {
		return reply{}, err
	}
	p := &peering{status: peeringPending, routes: map[*routeEntry]bool{}}
	if err := p.connect(c, in); err != nil {
		return reply{}, err
	}
	if err := c.org.admit(quotaPeerings); err != nil {
		return reply{}, err
	}
	taken := func(slug string) bool {
		return p.requester.org.peerings.hasSlug(slug) || p.accepter.org.peerings.hasSlug(slug)
	}
	p.meta = newMeta("vpcpc", described, taken, c.now)
	for _, side := range []*vpc{p.requester, p.accepter} {
		side.users.add(peeringKind, p.Identity)
	}
	p.requester.org.peerings.add(p)
	if p.accepter.org != p.requester.org {
		p.accepter.org.peerings.add(p)
	}
	return created(p.Identity, p.view(c)), nil
}

// connect finds and checks the two sides.
func (p *peering) connect(c *call, in wire.PeeringInput) error {
	var err error
	if p.requester, err = referred(&c.org.vpcs, "requesterVpcIdentity", "VPC", in.RequesterVPCIdentity); err != nil {
		return err
	}
	var found bool
	other := c.org.owner()
	if in.AccepterOrganisationIdentity != "" {
		if other, found = c.org.store.organisations.find(in.AccepterOrganisationIdentity); !found {
			return invalid("field \"accepterOrganisationIdentity\": organisation %q not found", in.AccepterOrganisationIdentity)
		}
	}
	for part := range other.parts() {
		if v, found := part.vpcs.find(in.AccepterVPCIdentity); found && v.wanted() && p.accepter == nil {
			p.accepter = v
		}
	}
	switch {
	case p.accepter == nil:
		return invalid("field \"accepterVpcIdentity\": VPC %q not found", in.AccepterVPCIdentity)
	case p.accepter == p.requester:
		return invalid("field \"accepterVpcIdentity\": a VPC cannot be connected with itself")
	case p.overlaps():
		return invalid("the CIDRs of VPCs %q and %q overlap", p.requester.Identity, p.accepter.Identity)
	case in.AutoAccept && (other != c.org.owner() || p.accepter.region != p.requester.region):
		return invalid("field \"autoAccept\" is allowed within one organisation and region only")
	case in.AutoAccept:
		p.status = peeringActive
	}
	return nil
}

func (p *peering) overlaps() bool {
	for _, ours := range p.requester.cidrs {
		if slices.ContainsFunc(p.accepter.cidrs, ours.Overlaps) {
			return true
		}
	}
	return false
}

func (e *Emulator) updatePeering(c *call) (reply, error) {
	p, err := c.peering()
	if err != nil {
		return reply{}, err
	}
	in, err := decode[wire.PeeringInput](c)
	if err != nil {
		return reply{}, err
	}
	if err := p.describe(e.rules(), in.Name, in.Description, in.Labels, in.Annotations, c.now); err != nil {
		return reply{}, err
	}
	return changed(p.Identity, p.view(c)), nil
}

func (e *Emulator) deletePeering(c *call) (reply, error) {
	p, err := c.peering()
	if err != nil {
		return reply{}, err
	}
	for route := range p.routes {
		return reply{}, conflict("VPC peering connection %q is the target of %s in route table %q; delete that route first",
			p.Identity, route.destination, route.table.Identity)
	}
	for _, side := range []*vpc{p.requester, p.accepter} {
		side.users.remove(peeringKind, p.Identity)
	}
	p.requester.org.peerings.remove(p)
	p.accepter.org.peerings.remove(p)
	return done(p.Identity), nil
}

func (e *Emulator) acceptPeering(c *call) (reply, error) { return c.decidePeering(peeringActive, nil) }

func (e *Emulator) rejectPeering(c *call) (reply, error) {
	in, err := decode[wire.PeeringRejection](c)
	if err != nil {
		return reply{}, err
	}
	return c.decidePeering(peeringRejected, &in.Reason)
}

// decidePeering is for the side that was asked.
func (c *call) decidePeering(status string, message *string) (reply, error) {
	p, err := c.peering()
	switch {
	case err != nil:
		return reply{}, err
	case p.accepter.org != c.org:
		return reply{}, forbidden("only the organisation of VPC %q may decide this", p.accepter.Identity)
	case p.state(c.now) != peeringPending:
		return reply{}, conflict("VPC peering connection %q is %s, not pending", p.Identity, p.state(c.now))
	}
	p.status, p.message = status, message
	p.touch(c.now)
	return changed(p.Identity, p.view(c)), nil
}
