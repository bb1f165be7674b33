package api

import (
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/state"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

func (c *call) viewGroup(g *state.TargetGroup) wire.TargetGroup {
	view := *g.Short()
	view.Organisation = g.VPC.Org.Short()
	for _, l := range g.Listeners {
		view.LoadbalancerListeners = append(view.LoadbalancerListeners, l.Short())
	}
	view.Attachments = make([]wire.Attachment, 0, g.Attachments.Len())
	for a := range g.Attachments.All() {
		view.Attachments = append(view.Attachments, c.viewAttachment(a))
	}
	return view
}

func (c *call) targetGroup() (*state.TargetGroup, error) {
	g, found := c.org.TargetGroups.Find(c.PathValue("id"))
	if !found {
		return nil, apierror.NotFound("target group", c.PathValue("id"))
	}
	return g, nil
}

func (srv *Server) listTargetGroups(c *call) (reply, error) {
	views := []wire.TargetGroup{}
	for g := range c.org.TargetGroups.All() {
		if c.filter.Matches(g.Labels, g.Traits) {
			views = append(views, c.viewGroup(g))
		}
	}
	return many(views), nil
}

func (srv *Server) getTargetGroup(c *call) (reply, error) {
	g, err := c.targetGroup()
	if err != nil {
		return reply{}, err
	}
	return one(c.viewGroup(g)), nil
}

func (srv *Server) createTargetGroup(c *call) (reply, error) {
	in, err := decode[wire.TargetGroupInput](c)
	if err != nil {
		return reply{}, err
	}
	described := object.Spec{
		Name:        object.Value(object.UpdateRules{}, in.Name, ""),
		Description: object.Value(object.UpdateRules{}, in.Description, ""),
		Labels:      in.Labels, Annotations: in.Annotations,
	}
	if err := checkNew(srv, &c.org.TargetGroups, "target group", described); err != nil {
		return reply{}, err
	}
	home, err := object.Referred(&c.org.VPCs, "vpc", "VPC", in.VPC)
	if err != nil {
		return reply{}, err
	}
	if err := c.org.Admit(state.QuotaTargetGroups); err != nil {
		return reply{}, err
	}
	g := &state.TargetGroup{VPC: home}
	if err := srv.configureGroup(g, in, object.UpdateRules{}); err != nil {
		return reply{}, err
	}
	g.Record = object.NewRecord("tg", described, c.org.TargetGroups.HasSlug, c.now)
	c.org.TargetGroups.Add(g)
	home.Users.Add("target group", g.Identity)
	c.org.Fill(g, c.now)
	return created(g.Identity, c.viewGroup(g)), nil
}

// configureGroup applies the settings of an input, or none of them.
func (srv *Server) configureGroup(g *state.TargetGroup, in wire.TargetGroupInput, r object.UpdateRules) error {
	next := *g
	next.Port = object.Value(r, in.TargetPort, g.Port)
	next.Protocol = object.Value(r, in.Protocol, g.Protocol)
	next.Selector = object.Copied(object.Settled(r, in.TargetSelector, g.Selector))
	next.ProxyProtocol = object.Optional(r, in.EnableProxyProtocol, g.ProxyProtocol)
	next.Policy = object.Settled(r, in.LoadbalancingPolicy, g.Policy)
	next.Health = r.HealthCheck(in.HealthCheck, g.Health)
	if next.Policy == "" && srv.switches.DefaultPolicies {
		next.Policy = string(traffic.RoundRobin)
	}
	if err := next.Check(); err != nil {
		return err
	}
	*g = next
	return nil
}

func (srv *Server) updateTargetGroup(c *call) (reply, error) {
	g, err := c.targetGroup()
	if err != nil {
		return reply{}, err
	}
	in, err := decode[wire.TargetGroupInput](c)
	if err != nil {
		return reply{}, err
	}
	next := *g
	if err := srv.configureGroup(&next, in, srv.rules()); err != nil {
		return reply{}, err
	}
	if err := next.Describe(srv.rules(), in.Name, in.Description, in.Labels, in.Annotations, c.now); err != nil {
		return reply{}, err
	}
	if err := checkUnique(srv, &c.org.TargetGroups, "target group", next.Name, g.Identity); err != nil {
		return reply{}, err
	}
	*g = next
	c.org.Fill(g, c.now)
	c.org.GroupChanged(g)
	return changed(g.Identity, c.viewGroup(g)), nil
}

func (srv *Server) deleteTargetGroup(c *call) (reply, error) {
	g, err := c.targetGroup()
	if err != nil {
		return reply{}, err
	}
	if len(g.Listeners) > 0 {
		return reply{}, apierror.Conflict("target group %q is used by listener %q of load balancer %q",
			g.Identity, g.Listeners[0].Identity, g.Listeners[0].LB.Identity)
	}
	for a := range g.Attachments.All() {
		delete(a.Machine.Groups, g)
	}
	delete(c.org.Selective, g)
	c.org.TargetGroups.Remove(g)
	g.VPC.Users.Remove("target group", g.Identity)
	return done(g.Identity), nil
}

// viewAttachment leaves out the group, which is always the one around it.
func (c *call) viewAttachment(a *state.Attachment) wire.Attachment {
	return wire.Attachment{Identity: a.Identity, CreatedAt: a.CreatedAt, VirtualMachineInstance: c.attached(a.Machine)}
}

// target is the machine that a request wants to attach.
func (c *call) target(g *state.TargetGroup, in wire.AttachTarget) (*state.Machine, error) {
	switch {
	case in.ServerIdentity == "" && in.EndpointIdentity == "":
		return nil, apierror.Invalid("one of \"serverIdentity\" and \"endpointIdentity\" is required")
	case in.ServerIdentity == "":
		return nil, apierror.Untargetable("field \"endpointIdentity\": endpoint %q not found", in.EndpointIdentity)
	}
	m, found := c.org.Machines.Exact(in.ServerIdentity)
	switch {
	case !found || !m.Active():
		return nil, apierror.Untargetable("field \"serverIdentity\": machine %q not found", in.ServerIdentity)
	case m.Subnet.VPC != g.VPC:
		return nil,
			apierror.Untargetable("field \"serverIdentity\": machine %q is in another VPC than the target group",
				in.ServerIdentity)
	}
	return m, nil
}

// replaceAttachments makes the attachments exactly those of the request, in its order.
func (srv *Server) replaceAttachments(c *call) (reply, error) {
	g, err := c.targetGroup()
	if err != nil {
		return reply{}, err
	}
	in, err := decode[wire.AttachmentBatch](c)
	if err != nil {
		return reply{}, err
	}
	var machines []*state.Machine
	for _, target := range in.Attachments {
		m, err := c.target(g, target)
		if err != nil {
			return reply{}, err
		}
		machines = append(machines, m)
	}
	g.AttachExactly(machines, c.now)
	g.Touch(c.now)
	c.org.GroupChanged(g)
	return done(g.Identity), nil
}

func (srv *Server) attach(c *call) (reply, error) {
	g, err := c.targetGroup()
	if err != nil {
		return reply{}, err
	}
	in, err := decode[wire.AttachTarget](c)
	if err != nil {
		return reply{}, err
	}
	m, err := c.target(g, in)
	if err != nil {
		return reply{}, err
	}
	a := g.AttachMachine(m, c.now)
	a.Selected = false
	g.Touch(c.now)
	c.org.GroupChanged(g)
	view := c.viewAttachment(a)
	view.LoadbalancerTargetGroup = g.Short()
	return created(a.Identity, view), nil
}

// detach accepts an attachment's identity, and also the machine's, because that
// is what the vendor's Terraform provider sends.
func (srv *Server) detach(c *call) (reply, error) {
	g, err := c.targetGroup()
	if err != nil {
		return reply{}, err
	}
	a, found := g.Attachments.Find(c.PathValue("target"))
	if !found {
		return reply{}, apierror.NotFound("attachment", c.PathValue("target"))
	}
	g.Detach(a)
	g.Touch(c.now)
	c.org.GroupChanged(g)
	return done(a.Identity), nil
}
