package emulator

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/address"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/seed"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// seedNetwork adds what lives in a VPC.
func (v *vpc) seedNetwork(in seed.VPC, now time.Time) error {
	for _, table := range in.RouteTables {
		if err := v.seedRouteTable(table, now); err != nil {
			return fmt.Errorf("route table %q: %w", table.Name, err)
		}
	}
	v.addDefaultTable(now)
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
	return nil
}

func (v *vpc) seedRouteTable(in seed.RouteTable, now time.Time) error {
	if in.Name == "" {
		return fmt.Errorf("a route table needs a name")
	}
	if in.Default && v.table != nil {
		return fmt.Errorf("the VPC has a default route table already, %q", v.table.Name)
	}
	if _, taken := v.org.routeTables.exact(in.Identity); taken {
		return identityTaken(in.Identity)
	}
	t := &routeTable{vpc: v, isDefault: in.Default, meta: newMeta("rtb",
		spec{identity: in.Identity, name: in.Name, labels: in.Labels}, v.org.routeTables.hasSlug, now)}
	v.org.addRouteTable(t)
	for _, route := range in.Routes {
		if err := t.seedRoute(route); err != nil {
			return err
		}
	}
	return nil
}

func (t *routeTable) seedRoute(in seed.Route) error {
	destination, err := parseNetwork("destination", in.Destination.String())
	if err != nil {
		return err
	}
	r := &routeEntry{identity: newIdentity("rte"), destination: destination}
	if t.routes.hasSlug(destination.String()) {
		return t.destinationTaken(r)
	}
	if r.address, err = t.vpc.gatewayAddress("gatewayAddress", in.GatewayAddress.String(), destination); err != nil {
		return err
	}
	t.addRoute(r)
	return nil
}

func (v *vpc) seedSubnet(in seed.Subnet, now time.Time) error {
	if in.Name == "" || len(in.CIDRs) == 0 || len(in.CIDRs) > 2 {
		return fmt.Errorf("a subnet needs a name and one CIDR, or one of each address family")
	}
	s := &subnet{vpc: v, table: v.table, meta: newMeta("subnet",
		spec{identity: in.Identity, name: in.Name, labels: in.Labels}, v.org.subnets.hasSlug, now)}
	if in.RouteTable != "" {
		table, found := v.org.routeTables.find(in.RouteTable)
		if !found || table.vpc != v {
			return fmt.Errorf("route table %q is not in the VPC", in.RouteTable)
		}
		s.table = table
	}
	for _, cidr := range in.CIDRs {
		if !within(cidr, v.cidrs) {
			return fmt.Errorf("CIDR %s is outside the VPC's %v", cidr, v.cidrs)
		}
		s.pools = append(s.pools, address.NewPool(cidr))
	}
	if len(s.pools) == 2 && s.pools[0].Prefix().Addr().Is4() == s.pools[1].Prefix().Addr().Is4() {
		return fmt.Errorf("CIDRs %v are of the same address family", in.CIDRs)
	}
	if _, taken := v.org.subnets.exact(s.Identity); taken {
		return identityTaken(s.Identity)
	}
	s.join()
	return nil
}

func (v *vpc) seedSecurityGroup(in seed.SecurityGroup, now time.Time) error {
	if in.Name == "" {
		return fmt.Errorf("a security group needs a name")
	}
	if _, taken := v.org.securityGroups.exact(in.Identity); taken {
		return identityTaken(in.Identity)
	}
	g := &securityGroup{vpc: v, sameGroupTraffic: in.SameGroupTraffic}
	// Seeds are checked leniently.
	ingress, egress, err := Switches{}.ruleSets(g, seedRules(in.Ingress), seedRules(in.Egress))
	if err != nil {
		return err
	}
	g.meta = newMeta("sg", spec{identity: in.Identity, name: in.Name, labels: in.Labels}, v.org.securityGroups.hasSlug, now)
	v.org.addSecurityGroup(g)
	g.setRules(ingress, egress)
	return nil
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

func (o *organisation) seedReservedIP(in seed.ReservedIP, now time.Time) error {
	home, found := o.store.regions.find(in.Region)
	if !found {
		return fmt.Errorf("region %q is not in the seed", in.Region)
	}
	if in.Name == "" {
		return fmt.Errorf("a reserved IP needs a name")
	}
	if _, taken := o.reservedIPs.exact(in.Identity); taken {
		return identityTaken(in.Identity)
	}
	addrs, err := home.publicAddresses(in.Addresses)
	if err != nil {
		return err
	}
	ip := &reservedIP{region: home, addresses: addrs}
	ip.meta = newMeta("rip", spec{identity: in.Identity, name: in.Name, labels: in.Labels}, o.reservedIPs.hasSlug, now)
	o.reservedIPs.add(ip)
	return nil
}

// publicAddresses reserves the given addresses, or takes free ones when there
// are none.
func (r *region) publicAddresses(wanted []netip.Addr) ([]netip.Addr, error) {
	if len(wanted) == 0 && len(r.public) > 0 {
		return takeAddresses(r.public)
	}
	for _, addr := range wanted {
		if err := reserveIn(r.public, addr); err != nil {
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
