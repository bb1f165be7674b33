package state

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/address"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
)

// Addressing is where a load balancer or NAT gateway can be reached: at
// addresses of its own, or at those of a reserved IP.
type Addressing struct {
	Pools    []*address.Pool
	own      []netip.Addr
	Reserved *ReservedIP
	// V4Only hides the IPv6 address of a reserved IP.
	V4Only bool
}

// V4Pools are the pools of IPv4 addresses.
func V4Pools(pools []*address.Pool) []*address.Pool {
	return slices.DeleteFunc(slices.Clone(pools), func(p *address.Pool) bool { return !p.Prefix().Addr().Is4() })
}

// Addresses are those of the reserved IP, if there is one, or its own.
func (a *Addressing) Addresses() []netip.Addr {
	if a.Reserved == nil {
		return a.own
	}
	if a.V4Only {
		return slices.DeleteFunc(slices.Clone(a.Reserved.Addresses), func(addr netip.Addr) bool { return !addr.Is4() })
	}
	return a.Reserved.Addresses
}

// use moves to the addresses of a reserved IP, or with none to new ones of its
// own. When that fails, nothing has changed.
func (a *Addressing) use(ip *ReservedIP, by Holder) error {
	switch {
	case ip == a.Reserved && ip != nil:
		return nil
	case ip == nil && a.own != nil:
		return nil
	case ip == nil:
		own, err := TakeAddresses(a.Pools)
		if err != nil {
			return apierror.Conflict("taking a public address: %v", err)
		}
		a.Leave()
		a.own = own
	default:
		a.Leave()
		a.Reserved, ip.Holder = ip, by
	}
	return nil
}

// Leave gives up all addresses.
func (a *Addressing) Leave() {
	ReleaseAddresses(a.Pools, a.own)
	a.own = nil
	if a.Reserved != nil {
		a.Reserved.Holder, a.Reserved = nil, nil
	}
}

// leaveReserved gives up the reserved IP only.
func (a *Addressing) leaveReserved(now time.Time) {
	if a.Reserved != nil {
		a.Reserved.Touch(now)
		a.Leave()
	}
}

// families are the first IPv4 and the first IPv6 address, or "".
func families(addrs []netip.Addr) (v4, v6 string) {
	for _, addr := range addrs {
		switch {
		case addr.Is4() && v4 == "":
			v4 = addr.String()
		case addr.Is6() && v6 == "":
			v6 = addr.String()
		}
	}
	return v4, v6
}

// references are what a filter may call the reserved IP.
func (a *Addressing) references() []string {
	if a.Reserved == nil {
		return nil
	}
	return []string{a.Reserved.Identity, a.Reserved.Slug}
}

// describe returns the addresses of its own, or the identity of the reserved IP.
func (a *Addressing) describe() (own []netip.Addr, reserved string) {
	if a.Reserved != nil {
		return nil, a.Reserved.Identity
	}
	return a.own, ""
}

// reach is what a load balancer or NAT gateway of a seed says about its addresses.
type reach struct {
	addresses []netip.Addr
	reserved  string
	removed   bool
	now       time.Time
}

// seedReach gives a holder its addresses.
func (o *Organisation) seedReach(by Holder, in reach) error {
	a := by.Reach()
	switch {
	case in.reserved != "":
		ip, err := required(&o.ReservedIPs, "reservedIp", "reserved IP", in.reserved)
		if err != nil {
			return err
		}
		if ip.Holder != nil {
			return fmt.Errorf("field \"reservedIp\": reserved IP %q is attached to two objects", in.reserved)
		}
		if err := ip.Free(by, in.now); err != nil && !o.Store.restoring {
			return fmt.Errorf("field \"reservedIp\": %w", err)
		}
		a.Reserved, ip.Holder = ip, by
		return nil
	case len(in.addresses) > 0:
		for _, addr := range in.addresses {
			if err := reserveIn(a.Pools, addr); err != nil {
				return fmt.Errorf("field \"addresses\": %w", err)
			}
		}
		a.own = in.addresses
		return nil
	case in.removed:
		return nil
	}
	var err error
	a.own, err = TakeAddresses(a.Pools)
	return err
}
