package state

import (
	"time"

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
	n := &NATGateway{Subnet: home, InstanceSize: in.InstanceSize, Routes: map[*RouteEntry]bool{},
		Addressing: Addressing{Pools: home.VPC.Region.Public}, Life: revived(in.Life),
		Record: recorded("ngw", in.Object, o.NATGateways.HasSlug, now)}
	if err := object.Insert(&o.NATGateways, n); err != nil {
		return err
	}
	if err := o.seedReach(n, reach{in.Addresses, in.ReservedIP, in.Removed()}); err != nil {
		return err
	}
	home.Users.Add("NAT gateway", n.Identity)
	n.SecurityGroups = Reattach("NAT gateway", n.Identity, nil, groups)
	if in.Removed() {
		n.Depart()
	}
	return nil
}
