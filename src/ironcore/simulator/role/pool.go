package role

import (
	"net/netip"

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

// Pool allocates addresses and prefixes, each once. It is not safe for concurrent use.
type Pool struct {
	// allocated has the addresses and prefixes of each object, by their name.
	allocated map[types.UID]map[string]netip.Prefix
	// next is the address from which the next one of a range is allocated.
	next map[Range]netip.Addr
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
	return &Pool{allocated: map[types.UID]map[string]netip.Prefix{}, next: next}
}

// Allocate returns the prefix that an object has under a name: at first the next one of the range with this length.
func (p *Pool) Allocate(owner types.UID, name string, of Range, length int) netip.Prefix {
	if prefix, ok := p.allocated[owner][name]; ok {
		return prefix
	}
	prefix := netip.PrefixFrom(p.next[of], length)
	if prefix.Masked() != prefix { // the address is within an allocated prefix of this length
		prefix = netip.PrefixFrom(last(prefix.Masked()).Next(), length)
	}
	p.next[of] = last(prefix).Next()
	if p.next[of] == netip.AddrFrom4([4]byte{192, 0, 2, 255}) {
		p.next[of] = netip.AddrFrom4([4]byte{198, 18, 0, 1}) // more addresses that are for tests
	}
	if p.allocated[owner] == nil {
		p.allocated[owner] = map[string]netip.Prefix{}
	}
	p.allocated[owner][name] = prefix
	return prefix
}

// Release forgets what an object has under names that keep does not contain.
func (p *Pool) Release(owner types.UID, keep map[string]bool) {
	for name := range p.allocated[owner] {
		if !keep[name] {
			delete(p.allocated[owner], name)
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
