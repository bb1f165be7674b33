package state

import (
	"net/netip"
	"slices"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
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
func (p *Peering) Overlaps() bool {
	for _, ours := range p.Requester.CIDRs {
		if slices.ContainsFunc(p.Accepter.CIDRs, ours.Overlaps) {
			return true
		}
	}
	return false
}
