package state

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/seed"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// NATGateway gives machines of a subnet access to the internet.
type NATGateway struct {
	object.Record
	object.Life
	Addressing
	Subnet         *Subnet
	SecurityGroups []*SecurityGroup
	InstanceSize   string
	// DefaultRoute is the route that was configured along with the gateway; it
	// goes with it.
	DefaultRoute *RouteEntry
	// Routes are those that send their traffic to the gateway.
	Routes map[*RouteEntry]bool
}

// Resource is the kind and the identity of the NAT gateway, as reserved IPs name them.
func (n *NATGateway) Resource() (kind, identity string) { return resourceNATGateway, n.Identity }

// Reach returns the addresses of the NAT gateway, to change them.
func (n *NATGateway) Reach() *Addressing { return &n.Addressing }

// Readdressed records that the addresses of the NAT gateway changed.
func (n *NATGateway) Readdressed(now time.Time) { n.Touch(now) }

func (n *NATGateway) accepts() error { return nil }

func (n *NATGateway) home() *region { return n.Subnet.VPC.Region }

// Short is the NAT gateway inside a route: without its subnet and VPC.
func (n *NATGateway) Short(now time.Time) *wire.NATGateway {
	view := &wire.NATGateway{
		Meta: n.Nested(), Status: n.At(now).String(), VPCIdentity: n.Subnet.VPC.Identity,
		SubnetIdentity: n.Subnet.Identity, SecurityGroups: []wire.SecurityGroup{}, InstanceSize: n.InstanceSize,
	}
	if n.At(now) == object.Creating {
		return view
	}
	view.V4IP, view.V6IP = families(n.Addresses())
	view.EndpointIP = view.V4IP
	if view.EndpointIP == "" {
		view.EndpointIP = view.V6IP
	}
	return view
}

// View is the NAT gateway as the API describes it.
func (n *NATGateway) View(now time.Time) wire.NATGateway {
	view := *n.Short(now)
	view.Organisation, view.VPC, view.Subnet = n.Subnet.VPC.Org.Short(), n.Subnet.VPC.Short(), n.Subnet.Short()
	view.SecurityGroups = SecurityGroupViews(n.SecurityGroups, now)
	if ip := n.Reserved; ip != nil {
		view.ReservedIPID, view.ReservedIP = ip.Identity, ip.Short(now)
	}
	return view
}

// Traits are the values of the NAT gateway that filters of lists can name.
func (n *NATGateway) Traits(now time.Time) object.Traits {
	return n.Record.Traits().Reference("subnet", &n.Subnet.Record).Reference("vpc", &n.Subnet.VPC.Record).
		Reference("region", &n.Subnet.VPC.Region.Record).With("status", n.At(now).String()).
		With("reservedIp", n.Addressing.references()...)
}

// Release lets go of what outlives the gateway.
func (n *NATGateway) Release(now time.Time) {
	n.SecurityGroups = Reattach("NAT gateway", n.Identity, n.SecurityGroups, nil)
	n.leaveReserved(now)
}

// Depart ends what the NAT gateway is part of.
func (n *NATGateway) Depart() {
	org := n.Subnet.VPC.Org
	org.Leave(&n.Life, func() {
		n.Release(n.DeletedAt())
		n.Leave()
		n.Subnet.Users.Remove("NAT gateway", n.Identity)
	}, func() { org.NATGateways.Remove(n) })
}

func (o *Organisation) seedNATGateway(in *seed.NATGateway, now time.Time) error {
	home, groups, err := o.placed(in.Subnet, in.SecurityGroups)
	if err != nil {
		return err
	}
	if err := checkNew(o.Store, &o.NATGateways, checked{kind: "NAT gateway", object: in.Object, life: in.Life,
		now: now}); err != nil {
		return err
	}
	n := &NATGateway{Subnet: home, InstanceSize: in.InstanceSize, Routes: map[*RouteEntry]bool{},
		Addressing: Addressing{Pools: home.VPC.Region.Public}, Life: revived(in.Life),
		Record: recorded("ngw", in.Object, o.NATGateways.HasSlug, now)}
	if err := object.Insert(&o.NATGateways, n); err != nil {
		return err
	}
	if err := o.seedReach(n, reach{in.Addresses, in.ReservedIP, in.Removed(), now}); err != nil {
		return err
	}
	home.Users.Add("NAT gateway", n.Identity)
	n.SecurityGroups = Reattach("NAT gateway", n.Identity, nil, groups)
	if in.Removed() {
		n.Depart()
	}
	return nil
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

// PeeringLengths are those that the official client documents.
func PeeringLengths() object.Lengths { return object.Lengths{Name: 63, Description: 500} }

// CheckSides checks that the two VPCs can be connected.
func (p *Peering) CheckSides(field string) error {
	switch {
	case p.Accepter == p.Requester:
		return apierror.Invalid("field %q: a VPC cannot be connected with itself", field)
	case p.Overlaps():
		return apierror.Invalid("field %q: the CIDRs of VPCs %q and %q overlap: %v and %v", field,
			p.Requester.Identity, p.Accepter.Identity, p.Requester.CIDRs, p.Accepter.CIDRs)
	}
	return nil
}

// Overlaps returns whether the two VPCs have addresses in common.
func (p *Peering) Overlaps() bool { return overlap(p.Requester.CIDRs, p.Accepter.CIDRs) }

// overlap returns whether two lists of ranges have addresses in common.
func overlap(some, others []netip.Prefix) bool {
	return slices.ContainsFunc(some, func(one netip.Prefix) bool { return slices.ContainsFunc(others, one.Overlaps) })
}

// seedPeerings adds the peering connections of an organisation and its projects.
func (o *Organisation) seedPeerings(in *seed.Organisation, now time.Time) error {
	if err := o.addPeerings(in.Peerings, now); err != nil {
		return err
	}
	return seed.EachIndexed("projects", "project", in.Projects, func(i int, p *seed.Project) (string, error) {
		return p.Name, o.Projects.Order[i].Space.addPeerings(p.Peerings, now)
	})
}

func (o *Organisation) addPeerings(peerings []seed.Peering, now time.Time) error {
	return seed.Each("peerings", PeeringKind, peerings,
		func(p *seed.Peering) (string, error) { return p.Name, o.seedPeering(p, now) })
}

// seedPeering connects two VPCs, which can be of different organisations.
func (o *Organisation) seedPeering(in *seed.Peering, now time.Time) error {
	if err := checkNew(o.Store, &o.Peerings, checked{kind: PeeringKind, object: in.Object, longest: PeeringLengths(),
		now: now}); err != nil {
		return err
	}
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
	if err := p.CheckSides("accepterVpc"); err != nil && p.Status != PeeringRejected && !o.Store.restoring {
		return err
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
