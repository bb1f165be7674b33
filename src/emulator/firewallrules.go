package emulator

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// maxFirewallPriority is the documented limit.
const maxFirewallPriority = 1000

// firewallRule is a rule of a VPC's firewall. It is stored and shown; the data
// planes do not apply it.
type firewallRule struct {
	meta
	vpc                          *vpc
	match                        wire.FirewallMatch
	inner, source, destinationTo *subnet
}

// The path names the VPC right after the collection.
func (e *Emulator) firewallOperations() map[string]handler {
	const path = "/v1/vpc-firewall-rules/{vpc}"
	return map[string]handler{
		"GET " + path:                e.listFirewallRules,
		"POST " + path:               e.createFirewallRule,
		"PUT " + path:                e.updateFirewallRules,
		"GET " + path + "/{rule}":    e.getFirewallRule,
		"PUT " + path + "/{rule}":    e.updateFirewallRule,
		"DELETE " + path + "/{rule}": e.deleteFirewallRule,
	}
}

// short is the rule inside its VPC.
func (r *firewallRule) short() wire.FirewallRule {
	return wire.FirewallRule{Identity: r.Identity, Name: r.Name, CreatedAt: r.CreatedAt, FirewallMatch: r.match}
}

func (r *firewallRule) view() wire.FirewallRule {
	view := r.short()
	view.Organisation, view.VPC = r.vpc.org.short(), r.vpc.short()
	for to, from := range map[**wire.Subnet]*subnet{
		&view.Interface: r.inner, &view.SourceSubnet: r.source, &view.DestinationSubnet: r.destinationTo,
	} {
		if from != nil {
			*to = from.short()
		}
	}
	return view
}

func (c *call) firewalled() (*vpc, error) {
	v, found := c.org.vpcs.find(c.PathValue("vpc"))
	if !found {
		return nil, notFound("VPC", c.PathValue("vpc"))
	}
	return v, nil
}

// firewallRule is the rule that the path names.
func (c *call) firewallRule() (*firewallRule, error) {
	v, err := c.firewalled()
	if err != nil {
		return nil, err
	}
	return v.firewallRule(c.PathValue("rule"))
}

func (v *vpc) firewallRule(ref string) (*firewallRule, error) {
	r, found := v.firewall.find(ref)
	if !found {
		return nil, notFound("firewall rule", ref)
	}
	return r, nil
}

func (e *Emulator) listFirewallRules(c *call) (reply, error) {
	v, err := c.firewalled()
	if err != nil {
		return reply{}, err
	}
	views := []wire.FirewallRule{}
	for r := range v.firewall.all() {
		if c.filter.matches(nil, func() traits { return r.traits().with("status", r.match.State) }) {
			views = append(views, r.view())
		}
	}
	return many(views), nil
}

func (e *Emulator) getFirewallRule(c *call) (reply, error) {
	r, err := c.firewallRule()
	if err != nil {
		return reply{}, err
	}
	return one(r.view()), nil
}

func (e *Emulator) createFirewallRule(c *call) (reply, error) {
	v, err := c.firewalled()
	if err != nil {
		return reply{}, err
	}
	in, err := decode[wire.FirewallRuleInput](c)
	if err != nil {
		return reply{}, err
	}
	r := &firewallRule{vpc: v}
	if err := r.configure(c, in); err != nil {
		return reply{}, err
	}
	r.meta = newMeta("fwr", spec{name: in.Name}, v.firewall.hasSlug, c.now)
	v.firewall.add(r)
	return created(r.Identity, r.view()), nil
}

func (e *Emulator) updateFirewallRule(c *call) (reply, error) {
	r, err := c.firewallRule()
	if err != nil {
		return reply{}, err
	}
	in, err := decode[wire.FirewallRuleInput](c)
	if err != nil {
		return reply{}, err
	}
	if err := r.configure(c, in); err != nil {
		return reply{}, err
	}
	r.rename(c, in)
	return changed(r.Identity, r.view()), nil
}

