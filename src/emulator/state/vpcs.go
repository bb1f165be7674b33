package state

import (
	"net/netip"
	"slices"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/seed"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// VPC is a virtual private cloud: a network.
type VPC struct {
	object.Record
	object.Life
	Org     *Organisation
	Region  *region
	CIDRs   []netip.Prefix
	Subnets []*Subnet
	// Firewall are the rules of the VPC.
	Firewall object.Collection[*FirewallRule]
	// Table is the route table of subnets that name none.
	Table *RouteTable
	// Users are what lives in the VPC, except its default route table.
	Users object.Users
}

// Status is the status of the VPC in the words of the API.
func (v *VPC) Status() string { return v.At(v.Org.Store.Now).String() }

// Short is the VPC inside another object: without its subnets and organisation.
func (v *VPC) Short() *wire.VPC {
	if known, found := cached[wire.VPC](v.Org.Store, v); found {
		return known
	}
	return cache(v.Org.Store, v, &wire.VPC{
		Meta: v.Nested(), Status: v.Status(), CIDRs: Texts(v.CIDRs), CloudRegion: v.Region.Short(),
		Subnets: []wire.Subnet{}, FirewallRules: []any{},
	})
}

// View is the VPC as the API describes it.
func (v *VPC) View() wire.VPC {
	view := *v.Short()
	view.Organisation, view.RouteTable, view.Subnets = v.Org.Short(), v.Table.Short(), []wire.Subnet{}
	view.FirewallRules = []any{}
	for r := range v.Firewall.All() {
		view.FirewallRules = append(view.FirewallRules, r.Short())
	}
	for _, s := range v.Subnets {
		view.Subnets = append(view.Subnets, *s.Short())
	}
	return view
}

// Traits are the values of the VPC that filters of lists can name.
func (v *VPC) Traits() object.Traits {
	return v.Record.Traits().Reference("vpc", &v.Record).Reference("region", &v.Region.Record).With("status",
		v.Status())
}

// AddDefaultTable gives a VPC its default route table, unless it has one.
func (v *VPC) AddDefaultTable(now time.Time) {
	if v.Table == nil {
		v.Org.AddRouteTable(&RouteTable{VPC: v, IsDefault: true,
			Record: object.NewRecord("rtb", object.Spec{Name: "default"}, v.Org.RouteTables.HasSlug, now)})
	}
}

// CheckServable refuses ranges of a VPC that the data plane cannot serve. Its network is one, so VPCs do not have
// address spaces of their own.
func (v *VPC) CheckServable(field string, cidrs []netip.Prefix) error {
	s := v.Org.Store
	if !s.network.IsValid() {
		return nil
	}
	for _, cidr := range cidrs {
		if !Within(cidr, []netip.Prefix{s.network}) {
			return apierror.Invalid("field %q: %s is outside the data plane's network %s", field, cidr, s.network)
		}
		if other := s.sharing(v, cidr); other != nil && !s.restoring {
			return apierror.Conflict("field %q: %s overlaps VPC %q, which shares the data plane's network", field, cidr,
				other.Identity)
		}
	}
	return nil
}

// sharing is another VPC that has addresses of a range, or nil.
func (s *Store) sharing(v *VPC, cidr netip.Prefix) *VPC {
	for org := range s.Spaces() {
		for other := range object.Present(&org.VPCs, s.Now) {
			if other != v && slices.ContainsFunc(other.CIDRs, cidr.Overlaps) {
				return other
			}
		}
	}
	return nil
}

// ParseNetworks reads at least one CIDR. They must not overlap.
func ParseNetworks(field string, texts []string) ([]netip.Prefix, error) {
	if len(texts) == 0 {
		return nil, apierror.Invalid("field %q must have at least one CIDR", field)
	}
	var prefixes []netip.Prefix
	for _, text := range texts {
		prefix, err := ParseNetwork(field, text)
		if err != nil {
			return nil, err
		}
		if i := slices.IndexFunc(prefixes, prefix.Overlaps); i >= 0 {
			return nil, apierror.Invalid("field %q: %s overlaps %s", field, prefix, prefixes[i])
		}
		prefixes = append(prefixes, prefix)
	}
	return prefixes, nil
}

// ParseNetwork reads a CIDR without host bits.
func ParseNetwork(field, text string) (netip.Prefix, error) {
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return prefix, apierror.Invalid("field %q: %q is not a CIDR such as 10.0.0.0/16", field, text)
	}
	if prefix != prefix.Masked() {
		return prefix, apierror.Invalid("field %q: %s has host bits; it should be %s", field, prefix, prefix.Masked())
	}
	return prefix, nil
}

