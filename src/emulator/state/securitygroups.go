package state

import (
	"fmt"
	"slices"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/behaviour"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/seed"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// SecurityGroup filters the traffic of the objects that it is attached to.
type SecurityGroup struct {
	object.Record
	object.Life
	VPC              *VPC
	SameGroupTraffic bool
	Ingress, Egress  []wire.SecurityGroupRule
	// Users are what is attached, and the groups whose rules name this one.
	Users object.Users
}

// Status is the status of the security group in the words of the API.
func (g *SecurityGroup) Status(now time.Time) string {
	switch phase := g.At(now); phase {
	case object.Creating:
		return "provisioning"
	case object.Ready:
		return "active"
	default:
		return phase.String()
	}
}

// Short is the security group inside what it is attached to: without its VPC
// and rules.
func (g *SecurityGroup) Short(now time.Time) wire.SecurityGroup {
	return wire.SecurityGroup{
		Meta: g.Nested(), Status: g.Status(now), AllowSameGroupTraffic: g.SameGroupTraffic,
		IngressRules: []wire.SecurityGroupRule{}, EgressRules: []wire.SecurityGroupRule{},
	}
}

// View is the security group as the API describes it.
func (g *SecurityGroup) View(now time.Time) wire.SecurityGroup {
	view := g.Short(now)
	view.Organisation, view.VPC = g.VPC.Org.Short(), g.VPC.Short()
	view.IngressRules, view.EgressRules = object.List(g.Ingress), object.List(g.Egress)
	return view
}

// Traits are the values of the security group that filters of lists can name.
func (g *SecurityGroup) Traits(now time.Time) object.Traits {
	return g.Record.Traits().Reference("vpc", &g.VPC.Record).Reference("region", &g.VPC.Region.Record).
		With("status", g.Status(now))
}

// AddSecurityGroup adds a security group to its VPC.
func (o *Organisation) AddSecurityGroup(g *SecurityGroup) {
	o.SecurityGroups.Add(g)
	g.VPC.Users.Add("security group", g.Identity)
}

// SecurityGroupsIn resolves security groups that must be in one VPC. Naming one
// twice is naming it once.
func (o *Organisation) SecurityGroupsIn(home *VPC, refs []string) ([]*SecurityGroup, error) {
	const field = "securityGroupAttachments"
	var groups []*SecurityGroup
	for _, ref := range refs {
		g, err := object.Referred(&o.SecurityGroups, field, "security group", ref)
		if err != nil {
			return nil, err
		}
		if g.VPC != home {
			return nil, apierror.Invalid("field %q: security group %q is in another VPC", field, ref)
		}
		if !slices.Contains(groups, g) {
			groups = append(groups, g)
		}
	}
	return groups, nil
}

// Reattach moves an object from some security groups to others.
func Reattach(kind, identity string, from, to []*SecurityGroup) []*SecurityGroup {
	for _, g := range from {
		g.Users.Remove(kind, identity)
	}
	for _, g := range to {
		g.Users.Add(kind, identity)
	}
	return to
}

// SecurityGroupViews are security groups inside another object.
func SecurityGroupViews(groups []*SecurityGroup, now time.Time) []wire.SecurityGroup {
	views := make([]wire.SecurityGroup, 0, len(groups))
	for _, g := range groups {
		views = append(views, g.Short(now))
	}
	return views
}

// Depart ends what the security group is part of.
func (g *SecurityGroup) Depart() {
	org := g.VPC.Org
	org.Leave(&g.Life, func() { g.VPC.Users.Remove("security group", g.Identity) },
		func() { org.SecurityGroups.Remove(g) })
}

func (g *SecurityGroup) describe() seed.SecurityGroup {
	of := seed.Described(g.Meta)
	return seed.SecurityGroup{Identity: of.Identity, Name: of.Name, Labels: of.Labels, Details: of.Details,
		Life: lived(g.Life, ""), SameGroupTraffic: g.SameGroupTraffic,
		IngressRules: seed.JSON[[]wire.SecurityGroupRule]{Value: g.Ingress},
		EgressRules:  seed.JSON[[]wire.SecurityGroupRule]{Value: g.Egress}}
}

func (v *VPC) seedSecurityGroup(in *seed.SecurityGroup, now time.Time) error {
	of := checked{kind: "security group", life: in.Life, now: now,
		object: seed.Object{Identity: in.Identity, Name: in.Name, Labels: in.Labels, Details: in.Details}}
	if err := checkNew(v.Org.Store, &v.Org.SecurityGroups, of); err != nil {
		return err
	}
	if err := CheckGroupName(v.Org.Store.strictness(), in.Name); err != nil {
		return err
	}
	if _, taken := v.Org.SecurityGroups.Exact(in.Identity); taken {
		return identityTaken(in.Identity)
	}
	g := &SecurityGroup{VPC: v, SameGroupTraffic: in.SameGroupTraffic, Life: revived(in.Life),
		Record: recorded("sg", of.object, v.Org.SecurityGroups.HasSlug, now)}
	v.Org.AddSecurityGroup(g)
	if in.Removed() {
		g.Depart()
	}
	return nil
}

// strictness are the switches that decide which rules and names of security groups are accepted. A state that an
// emulator wrote can be older than they are.
func (s *Store) strictness() behaviour.Switches {
	if s.restoring {
		return behaviour.Switches{}
	}
	return s.Switches
}

// seedRules gives the rules of a seed to the security group at a place of the VPC.
func (v *VPC) seedRules(place int, in *seed.SecurityGroup) error {
	groups := slices.DeleteFunc(slices.Collect(v.Org.SecurityGroups.All()),
		func(g *SecurityGroup) bool { return g.VPC != v })
	g := groups[place]
	ingress, err := g.seedRules("ingress", in.Ingress, in.IngressRules.Value)
	if err != nil {
		return err
	}
	egress, err := g.seedRules("egress", in.Egress, in.EgressRules.Value)
	if err != nil {
		return err
	}
	g.SetRules(ingress, egress)
	return nil
}

// seedRules are the rules of one direction: short ones, and those as the API has them.
func (g *SecurityGroup) seedRules(direction string, short []seed.Rule,
	long []wire.SecurityGroupRule) ([]wire.SecurityGroupRule, error) {
	place := func(i int) string {
		if i < len(short) {
			return fmt.Sprintf("%s[%d]", direction, i)
		}
		return fmt.Sprintf("%sRules[%d]", direction, i-len(short))
	}
	return checkRules(g.VPC.Org.Store.strictness(), place, g, append(seedRules(short), long...))
}

// seedRules are the rules of a seed as the API has them.
func seedRules(seeds []seed.Rule) []wire.SecurityGroupRule {
	rules := make([]wire.SecurityGroupRule, 0, len(seeds))
	for _, seed := range seeds {
		remote, version := seed.Remote.String(), "ipv6"
		if seed.Remote.Addr().Is4() {
			version = "ipv4"
		}
		rules = append(rules, wire.SecurityGroupRule{
			Name: seed.Name, IPVersion: version, Protocol: seed.Protocol, Priority: seed.Priority, Policy: "allow",
			RemoteType: remoteAddress, RemoteAddress: &remote, PortRangeMin: seed.Ports[0], PortRangeMax: seed.Ports[1],
		})
	}
	return rules
}
