package state

import (
	"cmp"
	"errors"
	"fmt"
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

// The states of a peering connection.
const (
	PeeringPending  = "pending"
	PeeringActive   = "active"
	PeeringRejected = "rejected"
	peeringExpired  = "expired"
)

// PeeringKind is how messages call a peering connection.
const PeeringKind = "VPC peering connection"

// PeeringTimeout is how long a request waits for an answer.
const PeeringTimeout = 7 * 24 * time.Hour

// Peering connects two VPCs. Both sides list it, perhaps in two organisations.
type Peering struct {
	object.Record
	Requester, Accepter *VPC
	Status              string
	Message             *string
	// Routes are those that send their traffic across.
	Routes map[*RouteEntry]bool
}

// State is the status, which changes by itself if a request is not answered.
func (p *Peering) State(now time.Time) string {
	if p.Status == PeeringPending && !now.Before(p.CreatedAt.Add(PeeringTimeout)) {
		return peeringExpired
	}
	return p.Status
}

// Traits are the values of the peering that filters of lists can name.
func (p *Peering) Traits(now time.Time) object.Traits {
	return p.Record.Traits().With("status", p.State(now)).
		With("vpc", p.Requester.Identity, p.Requester.Slug, p.Accepter.Identity, p.Accepter.Slug)
}

// Overlaps returns whether the two VPCs have addresses in common.
func (p *Peering) Overlaps() bool { return overlap(p.Requester.CIDRs, p.Accepter.CIDRs) }

// overlap returns whether two lists of ranges have addresses in common.
func overlap(some, others []netip.Prefix) bool {
	return slices.ContainsFunc(some, func(one netip.Prefix) bool { return slices.ContainsFunc(others, one.Overlaps) })
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
func (v *VPC) seedNetwork(in seed.VPC, now time.Time) error {
	for _, table := range in.RouteTables {
		if err := v.seedRouteTable(table, now); err != nil {
			return fmt.Errorf("route table %q: %w", table.Name, err)
		}
	}
	v.AddDefaultTable(now)
	for _, sub := range in.Subnets {
		if err := v.seedSubnet(sub, now); err != nil {
			return fmt.Errorf("subnet %q: %w", sub.Name, err)
		}
	}
	for _, in := range in.RouteTables {
		if table, found := v.Org.RouteTables.Exact(in.Identity); found {
			subnets := slices.Collect(table.Subnets.All())
			inOrder(subnets, in.Subnets)
			table.Subnets = object.Collected(subnets)
		}
	}
	for _, group := range in.SecurityGroups {
		if err := v.seedSecurityGroup(group, now); err != nil {
			return fmt.Errorf("security group %q: %w", group.Name, err)
		}
	}
	// Rules name other groups.
	for i, group := range in.SecurityGroups {
		if err := v.seedRules(i, group); err != nil {
			return fmt.Errorf("security group %q: %w", group.Name, err)
		}
	}
	return each("firewall rule", in.FirewallRules, func(r *seed.FirewallRule) *seed.Object { return &r.Object },
		func(r *seed.FirewallRule) error { return v.seedFirewallRule(r, now) })
}

func (o *Organisation) seedVPC(in seed.VPC, now time.Time) error {
	home, found := o.Store.Regions.Find(in.Region)
	if !found {
		return fmt.Errorf("region %q is not in the seed", in.Region)
	}
	if in.Name == "" || len(in.CIDRs) == 0 {
		return fmt.Errorf("a VPC needs a name and at least one CIDR")
	}
	v := &VPC{Org: o, Region: home, CIDRs: in.CIDRs, Life: revived(in.Life), Record: recorded("vpc",
		seed.Object{Identity: in.Identity, Name: in.Name, Labels: in.Labels, Details: in.Details}, o.VPCs.HasSlug, now)}
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

// seedPeerings adds the peering connections of an organisation and its projects.
func (o *Organisation) seedPeerings(in seed.Organisation, now time.Time) error {
	described := func(p *seed.Peering) *seed.Object { return &p.Object }
	err := each("peering connection", in.Peerings, described,
		func(p *seed.Peering) error { return o.seedPeering(p, now) })
	for i, project := range in.Projects {
		space := o.Projects.Order[i].Space
		err = errors.Join(err, each("peering connection", project.Peerings, described,
			func(p *seed.Peering) error { return space.seedPeering(p, now) }))
	}
	return err
}

// seedPeering connects two VPCs, which can be of different organisations.
func (o *Organisation) seedPeering(in *seed.Peering, now time.Time) error {
	p := &Peering{Status: cmp.Or(in.Status, PeeringPending), Message: in.Message, Routes: map[*RouteEntry]bool{}}
	if err := object.OneOf("status", p.Status, PeeringPending, PeeringActive, PeeringRejected); err != nil {
		return err
	}
	var err error
	if p.Requester, err = required(&o.VPCs, "requesterVpc", "VPC", in.Requester); err != nil {
		return err
	}
	for part := range o.Store.Spaces() {
		if found, ok := part.VPCs.Exact(in.Accepter); ok {
			p.Accepter = found
		}
	}
	if p.Accepter == nil {
		return fmt.Errorf("field \"accepterVpc\": VPC %q not found", in.Accepter)
	}
	p.Record = recorded("vpcpc", in.Object, func(slug string) bool {
		return p.Requester.Org.Peerings.HasSlug(slug) || p.Accepter.Org.Peerings.HasSlug(slug)
	}, now)
	for _, side := range []*VPC{p.Requester, p.Accepter} {
		side.Users.Add(PeeringKind, p.Identity)
	}
	if p.Accepter.Org != o {
		p.Accepter.Org.Peerings.Add(p)
	}
	return object.Insert(&o.Peerings, p)
}
