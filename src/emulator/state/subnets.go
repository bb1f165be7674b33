package state

import (
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/address"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/seed"
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
		for other := range s.beside() {
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

// CheckPublic refuses ranges of a subnet that contain public addresses of the data plane's network.
func (s *Store) CheckPublic(field string, cidrs []netip.Prefix) error {
	if !s.network.IsValid() {
		return nil
	}
	for r := range s.Regions.All() {
		for _, pool := range r.Public {
			if slices.ContainsFunc(cidrs, pool.Prefix().Overlaps) {
				return apierror.Conflict("field %q: %s are public addresses of region %s", field, pool.Prefix(), r.Slug)
			}
		}
	}
	return nil
}

// beside are the subnets of the VPC that are not only still listed as deleted.
func (s *Subnet) beside() iter.Seq[*Subnet] {
	return func(yield func(*Subnet) bool) {
		for _, other := range s.VPC.Subnets {
			if (other.Active() || other.At(s.VPC.Org.Store.Now) < object.Deleted) && !yield(other) {
				return
			}
		}
	}
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
	// The table may be deleted while the subnet is still listed.
	s.Table, s.OwnTable = s.VPC.Table, false
	s.VPC.Users.Remove("subnet", s.Identity)
	s.VPC.Subnets = slices.DeleteFunc(s.VPC.Subnets, func(other *Subnet) bool { return other == s })
}

// Depart ends what the subnet is part of.
func (s *Subnet) Depart() {
	org := s.VPC.Org
	org.Leave(&s.Life, s.Quit, func() { org.Subnets.Remove(s) })
}

func (s *Subnet) describe() seed.Subnet {
	of := seed.Described(s.Meta)
	out := seed.Subnet{Identity: of.Identity, Name: of.Name, Labels: of.Labels, Details: of.Details,
		Life: lived(s.Life, "")}
	for _, pool := range s.Pools {
		out.CIDRs = append(out.CIDRs, pool.Prefix())
	}
	if s.OwnTable && has(&s.VPC.Org.RouteTables, s.Table) {
		out.RouteTable = s.Table.Identity
	}
	return out
}

func (v *VPC) seedSubnet(in *seed.Subnet, now time.Time) error {
	of := checked{kind: "subnet", life: in.Life, now: now,
		object: seed.Object{Identity: in.Identity, Name: in.Name, Labels: in.Labels, Details: in.Details}}
	if err := checkNew(v.Org.Store, &v.Org.Subnets, of); err != nil {
		return err
	}
	s := &Subnet{VPC: v, Table: v.Table, Life: revived(in.Life),
		Record: recorded("subnet", of.object, v.Org.Subnets.HasSlug, now)}
	if in.RouteTable != "" {
		table, found := v.Org.RouteTables.Find(in.RouteTable)
		if !found || table.VPC != v {
			return fmt.Errorf("field \"routeTable\": route table %q is not in the VPC", in.RouteTable)
		}
		s.Table, s.OwnTable = table, true
	}
	if _, taken := v.Org.Subnets.Exact(s.Identity); taken {
		return identityTaken(s.Identity)
	}
	if err := s.seedRanges(in, of.ended()); err != nil {
		return err
	}
	s.Join()
	if in.Removed() {
		s.Depart()
	}
	return nil
}

// seedRanges gives the subnet the ranges of a seed. Those of a subnet that is only still listed are no longer in use.
func (s *Subnet) seedRanges(in *seed.Subnet, ended bool) error {
	cidrs, err := ParseNetworks("cidrs", Texts(in.CIDRs))
	if err != nil {
		return err
	}
	store := s.VPC.Org.Store
	if !store.restoring && !ended {
		if err := s.Occupy(cidrs); err != nil {
			return err
		}
		return store.CheckPublic("cidrs", cidrs)
	}
	for _, cidr := range cidrs {
		s.Pools = append(s.Pools, address.NewPool(cidr))
	}
	return nil
}

// Within reports whether a prefix lies in one of the others.
func Within(prefix netip.Prefix, outer []netip.Prefix) bool {
	for _, o := range outer {
		if o.Bits() <= prefix.Bits() && o.Contains(prefix.Addr()) {
			return true
		}
	}
	return false
}

// assign reserves the given addresses, or takes free ones when there are none.
func (s *Subnet) assign(wanted []netip.Addr) ([]netip.Addr, error) {
	if len(wanted) == 0 {
		return TakeAddresses(s.Pools)
	}
	for i, addr := range wanted {
		if err := s.reserve(addr); err != nil {
			ReleaseAddresses(s.Pools, wanted[:i])
			return nil, err
		}
	}
	return wanted, nil
}

func (s *Subnet) reserve(addr netip.Addr) error {
	for _, pool := range s.Pools {
		if pool.Prefix().Contains(addr) {
			return pool.Reserve(addr)
		}
	}
	return fmt.Errorf("address %s is outside subnet %s", addr, s.Name)
}

func (o *Organisation) subnetFor(ref string) (*Subnet, error) {
	if ref == "" {
		for first := range o.Subnets.All() {
			return first, nil
		}
	}
	if found, ok := o.Subnets.Find(ref); ok && !found.Active() {
		return nil, apierror.Conflict("field \"subnet\": subnet %q is being deleted", ref)
	} else if ok {
		return found, nil
	}
	return nil, fmt.Errorf("field \"subnet\": subnet %q does not exist in organisation %s", ref, o.Slug)
}
