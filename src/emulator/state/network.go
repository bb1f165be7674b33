package state

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/address"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/behaviour"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/seed"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

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

func (v *VPC) seedRouteTable(in seed.RouteTable, now time.Time) error {
	if in.Name == "" {
		return fmt.Errorf("a route table needs a name")
	}
	if in.Default && v.Table != nil {
		return fmt.Errorf("the VPC has a default route table already, %q", v.Table.Name)
	}
	if _, taken := v.Org.RouteTables.Exact(in.Identity); taken {
		return identityTaken(in.Identity)
	}
	v.Org.AddRouteTable(&RouteTable{VPC: v, IsDefault: in.Default, Record: recorded("rtb", seed.Object{
		Identity: in.Identity, Name: in.Name, Labels: in.Labels, Details: in.Details}, v.Org.RouteTables.HasSlug, now)})
	return nil
}

func (t *RouteTable) seedRoute(in seed.Route) error {
	destination, err := ParseNetwork("destination", in.Destination.String())
	if err != nil {
		return err
	}
	r := &RouteEntry{Identity: cmp.Or(in.Identity, object.NewIdentity("rte")), Destination: destination}
	if t.Routes.HasSlug(destination.String()) && !t.VPC.Org.Store.Switches.DuplicateRoutes {
		return t.DestinationTaken(r)
	}
	switch {
	case in.NATGateway != "":
		r.Gateway, err = required(&t.VPC.Org.NATGateways, "natGateway", "NAT gateway", in.NATGateway)
	case in.Peering != "":
		r.Peering, err = required(&t.VPC.Org.Peerings, "peering", "peering connection", in.Peering)
	default:
		r.Address, err = t.VPC.GatewayAddress("gatewayAddress", in.GatewayAddress.String(), destination)
	}
	if err != nil {
		return err
	}
	t.AddRoute(r)
	if in.WithGateway && r.Gateway != nil {
		r.Gateway.DefaultRoute = r
	}
	return nil
}

func (v *VPC) seedSubnet(in seed.Subnet, now time.Time) error {
	if in.Name == "" || len(in.CIDRs) == 0 || len(in.CIDRs) > 2 {
		return fmt.Errorf("a subnet needs a name and one CIDR, or one of each address family")
	}
	s := &Subnet{VPC: v, Table: v.Table, Life: revived(in.Life), Record: recorded("subnet", seed.Object{
		Identity: in.Identity, Name: in.Name, Labels: in.Labels, Details: in.Details}, v.Org.Subnets.HasSlug, now)}
	if in.RouteTable != "" {
		table, found := v.Org.RouteTables.Find(in.RouteTable)
		if !found || table.VPC != v {
			return fmt.Errorf("route table %q is not in the VPC", in.RouteTable)
		}
		s.Table, s.OwnTable = table, true
	}
	for _, cidr := range in.CIDRs {
		if !Within(cidr, v.CIDRs) {
			return fmt.Errorf("CIDR %s is outside the VPC's %v", cidr, v.CIDRs)
		}
		s.Pools = append(s.Pools, address.NewPool(cidr))
	}
	if len(s.Pools) == 2 && s.Pools[0].Prefix().Addr().Is4() == s.Pools[1].Prefix().Addr().Is4() {
		return fmt.Errorf("CIDRs %v are of the same address family", in.CIDRs)
	}
	if _, taken := v.Org.Subnets.Exact(s.Identity); taken {
		return identityTaken(s.Identity)
	}
	s.Join()
	if in.Removed() {
		s.Depart()
	}
	return nil
}

func (v *VPC) seedSecurityGroup(in seed.SecurityGroup, now time.Time) error {
	if in.Name == "" {
		return fmt.Errorf("a security group needs a name")
	}
	if _, taken := v.Org.SecurityGroups.Exact(in.Identity); taken {
		return identityTaken(in.Identity)
	}
	g := &SecurityGroup{VPC: v, SameGroupTraffic: in.SameGroupTraffic, Life: revived(in.Life),
		Record: recorded("sg", seed.Object{Identity: in.Identity, Name: in.Name, Labels: in.Labels,
			Details: in.Details}, v.Org.SecurityGroups.HasSlug, now)}
	v.Org.AddSecurityGroup(g)
	if in.Removed() {
		g.Depart()
	}
	return nil
}

// seedRules gives the rules of a seed to the security group at a place of the VPC.
func (v *VPC) seedRules(place int, in seed.SecurityGroup) error {
	groups := slices.DeleteFunc(slices.Collect(v.Org.SecurityGroups.All()),
		func(g *SecurityGroup) bool { return g.VPC != v })
	g := groups[place]
	// Seeds are checked leniently.
	ingress, egress, err := RuleSets(behaviour.Switches{}, g, append(seedRules(in.Ingress), in.IngressRules.Value...),
		append(seedRules(in.Egress), in.EgressRules.Value...))
	if err == nil {
		g.SetRules(ingress, egress)
	}
	return err
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

func (o *Organisation) seedReservedIP(in seed.ReservedIP, now time.Time) error {
	home, found := o.Store.Regions.Find(in.Region)
	if !found {
		return fmt.Errorf("region %q is not in the seed", in.Region)
	}
	if in.Name == "" {
		return fmt.Errorf("a reserved IP needs a name")
	}
	if _, taken := o.ReservedIPs.Exact(in.Identity); taken {
		return identityTaken(in.Identity)
	}
	addrs, err := home.publicAddresses(in.Addresses)
	if err != nil {
		return err
	}
	ip := &ReservedIP{Region: home, Addresses: addrs, Life: revived(in.Life)}
	ip.Record = recorded("rip", seed.Object{Identity: in.Identity, Name: in.Name, Labels: in.Labels,
		Details: in.Details}, o.ReservedIPs.HasSlug, now)
	o.ReservedIPs.Add(ip)
	if in.Removed() {
		o.DepartReservedIP(ip)
	}
	return nil
}

// publicAddresses reserves the given addresses, or takes free ones when there
// are none.
func (r *region) publicAddresses(wanted []netip.Addr) ([]netip.Addr, error) {
	if len(wanted) == 0 && len(r.Public) > 0 {
		return TakeAddresses(r.Public)
	}
	for _, addr := range wanted {
		if err := reserveIn(r.Public, addr); err != nil {
			return nil, err
		}
	}
	if len(wanted) == 0 {
		return nil, fmt.Errorf("region %s has no public addresses", r.Slug)
	}
	return wanted, nil
}

// reserveIn reserves an address in the pool that holds it.
func reserveIn(pools []*address.Pool, addr netip.Addr) error {
	for _, pool := range pools {
		if pool.Prefix().Contains(addr) {
			return pool.Reserve(addr)
		}
	}
	return fmt.Errorf("address %s is outside the region's public addresses", addr)
}

func identityTaken(identity string) error { return fmt.Errorf("identity %q is used twice", identity) }
