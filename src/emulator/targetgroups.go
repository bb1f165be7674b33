package emulator

import (
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// short is the target group inside a listener: without listeners and targets.
func (g *targetGroup) short() *wire.TargetGroup {
	return &wire.TargetGroup{
		Meta: g.nested(), VPC: g.vpc.short(), TargetPort: g.port, Protocol: g.protocol,
		TargetSelector: g.selector, EnableProxyProtocol: g.proxyProtocol, LoadbalancingPolicy: g.policy,
		HealthCheck: g.health, LoadbalancerListeners: []wire.Listener{}, Attachments: []wire.Attachment{},
	}
}

func (g *targetGroup) view(c *call) wire.TargetGroup {
	view := *g.short()
	view.Organisation = g.vpc.org.short()
	for _, l := range g.listeners {
		view.LoadbalancerListeners = append(view.LoadbalancerListeners, l.short())
	}
	view.Attachments = make([]wire.Attachment, 0, g.attachments.len())
	for a := range g.attachments.all() {
		view.Attachments = append(view.Attachments, a.view(c))
	}
	return view
}

func (c *call) targetGroup() (*targetGroup, error) {
	g, found := c.org.targetGroups.find(c.PathValue("id"))
	if !found {
		return nil, notFound("target group", c.PathValue("id"))
	}
	return g, nil
}

func (g *targetGroup) traits() traits {
	var users []string
	for _, l := range g.listeners {
		users = append(users, l.lb.Identity, l.lb.Slug)
	}
	return g.meta.traits().reference("vpc", &g.vpc.meta).reference("region", &g.vpc.region.meta).
		with("loadbalancer", users...)
}

func (e *Emulator) listTargetGroups(c *call) (reply, error) {
	views := []wire.TargetGroup{}
	for g := range c.org.targetGroups.all() {
		if c.filter.matches(g.Labels, g.traits) {
			views = append(views, g.view(c))
		}
	}
	return many(views), nil
}

func (e *Emulator) getTargetGroup(c *call) (reply, error) {
	g, err := c.targetGroup()
	if err != nil {
		return reply{}, err
	}
	return one(g.view(c)), nil
}

func (e *Emulator) createTargetGroup(c *call) (reply, error) {
	in, err := decode[wire.TargetGroupInput](c)
	if err != nil {
		return reply{}, err
	}
	described := spec{
		name: value(rules{}, in.Name, ""), description: value(rules{}, in.Description, ""),
		labels: in.Labels, annotations: in.Annotations,
	}
	if err := checkNew(e, &c.org.targetGroups, "target group", described); err != nil {
		return reply{}, err
	}
	home, err := referred(&c.org.vpcs, "vpc", "VPC", in.VPC)
	if err != nil {
		return reply{}, err
	}
	if err := c.org.admit(quotaTargetGroups); err != nil {
		return reply{}, err
	}
	g := &targetGroup{vpc: home}
	if err := e.configureGroup(g, in, rules{}); err != nil {
		return reply{}, err
	}
	g.meta = newMeta("tg", described, c.org.targetGroups.hasSlug, c.now)
	c.org.targetGroups.add(g)
	home.users.add("target group", g.Identity)
	c.org.fill(g, c.now)
	return created(g.Identity, g.view(c)), nil
}

// configureGroup applies the settings of an input, or none of them.
func (e *Emulator) configureGroup(g *targetGroup, in wire.TargetGroupInput, r rules) error {
	next := *g
	next.port = value(r, in.TargetPort, g.port)
	next.protocol = value(r, in.Protocol, g.protocol)
	next.selector = stringMap(r, in.TargetSelector, g.selector)
	next.proxyProtocol = optional(r, in.EnableProxyProtocol, g.proxyProtocol)
	next.policy = value(r, in.LoadbalancingPolicy, g.policy)
	next.health = r.healthCheck(in.HealthCheck, g.health)
	if next.policy == "" {
		next.policy = string(traffic.RoundRobin)
	}
	if err := e.checkGroup(&next); err != nil {
		return err
	}
	*g = next
	return nil
}

func (e *Emulator) checkGroup(g *targetGroup) error {
	if err := checkPort("targetPort", g.port); err != nil {
		return err
	}
	if err := e.checkProtocol(g.protocol); err != nil {
		return err
	}
	if err := checkPolicy(g.policy); err != nil {
		return err
	}
	for _, l := range g.listeners {
		if l.protocol != g.protocol {
			return invalid("field \"protocol\": listener %q uses this target group for %s", l.Identity, l.protocol)
		}
	}
	return checkHealth(g.health)
}

func (e *Emulator) updateTargetGroup(c *call) (reply, error) {
	g, err := c.targetGroup()
	if err != nil {
		return reply{}, err
	}
	in, err := decode[wire.TargetGroupInput](c)
	if err != nil {
		return reply{}, err
	}
	next := *g
	if err := e.configureGroup(&next, in, e.rules()); err != nil {
		return reply{}, err
	}
	if err := next.describe(e.rules(), in.Name, in.Description, in.Labels, in.Annotations, c.now); err != nil {
		return reply{}, err
	}
	if err := checkUnique(e, &c.org.targetGroups, "target group", next.Name, g.Identity); err != nil {
		return reply{}, err
	}
	*g = next
	c.org.fill(g, c.now)
	c.org.groupChanged(g)
	return changed(g.Identity, g.view(c)), nil
}

func (e *Emulator) deleteTargetGroup(c *call) (reply, error) {
	g, err := c.targetGroup()
	if err != nil {
		return reply{}, err
	}
	if len(g.listeners) > 0 {
		return reply{}, conflict("target group %q is used by listener %q of load balancer %q",
			g.Identity, g.listeners[0].Identity, g.listeners[0].lb.Identity)
	}
	for a := range g.attachments.all() {
		delete(a.machine.groups, g)
	}
	delete(c.org.selective, g)
	c.org.targetGroups.remove(g)
	g.vpc.users.remove("target group", g.Identity)
	return done(g.Identity), nil
}

// groupChanged records that the traffic through a target group changed.
func (o *organisation) groupChanged(g *targetGroup) {
	for _, l := range g.listeners {
		o.trafficChanged(l.lb)
	}
}

// fill keeps the attachments of a group with a selector in step with the
// machines of its VPC.
func (o *organisation) fill(g *targetGroup, now time.Time) {
	if len(g.selector) == 0 && !o.selective[g] {
		return
	}
	if len(g.selector) == 0 {
		delete(o.selective, g)
	} else {
		o.selective[g] = true
	}
	for m := range o.machines.all() {
		g.selectMachine(m, now)
	}
}

// reselect keeps all groups with a selector in step with one machine.
func (o *organisation) reselect(m *machine, now time.Time) {
	for g := range o.selective {
		if g.selectMachine(m, now) {
			o.groupChanged(g)
		}
	}
}