// updateFirewallRules changes the rules of the request, all or none. Others stay.
func (e *Emulator) updateFirewallRules(c *call) (reply, error) {
	v, err := c.firewalled()
	if err != nil {
		return reply{}, err
	}
	in, err := decode[wire.FirewallRuleBatch](c)
	if err != nil {
		return reply{}, err
	}
	rules, drafts := make([]*firewallRule, len(in.FirewallRules)), make([]firewallRule, len(in.FirewallRules))
	for i, input := range in.FirewallRules {
		if rules[i], err = v.firewallRule(input.Identity); err != nil {
			return reply{}, invalid("field \"firewallRules[%d].identity\": %v", i, err)
		}
		drafts[i] = *rules[i]
		if err := drafts[i].configure(c, input); err != nil {
			return reply{}, fmt.Errorf("field \"firewallRules[%d]\": %w", i, err)
		}
	}
	views := []wire.FirewallRule{}
	for i, r := range rules {
		*r = drafts[i]
		r.rename(c, in.FirewallRules[i])
		views = append(views, r.view())
	}
	answer := many(views)
	answer.identity = v.Identity
	return answer, nil
}

func (r *firewallRule) rename(c *call, in wire.FirewallRuleInput) {
	r.Name = in.Name
	r.touch(c.now)
}

func (e *Emulator) deleteFirewallRule(c *call) (reply, error) {
	r, err := c.firewallRule()
	if err != nil {
		return reply{}, err
	}
	r.vpc.firewall.remove(r)
	return done(r.Identity), nil
}

// configure applies the settings of an input, or none of them.
func (r *firewallRule) configure(c *call, in wire.FirewallRuleInput) error {
	if err := checkName(in.Name); err != nil {
		return err
	}
	next := *r
	next.match = in.FirewallMatch
	next.match.SourcePorts, next.match.DestinationPorts = list(in.SourcePorts), list(in.DestinationPorts)
	if next.match.State == "" {
		next.match.State = "active"
	}
	if err := checkFirewall(next.match); err != nil {
		return err
	}
	for _, field := range []struct {
		name string
		ref  *string
		to   **subnet
	}{
		{"interfaceIdentity", in.InterfaceIdentity, &next.inner},
		{"sourceSubnetIdentity", in.SourceSubnetIdentity, &next.source},
		{"destinationSubnetIdentity", in.DestinationSubnetIdentity, &next.destinationTo},
	} {
		found, err := c.subnetOf(r.vpc, field.name, field.ref)
		if err != nil {
			return err
		}
		*field.to = found
	}
	*r = next
	return nil
}

// subnetOf resolves an optional subnet of a VPC.
func (c *call) subnetOf(v *vpc, field string, ref *string) (*subnet, error) {
	if ref == nil || *ref == "" {
		return nil, nil
	}
	s, found := c.org.subnets.find(*ref)
	if !found || s.vpc != v {
		return nil, invalid("field %q: subnet %q not found in VPC %q", field, *ref, v.Identity)
	}
	return s, nil
}

func checkFirewall(m wire.FirewallMatch) error {
	for _, choice := range []struct {
		field, value string
		allowed      []string
	}{
		{"direction", m.Direction, []string{"inbound", "outbound"}},
		{"action", m.Action, []string{"allow", "drop"}},
		{"state", m.State, []string{"active", "inactive", "deleted"}},
	} {
		if !slices.Contains(choice.allowed, choice.value) {
			return invalid("field %q must be one of %v, not %q", choice.field, choice.allowed, choice.value)
		}
	}
	if m.Priority < 1 || m.Priority > maxFirewallPriority {
		return invalid("field \"priority\" must be 1 to %d, not %d", maxFirewallPriority, m.Priority)
	}
	if m.Protocols == (wire.FirewallProtocols{}) {
		return invalid("field \"protocols\" names no protocol")
	}
	for field, cidr := range map[string]*string{"source": m.Source, "destination": m.Destination} {
		if cidr == nil {
			continue
		}
		if _, err := netip.ParsePrefix(*cidr); err != nil {
			return invalid("field %q: %q is not a CIDR", field, *cidr)
		}
	}
	for _, port := range slices.Concat(m.SourcePorts, m.DestinationPorts) {
		if port < 0 || port > maxPort {
			return invalid("ports must be 0 to %d, not %d", maxPort, port)
		}
	}
	return nil
}
