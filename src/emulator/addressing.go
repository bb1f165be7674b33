package emulator

import (
	"net/netip"
	"slices"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/address"
)

// addressing is where a load balancer or NAT gateway can be reached: at
// addresses of its own, or at those of a reserved IP.
type addressing struct {
	pools    []*address.Pool
	own      []netip.Addr
	reserved *reservedIP
	// v4Only hides the IPv6 address of a reserved IP.
	v4Only bool
}

// v4Pools are the pools of IPv4 addresses.
func v4Pools(pools []*address.Pool) []*address.Pool {
	return slices.DeleteFunc(slices.Clone(pools), func(p *address.Pool) bool { return !p.Prefix().Addr().Is4() })
}

func (a *addressing) addresses() []netip.Addr {
	if a.reserved == nil {
		return a.own
	}
	if a.v4Only {
		return slices.DeleteFunc(slices.Clone(a.reserved.addresses), func(addr netip.Addr) bool { return !addr.Is4() })
	}
	return a.reserved.addresses
}

// use moves to the addresses of a reserved IP, or with none to new ones of its
// own. When that fails, nothing has changed.
func (a *addressing) use(ip *reservedIP, by holder) error {
	switch {
	case ip == a.reserved && ip != nil:
		return nil
	case ip == nil && a.own != nil:
		return nil
	case ip == nil:
		own, err := takeAddresses(a.pools)
		if err != nil {
			return conflict("taking a public address: %v", err)
		}
		a.leave()
		a.own = own
	default:
		a.leave()
		a.reserved, ip.holder = ip, by
	}
	return nil
}

// leave gives up all addresses.
func (a *addressing) leave() {
	releaseAddresses(a.pools, a.own)
	a.own = nil
	if a.reserved != nil {
		a.reserved.holder, a.reserved = nil, nil
	}
}

// leaveReserved gives up the reserved IP only.
func (a *addressing) leaveReserved(now time.Time) {
	if a.reserved != nil {
		a.reserved.touch(now)
		a.leave()
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
func (a *addressing) references() []string {
	if a.reserved == nil {
		return nil
	}
	return []string{a.reserved.Identity, a.reserved.Slug}
}
