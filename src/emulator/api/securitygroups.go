package api

import (
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/state"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

func (srv *Server) securityGroupOperations() map[string]handler {
	const groups = "/v1/security-groups"
	return map[string]handler{
		"GET " + groups:                               srv.listSecurityGroups,
		"POST " + groups:                              srv.createSecurityGroup,
		"GET " + groups + "/{id}":                     srv.getSecurityGroup,
		"PUT " + groups + "/{id}":                     srv.updateSecurityGroup,
		"DELETE " + groups + "/{id}":                  srv.deleteSecurityGroup,
		"PUT " + groups + "/{id}/ingress-rules/batch": srv.replaceIngressRules,
		"PUT " + groups + "/{id}/egress-rules/batch":  srv.replaceEgressRules,
	}
}

func (srv *Server) listSecurityGroups(c *call) (reply, error) {
	return listed(c, &c.org.SecurityGroups,
		func(g *state.SecurityGroup) object.Traits { return g.Traits(c.now) },
		func(g *state.SecurityGroup) wire.SecurityGroup { return g.View(c.now) })
}

func (srv *Server) getSecurityGroup(c *call) (reply, error) {
	g, err := addressed(c, &c.org.SecurityGroups, "security group")
	if err != nil {
		return reply{}, err
	}
	return one(g.View(c.now)), nil
}

func (srv *Server) createSecurityGroup(c *call) (reply, error) {
	in, err := decode[wire.SecurityGroupInput](c)
	if err != nil {
		return reply{}, err
	}
	described := specified(in.MetaInput)
	if err := checkNew(srv, &c.org.SecurityGroups, "security group", described); err != nil {
		return reply{}, err
	}
	if err := state.CheckGroupName(srv.switches, described.Name); err != nil {
		return reply{}, err
	}
	home, err := object.Referred(&c.org.VPCs, "vpcIdentity", "VPC", in.VPCIdentity)
	if err != nil {
		return reply{}, err
	}
	g := &state.SecurityGroup{
		VPC: home, SameGroupTraffic: object.Kept(in.AllowSameGroupTraffic, false),
		Life: object.Life{ReadyAt: c.now.Add(srv.delays.NetworkCreate)},
	}
	ingress, egress, err := state.RuleSets(srv.switches, g, in.IngressRules, in.EgressRules)
	if err != nil {
		return reply{}, err
	}
	if err := c.org.Admit(state.QuotaSecurityGroups); err != nil {
		return reply{}, err
	}
	g.Record = object.NewRecord("sg", described, c.org.SecurityGroups.HasSlug, c.now)
	c.org.AddSecurityGroup(g)
	g.SetRules(ingress, egress)
	return created(g.Identity, g.View(c.now)), nil
}

func (srv *Server) updateSecurityGroup(c *call) (reply, error) {
	g, err := writable(c, &c.org.SecurityGroups, "security group")
	if err != nil {
		return reply{}, err
	}
	in, err := decode[wire.SecurityGroupInput](c)
	if err != nil {
		return reply{}, err
	}
	if err := srv.checkVersion(g, in.ObjectVersion); err != nil {
		return reply{}, err
	}
	next, err := revised(srv, c, &c.org.SecurityGroups, "security group", g, in.MetaInput)
	if err != nil {
		return reply{}, err
	}
	if err := state.CheckGroupName(srv.switches, next.Name); err != nil {
		return reply{}, err
	}
	ingress, egress := g.Ingress, g.Egress
	if !in.SkipRulesUpdate {
		ingress = object.Items(srv.rules(), in.IngressRules, ingress)
		egress = object.Items(srv.rules(), in.EgressRules, egress)
	}
	if ingress, egress, err = state.RuleSets(srv.switches, g, ingress, egress); err != nil {
		return reply{}, err
	}
	g.Record = next
	g.SameGroupTraffic = object.Value(srv.rules(), in.AllowSameGroupTraffic, g.SameGroupTraffic)
	g.SetRules(ingress, egress)
	return changed(g.Identity, g.View(c.now)), nil
}

// checkVersion refuses an update that was made from an old state. A client that
// sends none (or 0) does not care, unless the rules are strict.
func (srv *Server) checkVersion(g *state.SecurityGroup, sent *int) error {
	version := object.Kept(sent, 0)
	if version == g.ObjectVersion || version == 0 && !srv.switches.StrictSecurityGroups {
		return nil
	}
	return apierror.Conflict("security group %q has objectVersion %d, not %d; read it again", g.Identity,
		g.ObjectVersion, version)
}

func (srv *Server) deleteSecurityGroup(c *call) (reply, error) {
	g, err := addressed(c, &c.org.SecurityGroups, "security group")
	if err != nil {
		return reply{}, err
	}
	if !g.Active() {
		return done(g.Identity), nil
	}
	if err := g.Users.Check("security group", g.Identity); err != nil {
		return reply{}, err
	}
	g.SetRules(nil, nil)
	g.Remove(c.now, srv.delays.NetworkDelete, srv.delays.NetworkLinger)
	g.Touch(c.now)
	g.Depart()
	c.org.FinishDeletions(c.now)
	return done(g.Identity), nil
}

func (srv *Server) replaceIngressRules(c *call) (reply, error) {
	return srv.replaceRules(c,
		func(g *state.SecurityGroup, rules []wire.SecurityGroupRule) { g.SetRules(rules, g.Egress) })
}

func (srv *Server) replaceEgressRules(c *call) (reply, error) {
	return srv.replaceRules(c,
		func(g *state.SecurityGroup, rules []wire.SecurityGroupRule) { g.SetRules(g.Ingress, rules) })
}

// replaceRules makes the rules of one direction exactly those of the request.
func (srv *Server) replaceRules(c *call, set func(*state.SecurityGroup, []wire.SecurityGroupRule)) (reply, error) {
	g, err := writable(c, &c.org.SecurityGroups, "security group")
	if err != nil {
		return reply{}, err
	}
	in, err := decode[wire.RuleBatch](c)
	if err != nil {
		return reply{}, err
	}
	checked, err := state.CheckRules(srv.switches, "rules", g, in.Rules)
	if err != nil {
		return reply{}, err
	}
	set(g, checked)
	g.Touch(c.now)
	answer := many(checked)
	answer.identity = g.Identity
	return answer, nil
}

// attachments are the security groups of an object after an update.
func (c *call) attachments(r object.UpdateRules, refs []string, current []*state.SecurityGroup,
	home *state.VPC) ([]*state.SecurityGroup, error) {
	if refs == nil && r.Merge {
		return current, nil
	}
	return c.org.SecurityGroupsIn(home, refs)
}
