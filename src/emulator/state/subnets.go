package state

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/address"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// Subnet is a part of a VPC, in which machines have addresses.
type Subnet struct {
	object.Record
	object.Life
	VPC   *VPC
	Pools []*address.Pool
	Table *RouteTable
	// OwnTable: the table was named for the subnet. Else it is the default of the VPC.
	OwnTable bool
	// Users are the machines, load balancers and NAT gateways in the subnet.
	Users object.Users
}

// Status is the status of the subnet in the words of the API.
func (s *Subnet) Status() string { return s.At(s.VPC.Org.Store.Now).String() }

// Short is the subnet inside another object: without its VPC and route table.
func (s *Subnet) Short() *wire.Subnet {
	if known, found := cached[wire.Subnet](s.VPC.Org.Store, s); found {
		return known
	}
	view := &wire.Subnet{Meta: s.Nested(), VPCIdentity: s.VPC.Identity, Status: s.Status()}
	for _, pool := range s.Pools {
		if pool.Prefix().Addr().Is4() {
			view.V4UsingIPs, view.V4AvailableIPs = pool.Used(), pool.Available()
			view.Type = "IPv4"
		} else {
			view.V6UsingIPs, view.V6AvailableIPs = pool.Used(), pool.Available()
			view.Type = "IPv6"
		}
	}
	if len(s.Pools) > 1 {
		view.Type = "Dual"
	}
	view.CIDR = s.CIDR()
	return cache(s.VPC.Org.Store, s, view)
}

// CIDR is the network of the subnet in the words of the API: one prefix, or one of each address family.
func (s *Subnet) CIDR() string {
	var cidrs []string
	for _, pool := range s.Pools {
		cidrs = append(cidrs, pool.Prefix().String())
	}
	return strings.Join(cidrs, ",")
}

// View is the subnet as the API describes it.
func (s *Subnet) View() wire.Subnet {
	view := *s.Short()
	view.VPC = s.VPC.Short()
	if s.OwnTable || s.VPC.Org.Store.Switches.DefaultRouteTables {
		view.RouteTable = s.Table.Short()
	}
	return view
}

// Traits are the values of the subnet that filters of lists can name.
func (s *Subnet) Traits() object.Traits {
	return s.Record.Traits().Reference("subnet", &s.Record).Reference("vpc", &s.VPC.Record).
		Reference("region", &s.VPC.Region.Record).With("status", s.Status())
}

// Occupy gives a subnet its ranges: one, or one of each address family, inside
// the VPC and beside its other subnets.
func (s *Subnet) Occupy(cidrs []netip.Prefix) error {
	if len(cidrs) > 2 || len(cidrs) == 2 && cidrs[0].Addr().Is4() == cidrs[1].Addr().Is4() {
		return apierror.Invalid("field \"cidr\" must be one CIDR, or one of each address family, not %v", cidrs)
	}
	for _, cidr := range cidrs {
		if !Within(cidr, s.VPC.CIDRs) {
			return apierror.Invalid("field \"cidr\": %s is outside VPC %q, which has %v", cidr, s.VPC.Identity,
				s.VPC.CIDRs)
		}
		pool := address.NewPool(cidr)
		if pool.Available() < 1 {
			return apierror.Invalid("field \"cidr\": %s is too small to hand out addresses", cidr)
		}
		for _, other := range s.VPC.Subnets {
			for _, taken := range other.Pools {
				if cidr.Overlaps(taken.Prefix()) {
					return apierror.Conflict("field \"cidr\": %s overlaps %s of subnet %q", cidr, taken.Prefix(),
						other.Identity)
				}
			}
		}
		s.Pools = append(s.Pools, pool)
	}
	return nil
}

// Join adds a subnet to its VPC and route table.
func (s *Subnet) Join() {
	s.VPC.Org.Subnets.Add(s)
	s.VPC.Subnets = append(s.VPC.Subnets, s)
	s.VPC.Users.Add("subnet", s.Identity)
	s.Table.Subnets.Add(s)
}

// Quit removes a deleted subnet from its VPC and route table.
func (s *Subnet) Quit() {
	s.Table.Subnets.Remove(s)
	s.VPC.Users.Remove("subnet", s.Identity)
	s.VPC.Subnets = slices.DeleteFunc(s.VPC.Subnets, func(other *Subnet) bool { return other == s })
}
