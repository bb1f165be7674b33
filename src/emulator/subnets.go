package emulator

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/address"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

type subnet struct {
	meta
	life
	vpc   *vpc
	pools []*address.Pool
	table *routeTable
	// users are the machines, load balancers and NAT gateways in the subnet.
	users users
}

func (s *subnet) status() string { return s.at(s.vpc.org.store.now).String() }

// short is the subnet inside another object: without its VPC and route table.
func (s *subnet) short() *wire.Subnet {
	if known, found := mentioned[wire.Subnet](s.vpc.org.store, s); found {
		return known
	}
	view := &wire.Subnet{Meta: s.nested(), VPCIdentity: s.vpc.Identity, Status: s.status()}
	var cidrs []string
	for _, pool := range s.pools {
		cidrs = append(cidrs, pool.Prefix().String())
		if pool.Prefix().Addr().Is4() {
			view.V4UsingIPs, view.V4AvailableIPs = pool.Used(), pool.Available()
			view.Type = "IPv4"
		} else {
			view.V6UsingIPs, view.V6AvailableIPs = pool.Used(), pool.Available()
			view.Type = "IPv6"
		}
	}
	if len(s.pools) > 1 {
		view.Type = "Dual"
	}
	view.CIDR = strings.Join(cidrs, ",")
	return mention(s.vpc.org.store, s, view)
}

func (s *subnet) view() wire.Subnet {
	view := *s.short()
	view.VPC, view.RouteTable = s.vpc.short(), s.table.short()
	return view
}

func (s *subnet) traits() traits {
	return s.meta.traits().reference("subnet", &s.meta).reference("vpc", &s.vpc.meta).
		reference("region", &s.vpc.region.meta).with("status", s.status())
}

func (e *Emulator) subnetOperations() map[string]handler {
	return map[string]handler{
		"GET /v1/subnets":         e.listSubnets,
		"POST /v1/subnets":        e.createSubnet,
		"GET /v1/subnets/{id}":    e.getSubnet,
		"PUT /v1/subnets/{id}":    e.updateSubnet,
		"DELETE /v1/subnets/{id}": e.deleteSubnet,
	}
}

func (e *Emulator) listSubnets(c *call) (reply, error) {
	return listed(c, &c.org.subnets, (*subnet).traits, (*subnet).view)
}

func (e *Emulator) getSubnet(c *call) (reply, error) {
	s, err := addressed(c, &c.org.subnets, "subnet")
	if err != nil {
		return reply{}, err
	}
	return one(s.view()), nil
}

func (e *Emulator) createSubnet(c *call) (reply, error) {
	in, err := decode[wire.SubnetInput](c)
	if err != nil {
		return reply{}, err
	}
	if err := checkNew(e, &c.org.subnets, "subnet", specified(in.MetaInput)); err != nil {
		return reply{}, err
	}
	home, err := referred(&c.org.vpcs, "vpcIdentity", "VPC", in.VPCIdentity)
	if err != nil {
		return reply{}, err
	}
	table, err := c.table(in.AssociatedRouteTableIdentity, home, home.table)
	if err != nil {
		return reply{}, err
	}
	cidrs, err := parseNetworks("cidr", strings.Split(in.CIDR, ","))
	if err != nil {
		return reply{}, err
	}
	s := &subnet{vpc: home, table: table, life: life{readyAt: c.now.Add(e.delays.NetworkCreate)}}
	if err := s.occupy(cidrs); err != nil {
		return reply{}, err
	}
	if err := e.checkPublic("cidr", cidrs); err != nil {
		return reply{}, err
	}
	if err := c.org.admit(quotaSubnets); err != nil {
		return reply{}, err
	}
	s.meta = newMeta("subnet", specified(in.MetaInput), c.org.subnets.hasSlug, c.now)
	s.join()
	return created(s.Identity, s.view()), nil
}

// occupy gives a subnet its ranges: one, or one of each address family, inside
// the VPC and beside its other subnets.
func (s *subnet) occupy(cidrs []netip.Prefix) error {
	if len(cidrs) > 2 || len(cidrs) == 2 && cidrs[0].Addr().Is4() == cidrs[1].Addr().Is4() {
		return invalid("field \"cidr\" must be one CIDR, or one of each address family, not %v", cidrs)
	}
	for _, cidr := range cidrs {
		if !within(cidr, s.vpc.cidrs) {
			return invalid("field \"cidr\": %s is outside VPC %q, which has %v", cidr, s.vpc.Identity, s.vpc.cidrs)
		}
		pool := address.NewPool(cidr)
		if pool.Available() < 1 {
			return invalid("field \"cidr\": %s is too small to hand out addresses", cidr)
		}
		for _, other := range s.vpc.subnets {
			for _, taken := range other.pools {
				if cidr.Overlaps(taken.Prefix()) {
					return conflict("field \"cidr\": %s overlaps %s of subnet %q", cidr, taken.Prefix(), other.Identity)
				}
			}
		}
		s.pools = append(s.pools, pool)
	}
	return nil
}

// join adds a subnet to its VPC and route table.
func (s *subnet) join() {
	s.vpc.org.subnets.add(s)
	s.vpc.subnets = append(s.vpc.subnets, s)
	s.vpc.users.add("subnet", s.Identity)
	s.table.subnets.add(s)
}

func (e *Emulator) updateSubnet(c *call) (reply, error) {
	s, err := writable(c, &c.org.subnets, "subnet")
	if err != nil {
		return reply{}, err
	}
	in, err := decode[wire.SubnetInput](c)
	if err != nil {
		return reply{}, err
	}
	next, err := revised(e, c, &c.org.subnets, "subnet", s, in.MetaInput)
	if err != nil {
		return reply{}, err
	}
	table, err := c.table(in.AssociatedRouteTableIdentity, s.vpc, s.table)
	if err != nil {
		return reply{}, err
	}
	s.meta = next
	if table != s.table {
		s.table.subnets.remove(s)
		table.subnets.add(s)
		s.table = table
	}
	return changed(s.Identity, s.view()), nil
}

func (e *Emulator) deleteSubnet(c *call) (reply, error) {
	s, err := addressed(c, &c.org.subnets, "subnet")
	if err != nil {
		return reply{}, err
	}
	if !s.wanted() {
		return done(s.Identity), nil
	}
	if err := s.users.check("subnet", s.Identity); err != nil {
		return reply{}, err
	}
	for r := range s.vpc.firewall.all() {
		if r.inner == s || r.source == s || r.destinationTo == s {
			return reply{}, conflict("subnet %q is in use by VPC firewall rule %q; delete or change that first", s.Identity, r.Identity)
		}
	}
	s.remove(c.now, e.delays.NetworkDelete, e.delays.NetworkLinger)
	s.touch(c.now)
	c.org.leave(&s.life, s.quit)
	c.org.sweep(c.now)
	return done(s.Identity), nil
}

// quit undoes join.
func (s *subnet) quit() {
	s.table.subnets.remove(s)
	s.vpc.users.remove("subnet", s.Identity)
	s.vpc.subnets = slices.DeleteFunc(s.vpc.subnets, func(other *subnet) bool { return other == s })
	s.vpc.org.subnets.remove(s)
}
