package emulator

import (
	"slices"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

type securityGroup struct {
	meta
	life
	vpc              *vpc
	sameGroupTraffic bool
	ingress, egress  []wire.SecurityGroupRule
	// users are what is attached, and the groups whose rules name this one.
	users users
}

func (g *securityGroup) status(now time.Time) string {
	switch phase := g.at(now); phase {
	case creating:
		return "provisioning"
	case ready:
		return "active"
	default:
		return phase.String()
	}
}

// short is the security group inside what it is attached to: without its VPC
// and rules.
func (g *securityGroup) short(now time.Time) wire.SecurityGroup {
	return wire.SecurityGroup{
		Meta: g.nested(), Status: g.status(now), AllowSameGroupTraffic: g.sameGroupTraffic,
		IngressRules: []wire.SecurityGroupRule{}, EgressRules: []wire.SecurityGroupRule{},
	}
}

func (g *securityGroup) view(now time.Time) wire.SecurityGroup {
	view := g.short(now)
	view.Organisation, view.VPC = g.vpc.org.short(), g.vpc.short()
	view.IngressRules, view.EgressRules = list(g.ingress), list(g.egress)
	return view
}

func (g *securityGroup) traits(now time.Time) traits {
	return g.meta.traits().reference("vpc", &g.vpc.meta).reference("region", &g.vpc.region.meta).
		with("status", g.status(now))
}

func (e *Emulator) securityGroupOperations() map[string]handler {
	const groups = "/v1/security-groups"
	return map[string]handler{
		"GET " + groups:                               e.listSecurityGroups,
		"POST " + groups:                              e.createSecurityGroup,
		"GET " + groups + "/{id}":                     e.getSecurityGroup,
		"PUT " + groups + "/{id}":                     e.updateSecurityGroup,
		"DELETE " + groups + "/{id}":                  e.deleteSecurityGroup,
		"PUT " + groups + "/{id}/ingress-rules/batch": e.replaceIngressRules,
		"PUT " + groups + "/{id}/egress-rules/batch":  e.replaceEgressRules,
	}
}

func (e *Emulator) listSecurityGroups(c *call) (reply, error) {
	return listed(c, &c.org.securityGroups,
		func(g *securityGroup) traits { return g.traits(c.now) },
		func(g *securityGroup) wire.SecurityGroup { return g.view(c.now) })
}

func (e *Emulator) getSecurityGroup(c *call) (reply, error) {
	g, err := addressed(c, &c.org.securityGroups, "security group")
	if err != nil {
		return reply{}, err
	}
	return one(g.view(c.now)), nil
}

func (e *Emulator) createSecurityGroup(c *call) (reply, error) {
	in, err := decode[wire.SecurityGroupInput](c)
	if err != nil {
		return reply{}, err
	}
	described := specified(in.MetaInput)
	if err := checkNew(e, &c.org.securityGroups, "security group", described); err != nil {
		return reply{}, err
	}
	if err := e.switches.checkGroupName(described.name); err != nil {
		return reply{}, err
	}
	home, err := referred(&c.org.vpcs, "vpcIdentity", "VPC", in.VPCIdentity)
	if err != nil {
		return reply{}, err
	}
	g := &securityGroup{
		vpc: home, sameGroupTraffic: kept(in.AllowSameGroupTraffic, false),
		life: life{readyAt: c.now.Add(e.delays.NetworkCreate)},
	}
	ingress, egress, err := e.switches.ruleSets(g, in.IngressRules, in.EgressRules)
	if err != nil {
		return reply{}, err
	}
	if err := c.org.admit(quotaSecurityGroups); err != nil {
		return reply{}, err
	}
	g.meta = newMeta("sg", described, c.org.securityGroups.hasSlug, c.now)
	c.org.addSecurityGroup(g)
	g.setRules(ingress, egress)
	return created(g.Identity, g.view(c.now)), nil
}

func (o *organisation) addSecurityGroup(g *securityGroup) {
	o.securityGroups.add(g)
	g.vpc.users.add("security group", g.Identity)
}

func (e *Emulator) updateSecurityGroup(c *call) (reply, error) {
	g, err := writable(c, &c.org.securityGroups, "security group")
	if err != nil {
		return reply{}, err
	}
	in, err := decode[wire.SecurityGroupInput](c)
	if err != nil {
		return reply{}, err
	}
	if err := e.checkVersion(g, in.ObjectVersion); err != nil {
		return reply{}, err
	}
	next, err := revised(e, c, &c.org.securityGroups, "security group", g, in.MetaInput)
	if err != nil {
		return reply{}, err
	}
	if err := e.switches.checkGroupName(next.Name); err != nil {
		return reply{}, err
	}
	ingress, egress := g.ingress, g.egress
	if !in.SkipRulesUpdate {
		ingress, egress = elements(e.rules(), in.IngressRules, ingress), elements(e.rules(), in.EgressRules, egress)
	}
	if ingress, egress, err = e.switches.ruleSets(g, ingress, egress); err != nil {
		return reply{}, err
	}
	g.meta = next
	g.sameGroupTraffic = value(e.rules(), in.AllowSameGroupTraffic, g.sameGroupTraffic)
	g.setRules(ingress, egress)
	return changed(g.Identity, g.view(c.now)), nil
}

// checkVersion refuses an update that was made from an old state. A client that
// sends none (or 0) does not care, unless the rules are strict.
func (e *Emulator) checkVersion(g *securityGroup, sent *int) error {
	version := kept(sent, 0)
	if version == g.ObjectVersion || version == 0 && !e.switches.StrictSecurityGroups {
		return nil
	}
	return conflict("security group %q has objectVersion %d, not %d; read it again", g.Identity, g.ObjectVersion, version)
}

func (e *Emulator) deleteSecurityGroup(c *call) (reply, error) {
	g, err := addressed(c, &c.org.securityGroups, "security group")
	if err != nil {
		return reply{}, err
	}
	if !g.wanted() {
		return done(g.Identity), nil
	}
	if err := g.users.check("security group", g.Identity); err != nil {
		return reply{}, err
	}
	g.setRules(nil, nil)
	g.remove(c.now, e.delays.NetworkDelete, e.delays.NetworkLinger)
	g.touch(c.now)
	org := c.org
	org.leave(&g.life, func() {
		g.vpc.users.remove("security group", g.Identity)
		org.securityGroups.remove(g)
	})
	org.sweep(c.now)
	return done(g.Identity), nil
}

func (e *Emulator) replaceIngressRules(c *call) (reply, error) {
	return e.replaceRules(c, func(g *securityGroup, rules []wire.SecurityGroupRule) { g.setRules(rules, g.egress) })
}

func (e *Emulator) replaceEgressRules(c *call) (reply, error) {
	return e.replaceRules(c, func(g *securityGroup, rules []wire.SecurityGroupRule) { g.setRules(g.ingress, rules) })
}

// replaceRules makes the rules of one direction exactly those of the request.
func (e *Emulator) replaceRules(c *call, set func(*securityGroup, []wire.SecurityGroupRule)) (reply, error) {
	g, err := writable(c, &c.org.securityGroups, "security group")
	if err != nil {
		return reply{}, err
	}
	in, err := decode[wire.RuleBatch](c)
	if err != nil {
		return reply{}, err
	}
	checked, err := e.switches.checkRules("rules", g, in.Rules)
	if err != nil {
		return reply{}, err
	}
	set(g, checked)
	g.touch(c.now)
	answer := many(checked)
	answer.identity = g.Identity
	return answer, nil
}

// securityGroupsIn resolves security groups that must be in one VPC. Naming one
// twice is naming it once.
func (o *organisation) securityGroupsIn(home *vpc, refs []string) ([]*securityGroup, error) {
	const field = "securityGroupAttachments"
	var groups []*securityGroup
	for _, ref := range refs {
		g, err := referred(&o.securityGroups, field, "security group", ref)
		if err != nil {
			return nil, err
		}
		if g.vpc != home {
			return nil, invalid("field %q: security group %q is in another VPC", field, ref)
		}
		if !slices.Contains(groups, g) {
			groups = append(groups, g)
		}
	}
	return groups, nil
}

// attachments are the security groups of an object after an update.
func (c *call) attachments(r rules, refs []string, current []*securityGroup, home *vpc) ([]*securityGroup, error) {
	if refs == nil && r.merge {
		return current, nil
	}
	return c.org.securityGroupsIn(home, refs)
}

// elements is value for lists: an empty one that was sent clears in either mode.
func elements[T any](r rules, sent, current []T) []T {
	if sent == nil && r.merge {
		return current
	}
	return sent
}

// reattach moves an object from some security groups to others.
func reattach(kind, identity string, from, to []*securityGroup) []*securityGroup {
	for _, g := range from {
		g.users.remove(kind, identity)
	}
	for _, g := range to {
		g.users.add(kind, identity)
	}
	return to
}

func securityGroupViews(groups []*securityGroup, now time.Time) []wire.SecurityGroup {
	views := make([]wire.SecurityGroup, 0, len(groups))
	for _, g := range groups {
		views = append(views, g.short(now))
	}
	return views
}
