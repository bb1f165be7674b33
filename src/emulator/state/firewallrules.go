package state

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/seed"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// maxFirewallPriority is the documented limit.
const maxFirewallPriority = 1000

// FirewallRule is a rule of a VPC's firewall. It is stored and shown; the data
// planes do not apply it.
type FirewallRule struct {
	object.Record
	VPC                          *VPC
	Match                        wire.FirewallMatch
	Inner, Source, DestinationTo *Subnet
}

// Short is the rule inside its VPC.
func (r *FirewallRule) Short() wire.FirewallRule {
	return wire.FirewallRule{Identity: r.Identity, Name: r.Name, CreatedAt: r.CreatedAt, FirewallMatch: r.Match}
}

// View is the firewall rule as the API describes it.
func (r *FirewallRule) View() wire.FirewallRule {
	view := r.Short()
	view.Organisation, view.VPC = r.VPC.Org.Short(), r.VPC.Short()
	for to, from := range map[**wire.Subnet]*Subnet{
		&view.Interface: r.Inner, &view.SourceSubnet: r.Source, &view.DestinationSubnet: r.DestinationTo,
	} {
		if from != nil {
			*to = from.Short()
		}
	}
	return view
}

// FirewallRule finds a firewall rule of the VPC.
func (v *VPC) FirewallRule(ref string) (*FirewallRule, error) {
	r, found := v.Firewall.Find(ref)
	if !found {
		return nil, apierror.NotFound("firewall rule", ref)
	}
	return r, nil
}

// Configure applies the settings of an input, or none of them.
func (r *FirewallRule) Configure(rules object.UpdateRules, in wire.FirewallRuleInput) error {
	next := *r
	next.Name, next.Match = object.Value(rules, in.Name, r.Name), matched(rules, in, r.Match)
	if err := object.CheckName(next.Name); err != nil {
		return err
	}
	if err := checkFirewall(next.Match); err != nil {
		return err
	}
	for _, field := range []struct {
		name string
		ref  *string
		to   **Subnet
	}{
		{"interfaceIdentity", in.InterfaceIdentity, &next.Inner},
		{"sourceSubnetIdentity", in.SourceSubnetIdentity, &next.Source},
		{"destinationSubnetIdentity", in.DestinationSubnetIdentity, &next.DestinationTo},
	} {
		if field.ref == nil && rules.Merge {
			continue
		}
		found, err := r.VPC.optionalSubnet(field.name, field.ref)
		if err != nil {
			return err
		}
		*field.to = found
	}
	*r = next
	return nil
}

// matched is what a rule matches after an input.
func matched(rules object.UpdateRules, in wire.FirewallRuleInput, current wire.FirewallMatch) wire.FirewallMatch {
	return wire.FirewallMatch{
		Protocols: object.Value(rules, in.Protocols, current.Protocols),
		Direction: object.Value(rules, in.Direction, current.Direction),
		Source:    object.Optional(rules, in.Source, current.Source),

		Destination:      object.Optional(rules, in.Destination, current.Destination),
		SourcePorts:      object.List(object.Items(rules, in.SourcePorts, current.SourcePorts)),
		DestinationPorts: object.List(object.Items(rules, in.DestinationPorts, current.DestinationPorts)),

		Action:   object.Value(rules, in.Action, current.Action),
		Priority: object.Value(rules, in.Priority, current.Priority),
		State:    cmp.Or(object.Value(rules, in.State, current.State), "active"),
	}
}

// optionalSubnet finds the subnet of the VPC that a field refers to, if any.
func (v *VPC) optionalSubnet(field string, ref *string) (*Subnet, error) {
	if ref == nil || *ref == "" {
		return nil, nil
	}
	s, found := v.Org.Subnets.Find(*ref)
	if !found || s.VPC != v {
		return nil, apierror.Invalid("field %q: subnet %q not found in VPC %q", field, *ref, v.Identity)
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
			return apierror.Invalid("field %q must be one of %v, not %q", choice.field, choice.allowed, choice.value)
		}
	}
	if m.Priority < 1 || m.Priority > maxFirewallPriority {
		return apierror.Invalid("field \"priority\" must be 1 to %d, not %d", maxFirewallPriority, m.Priority)
	}
	if m.Protocols == (wire.FirewallProtocols{}) {
		return apierror.Invalid("field \"protocols\" names no protocol")
	}
	for field, cidr := range map[string]*string{"source": m.Source, "destination": m.Destination} {
		if cidr == nil {
			continue
		}
		if _, err := netip.ParsePrefix(*cidr); err != nil {
			return apierror.Invalid("field %q: %q is not a CIDR", field, *cidr)
		}
	}
	if err := checkFirewallPorts("sourcePorts", m.SourcePorts); err != nil {
		return err
	}
	return checkFirewallPorts("destinationPorts", m.DestinationPorts)
}

func checkFirewallPorts(field string, ports []int32) error {
	for i, port := range ports {
		if port < 0 || port > object.MaxPort {
			return apierror.Invalid("field \"%s[%d]\" must be 0 to %d, not %d", field, i, object.MaxPort, port)
		}
	}
	return nil
}

func (r *FirewallRule) describe() seed.FirewallRule {
	out := seed.FirewallRule{Object: seed.Described(r.Meta), Match: seed.JSON[wire.FirewallMatch]{Value: r.Match}}
	for to, subnet := range map[*string]*Subnet{
		&out.Interface: r.Inner, &out.SourceSubnet: r.Source, &out.DestinationSubnet: r.DestinationTo,
	} {
		if subnet != nil {
			*to = subnet.Identity
		}
	}
	return out
}

// seedFirewallRule adds a rule to the firewall of the VPC.
func (v *VPC) seedFirewallRule(in *seed.FirewallRule, now time.Time) (err error) {
	if err := checkNew(v.Org.Store, &v.Firewall, checked{kind: "firewall rule", object: in.Object,
		now: now}); err != nil {
		return err
	}
	r := &FirewallRule{VPC: v, Match: in.Match.Value, Record: recorded("fwr", in.Object, v.Firewall.HasSlug, now)}
	r.Match.State = cmp.Or(r.Match.State, "active")
	if err := seed.At("match", checkFirewall(r.Match)); err != nil {
		return err
	}
	if r.Inner, err = v.optionalSubnet("interface", &in.Interface); err != nil {
		return err
	}
	if r.Source, err = v.optionalSubnet("sourceSubnet", &in.SourceSubnet); err != nil {
		return err
	}
	if r.DestinationTo, err = v.optionalSubnet("destinationSubnet", &in.DestinationSubnet); err != nil {
		return err
	}
	return object.Insert(&v.Firewall, r)
}
