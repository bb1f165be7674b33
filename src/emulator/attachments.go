package emulator

import (
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// view leaves out the group, which is always the one around it.
func (a *attachment) view(c *call) wire.Attachment {
	return wire.Attachment{Identity: a.identity, CreatedAt: a.createdAt, VirtualMachineInstance: c.attached(a.machine)}
}

// target is the machine that a request wants to attach.
func (c *call) target(g *targetGroup, in wire.AttachTarget) (*machine, error) {
	switch {
	case in.ServerIdentity == "" && in.EndpointIdentity == "":
		return nil, invalid("one of \"serverIdentity\" and \"endpointIdentity\" is required")
	case in.ServerIdentity == "":
		return nil, untargetable("field \"endpointIdentity\": endpoint %q not found", in.EndpointIdentity)
	}
	m, found := c.org.machines.exact(in.ServerIdentity)
	switch {
	case !found || !m.wanted():
		return nil, untargetable("field \"serverIdentity\": machine %q not found", in.ServerIdentity)
	case m.subnet.vpc != g.vpc:
		return nil, untargetable("field \"serverIdentity\": machine %q is in another VPC than the target group", in.ServerIdentity)
	}
	return m, nil
}

// replaceAttachments makes the attachments exactly those of the request. The
// ones that stay keep their identity.
func (e *Emulator) replaceAttachments(c *call) (reply, error) {
	g, err := c.targetGroup()
	if err != nil {
		return reply{}, err
	}
	in, err := decode[wire.AttachmentBatch](c)
	if err != nil {
		return reply{}, err
	}
	wanted := map[*machine]bool{}
	for _, target := range in.Attachments {
		m, err := c.target(g, target)
		if err != nil {
			return reply{}, err
		}
		wanted[m] = true
	}
	for a := range g.attachments.all() {
		if !wanted[a.machine] {
			g.detach(a)
		}
	}
	for _, target := range in.Attachments {
		m, _ := c.org.machines.exact(target.ServerIdentity)
		g.attachMachine(m, c.now).selected = false
	}
	g.touch(c.now)
	c.org.groupChanged(g)
	return done(g.Identity), nil
}

func (e *Emulator) attach(c *call) (reply, error) {
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
	a := g.attachMachine(m, c.now)
	a.selected = false
	g.touch(c.now)
	c.org.groupChanged(g)
	view := a.view(c)
	view.LoadbalancerTargetGroup = g.short()
	return created(a.identity, view), nil
}

// detach accepts an attachment's identity, and also the machine's, because that
// is what the vendor's Terraform provider sends.
func (e *Emulator) detach(c *call) (reply, error) {
	g, err := c.targetGroup()
	if err != nil {
		return reply{}, err
	}
	a, found := g.attachments.find(c.PathValue("target"))
	if !found {
		return reply{}, notFound("attachment", c.PathValue("target"))
	}
	g.detach(a)
	g.touch(c.now)
	c.org.groupChanged(g)
	return done(a.identity), nil
}

// attachMachine attaches a machine, unless it is attached already.
func (g *targetGroup) attachMachine(m *machine, now time.Time) *attachment {
	if a, found := g.attachments.find(m.Identity); found {
		return a
	}
	a := &attachment{identity: newIdentity("tga"), createdAt: now, machine: m}
	g.attachments.add(a)
	m.groups[g] = true
	return a
}

func (g *targetGroup) detach(a *attachment) {
	g.attachments.remove(a)
	delete(a.machine.groups, g)
}

// selectMachine attaches or detaches a machine according to the group's
// selector, and says whether that changed anything.
func (g *targetGroup) selectMachine(m *machine, now time.Time) bool {
	a, attached := g.attachments.find(m.Identity)
	wanted := m.wanted() && m.subnet.vpc == g.vpc && subset(g.selector, m.Labels)
	switch {
	case wanted && !attached:
		g.attachMachine(m, now).selected = true
	case !wanted && attached && a.selected:
		g.detach(a)
	default:
		return false
	}
	return true
}