// CheckRanges refuses new ranges of a VPC that overlap an active peer, or the pods or services of a cluster in it.
func (v *VPC) CheckRanges(field string, cidrs []netip.Prefix) error {
	for p := range v.Org.Peerings.All() {
		other := p.Accepter
		if other == v {
			other = p.Requester
		} else if p.Requester != v {
			continue
		}
		if p.Status == PeeringActive && overlap(cidrs, other.CIDRs) {
			return apierror.Conflict("field %q: %v overlaps VPC %q, to which VPC peering connection %q leads", field,
				cidrs, other.Identity, p.Identity)
		}
	}
	for k := range v.Org.Clusters.All() {
		if k.Subnet == nil || k.Subnet.VPC != v || !k.Active() {
			continue
		}
		if err := k.checkRanges(cidrs); err != nil {
			return apierror.Conflict("field %q: Kubernetes cluster %q: %v", field, k.Identity, err)
		}
	}
	return nil
}

// The departures of objects: what happens when the deletion that Life.Remove began ends, and when they are no longer
// listed.

// Depart ends what the VPC is part of.
func (v *VPC) Depart() {
	v.Org.RemoveRouteTable(v.Table)
	v.Org.Leave(&v.Life, nil, func() { v.Org.VPCs.Remove(v) })
}

func (o *Organisation) describeVPCs() (out []seed.VPC) {
	for v := range o.VPCs.All() {
		of := seed.Described(v.Meta)
		vpc := seed.VPC{Identity: of.Identity, Name: of.Name, Labels: of.Labels, Details: of.Details,
			Life: lived(v.Life, ""), Region: v.Region.Identity, CIDRs: v.CIDRs}
		if !has(&o.RouteTables, v.Table) {
			vpc.RouteTables = append(vpc.RouteTables, v.Table.describe())
		}
		for t := range o.RouteTables.All() {
			if t.VPC == v {
				vpc.RouteTables = append(vpc.RouteTables, t.describe())
			}
		}
		for s := range o.Subnets.All() {
			if s.VPC == v {
				vpc.Subnets = append(vpc.Subnets, s.describe())
			}
		}
		for g := range o.SecurityGroups.All() {
			if g.VPC == v {
				vpc.SecurityGroups = append(vpc.SecurityGroups, g.describe())
			}
		}
		for r := range v.Firewall.All() {
			vpc.FirewallRules = append(vpc.FirewallRules, r.describe())
		}
		out = append(out, vpc)
	}
	return out
}

// seedNetwork adds what lives in a VPC.
func (v *VPC) seedNetwork(in *seed.VPC, now time.Time) error {
	if err := seed.Each("routeTables", "route table", in.RouteTables,
		func(t *seed.RouteTable) (string, error) { return t.Name, v.seedRouteTable(t, now) }); err != nil {
		return err
	}
	v.AddDefaultTable(now)
	if err := seed.Each("subnets", "subnet", in.Subnets,
		func(s *seed.Subnet) (string, error) { return s.Name, v.seedSubnet(s, now) }); err != nil {
		return err
	}
	for _, in := range in.RouteTables {
		if table, found := v.Org.RouteTables.Exact(in.Identity); found {
			subnets := slices.Collect(table.Subnets.All())
			inOrder(subnets, in.Subnets)
			table.Subnets = object.Collected(subnets)
		}
	}
	if err := seed.Each("securityGroups", "security group", in.SecurityGroups,
		func(g *seed.SecurityGroup) (string, error) { return g.Name, v.seedSecurityGroup(g, now) }); err != nil {
		return err
	}
	// Rules name other groups.
	if err := seed.EachIndexed("securityGroups", "security group", in.SecurityGroups,
		func(i int, g *seed.SecurityGroup) (string, error) { return g.Name, v.seedRules(i, g) }); err != nil {
		return err
	}
	return seed.Each("firewallRules", "firewall rule", in.FirewallRules,
		func(r *seed.FirewallRule) (string, error) { return r.Name, v.seedFirewallRule(r, now) })
}

func (o *Organisation) seedVPC(in *seed.VPC, now time.Time) error {
	of := checked{kind: "VPC", life: in.Life, now: now,
		object: seed.Object{Identity: in.Identity, Name: in.Name, Labels: in.Labels, Details: in.Details}}
	if err := checkNew(o.Store, &o.VPCs, of); err != nil {
		return err
	}
	home, err := required(&o.Store.Regions, "region", "region", in.Region)
	if err != nil {
		return err
	}
	v := &VPC{Org: o, Region: home, Life: revived(in.Life), Record: recorded("vpc", of.object, o.VPCs.HasSlug, now)}
	if v.CIDRs, err = ParseNetworks("cidrs", Texts(in.CIDRs)); err != nil {
		return err
	}
	if err := v.CheckServable("cidrs", v.CIDRs); err != nil && !of.ended() {
		return err
	}
	if err := object.Insert(&o.VPCs, v); err != nil {
		return err
	}
	if err := v.seedNetwork(in, now); err != nil {
		return err
	}
	if in.Removed() {
		v.Depart()
	}
	return nil
}
