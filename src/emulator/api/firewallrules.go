package api

import (
	"fmt"
	"slices"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/state"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// The path names the VPC right after the collection.
func (srv *Server) firewallOperations() map[string]handler {
	const path = "/v1/vpc-firewall-rules/{vpc}"
	return map[string]handler{
		"GET " + path:                srv.listFirewallRules,
		"POST " + path:               srv.createFirewallRule,
		"PUT " + path:                srv.updateFirewallRules,
		"GET " + path + "/{rule}":    srv.getFirewallRule,
		"PUT " + path + "/{rule}":    srv.updateFirewallRule,
		"DELETE " + path + "/{rule}": srv.deleteFirewallRule,
	}
}

func (c *call) firewalled() (*state.VPC, error) {
	v, found := c.org.VPCs.Find(c.PathValue("vpc"))
	if !found {
		return nil, apierror.NotFound("VPC", c.PathValue("vpc"))
	}
	return v, nil
}

// firewallRule is the rule that the path names.
func (c *call) firewallRule() (*state.FirewallRule, error) {
	v, err := c.firewalled()
	if err != nil {
		return nil, err
	}
	return v.FirewallRule(c.PathValue("rule"))
}

func (srv *Server) listFirewallRules(c *call) (reply, error) {
	v, err := c.firewalled()
	if err != nil {
		return reply{}, err
	}
	views := []wire.FirewallRule{}
	for r := range v.Firewall.All() {
		if c.filter.Matches(nil, func() object.Traits { return r.Traits().With("status", r.Match.State) }) {
			views = append(views, r.View())
		}
	}
	return many(views), nil
}

func (srv *Server) getFirewallRule(c *call) (reply, error) {
	r, err := c.firewallRule()
	if err != nil {
		return reply{}, err
	}
	return one(r.View()), nil
}

func (srv *Server) createFirewallRule(c *call) (reply, error) {
	v, err := c.firewalled()
	if err != nil {
		return reply{}, err
	}
	in, err := decode[wire.FirewallRuleInput](c)
	if err != nil {
		return reply{}, err
	}
	r := &state.FirewallRule{VPC: v}
	if err := r.Configure(srv.rules(), in); err != nil {
		return reply{}, err
	}
	if err := checkUnique(srv, &v.Firewall, "firewall rule", r.Name, ""); err != nil {
		return reply{}, err
	}
	r.Record = object.NewRecord("fwr", object.Spec{Name: r.Name}, v.Firewall.HasSlug, c.now)
	v.Firewall.Add(r)
	return created(r.Identity, r.View()), nil
}

func (srv *Server) updateFirewallRule(c *call) (reply, error) {
	r, err := c.firewallRule()
	if err != nil {
		return reply{}, err
	}
	in, err := decode[wire.FirewallRuleInput](c)
	if err != nil {
		return reply{}, err
	}
	next, err := srv.nextFirewallRule(r, in)
	if err != nil {
		return reply{}, err
	}
	*r = next
	r.Touch(c.now)
	return changed(r.Identity, r.View()), nil
}

// nextFirewallRule is a rule after an update.
func (srv *Server) nextFirewallRule(r *state.FirewallRule, in wire.FirewallRuleInput) (state.FirewallRule, error) {
	next := *r
	if err := next.Configure(srv.rules(), in); err != nil {
		return next, err
	}
	return next, checkUnique(srv, &r.VPC.Firewall, "firewall rule", next.Name, r.Identity)
}

// updateFirewallRules changes the rules of the request, all or none. Others stay.
func (srv *Server) updateFirewallRules(c *call) (reply, error) {
	v, err := c.firewalled()
	if err != nil {
		return reply{}, err
	}
	in, err := decode[wire.FirewallRuleBatch](c)
	if err != nil {
		return reply{}, err
	}
	rules, drafts := make([]*state.FirewallRule, len(in.FirewallRules)), make([]state.FirewallRule,
		len(in.FirewallRules))
	for i, input := range in.FirewallRules {
		if rules[i], err = v.FirewallRule(input.Identity); err != nil {
			return reply{}, apierror.Invalid("field \"firewallRules[%d].identity\": %v", i, err)
		}
		if drafts[i], err = srv.nextFirewallRule(rules[i], input); err != nil {
			return reply{}, fmt.Errorf("field \"firewallRules[%d]\": %w", i, err)
		}
		if srv.switches.UniqueNames && slices.ContainsFunc(drafts[:i], func(other state.FirewallRule) bool {
			return other.Name == drafts[i].Name && other.Identity != drafts[i].Identity
		}) {
			return reply{}, apierror.Conflict("field \"firewallRules[%d].name\": %q is the name of two rules", i,
				drafts[i].Name)
		}
	}
	views := []wire.FirewallRule{}
	for i, r := range rules {
		*r = drafts[i]
		r.Touch(c.now)
		views = append(views, r.View())
	}
	answer := many(views)
	answer.identity = v.Identity
	return answer, nil
}

func (srv *Server) deleteFirewallRule(c *call) (reply, error) {
	r, err := c.firewallRule()
	if err != nil {
		return reply{}, err
	}
	r.VPC.Firewall.Remove(r)
	return done(r.Identity), nil
}
