package role

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Range is a range of addresses that a Pool allocates from.
type Range struct {
	// Use is what the addresses are for.
	Use Use
	// Family is that of the addresses.
	Family corev1.IPFamily
}

// Use is what an address or prefix is for.
type Use string

const (
	// Public addresses are those of public load balancers.
	Public Use = "Public"
	// Internal addresses are those of internal load balancers and of network interfaces.
	Internal Use = "Internal"
	// Network prefixes are routed to network interfaces.
	Network Use = "Prefix"
)

// Pool allocates addresses and prefixes. An internal address that is released is the next one that is allocated, as in
// IronCore's IPAM; the others are allocated once. It is not safe for concurrent use.
type Pool struct {
	// allocated has the addresses and prefixes of each object, by their name.
	allocated map[types.UID]map[string]allocation
	// free has the addresses that were released, the lowest one first.
	free map[Range][]netip.Prefix
	// taken has the addresses that were asked for and are allocated.
	taken map[netip.Prefix]bool
	// next is the address from which the next one of a range is allocated.
	next map[Range]netip.Addr
}

// allocation is an address or prefix of a range.
type allocation struct {
	of     Range
	prefix netip.Prefix
}

// NewPool returns a pool of addresses that are for documentation and for private networks.
func NewPool() *Pool {
	next := map[Range]netip.Addr{}
	for r, first := range map[Range]string{
		{Public, corev1.IPv4Protocol}: "192.0.2.1", {Public, corev1.IPv6Protocol}: "2001:db8::1",
		{Internal, corev1.IPv4Protocol}: "10.250.0.1", {Internal, corev1.IPv6Protocol}: "fd00:250::1",
		{Network, corev1.IPv4Protocol}: "10.128.0.0", {Network, corev1.IPv6Protocol}: "fd00:128::",
	} {
		next[r], _ = netip.ParseAddr(first)
	}
	return &Pool{allocated: map[types.UID]map[string]allocation{}, free: map[Range][]netip.Prefix{},
		taken: map[netip.Prefix]bool{}, next: next}
}

// Allocate returns the prefix that an object has under a name: at first one that is free of the range with this length.
func (p *Pool) Allocate(owner types.UID, name string, of Range, length int) netip.Prefix {
	if has, ok := p.allocated[owner][name]; ok {
		return has.prefix
	}
	prefix := p.released(of)
	for !prefix.IsValid() || p.taken[prefix] {
		prefix = p.unused(of, length)
	}
	p.record(owner, name, allocation{of, prefix})
	return prefix
}

// Take allocates one address of a range to an object under a name. It reports whether the object has it now.
func (p *Pool) Take(owner types.UID, name string, of Range, address netip.Prefix) bool {
	for holder, named := range p.allocated {
		for under, has := range named {
			if has.prefix == address {
				return holder == owner && under == name
			}
		}
	}
	p.free[of] = slices.DeleteFunc(p.free[of], func(free netip.Prefix) bool { return free == address })
	p.taken[address] = true
	p.record(owner, name, allocation{of, address})
	return true
}

func (p *Pool) record(owner types.UID, name string, has allocation) {
	if p.allocated[owner] == nil {
		p.allocated[owner] = map[string]allocation{}
	}
	p.allocated[owner][name] = has
}

// released returns the lowest address of a range that was released; none if there is no such address.
func (p *Pool) released(of Range) netip.Prefix {
	if len(p.free[of]) == 0 {
		return netip.Prefix{}
	}
	prefix := p.free[of][0]
	p.free[of] = p.free[of][1:]
	return prefix
}

// unused returns the next prefix of a range that was never allocated.
func (p *Pool) unused(of Range, length int) netip.Prefix {
	prefix := netip.PrefixFrom(p.next[of], length)
	if prefix.Masked() != prefix { // the address is within an allocated prefix of this length
		prefix = netip.PrefixFrom(last(prefix.Masked()).Next(), length)
	}
	p.next[of] = last(prefix).Next()
	if p.next[of] == netip.AddrFrom4([4]byte{192, 0, 2, 255}) {
		p.next[of] = netip.AddrFrom4([4]byte{198, 18, 0, 1}) // more addresses that are for tests
	}
	return prefix
}

// Release forgets what an object has under names that keep does not contain.
func (p *Pool) Release(owner types.UID, keep map[string]bool) {
	for name, has := range p.allocated[owner] {
		if keep[name] {
			continue
		}
		delete(p.allocated[owner], name)
		delete(p.taken, has.prefix)
		if has.of.Use == Internal {
			p.free[has.of] = append(p.free[has.of], has.prefix)
			slices.SortFunc(p.free[has.of], netip.Prefix.Compare)
		}
	}
}

// last returns the last address of a prefix.
func last(p netip.Prefix) netip.Addr {
	bytes := p.Masked().Addr().AsSlice()
	for bit := p.Bits(); bit < len(bytes)*8; bit++ {
		bytes[bit/8] |= 1 << (7 - bit%8)
	}
	a, _ := netip.AddrFromSlice(bytes)
	return a
}
