package nodeipam

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
)

// cidrPool allocates parts of different sizes from a network. It is a binary tree of halves that is only as deep as the
// allocated parts, so finding a free part takes as many steps as there are bits between the network and the part.
type cidrPool struct {
	network netip.Prefix
	root    *block
	used    float64 // share of it that is in use
	// next is where the search for the next part begins. Released parts are used again last.
	next netip.Addr
}

// block is a part of a network. It is divided into halves until each occupied part is a block of its own.
type block struct {
	taken  int // how many times the whole block is occupied
	halves [2]*block
	// free is the shortest prefix that is free in the block, in bits; noneFree if none is.
	free int
}

// noneFree is longer than any prefix.
const noneFree = 129

func newCIDRPool(network netip.Prefix) *cidrPool {
	network = network.Masked()
	return &cidrPool{network: network, root: &block{free: network.Bits()}, next: network.Addr()}
}

// randomiseStart begins the search for the first part at a random place.
func (p *cidrPool) randomiseStart() {
	address := p.network.Addr()
	for bit := p.network.Bits(); bit < address.BitLen(); bit++ {
		if rand.N(2) == 1 {
			address = withBit(address, bit)
		}
	}
	p.next = address
}

// allocate occupies the first free part with a prefix of that length. The search begins where the latest part ends.
func (p *cidrPool) allocate(bits int) (part netip.Prefix, found bool) {
	if bits < p.network.Bits() || bits > p.network.Addr().BitLen() {
		return netip.Prefix{}, false
	}
	part, found = p.root.find(p.network, bits, p.next)
	if !found {
		part, found = p.root.find(p.network, bits, p.network.Addr())
	}
	if !found {
		return netip.Prefix{}, false
	}
	p.occupy(part)
	p.next = p.network.Addr()
	if last := lastOf(part).Next(); last.IsValid() && p.network.Contains(last) {
		p.next = last
	}
	return part, true
}

// find returns the first free part in a block that does not end before an address.
func (b *block) find(here netip.Prefix, bits int, from netip.Addr) (netip.Prefix, bool) {
	switch {
	case b != nil && b.free > bits, lastOf(here).Less(from):
		return netip.Prefix{}, false
	case here.Bits() == bits:
		return here, b.empty()
	}
	for side := range 2 {
		if part, found := b.half(side).find(half(here, side), bits, from); found {
			return part, true
		}
	}
	return netip.Prefix{}, false
}

// empty says that no part of a block is occupied. A nil block is empty.
func (b *block) empty() bool { return b == nil || (b.taken == 0 && b.halves == [2]*block{}) }

// half is one of the halves; nil if no part of it is occupied.
func (b *block) half(side int) *block {
	if b == nil {
		return nil
	}
	return b.halves[side]
}

// occupy occupies a part, which may be occupied already. A part outside of the network has no effect, and a part that
// contains the network occupies all of it.
func (p *cidrPool) occupy(part netip.Prefix) { p.mark(part, 1) }

// release reverts one call of occupy.
func (p *cidrPool) release(part netip.Prefix) { p.mark(part, -1) }

func (p *cidrPool) mark(part netip.Prefix, times int) {
	if part = part.Masked(); !part.Overlaps(p.network) {
		return
	}
	if part.Bits() < p.network.Bits() {
		part = p.network
	}
	p.root.mark(p.network, part, times)
	p.used += math.Ldexp(float64(times), p.network.Bits()-part.Bits())
}

func (b *block) mark(here, part netip.Prefix, times int) {
	if here.Bits() == part.Bits() {
		b.taken += times
		b.updateFree(here)
		return
	}
	side := sideOf(here, part.Addr())
	if b.halves[side] == nil {
		b.halves[side] = &block{free: here.Bits() + 1}
	}
	b.halves[side].mark(half(here, side), part, times)
	if b.halves[side].empty() {
		b.halves[side] = nil
	}
	b.updateFree(here)
}

// updateFree computes free again.
func (b *block) updateFree(here netip.Prefix) {
	switch {
	case b.taken > 0:
		b.free = noneFree
	case b.empty():
		b.free = here.Bits()
	default:
		b.free = min(b.halves[0].freeIn(here.Bits()+1), b.halves[1].freeIn(here.Bits()+1))
	}
}

// freeIn is free of a block of that length.
func (b *block) freeIn(bits int) int {
	if b == nil {
		return bits
	}
	return b.free
}

// overlaps says whether any of a part is occupied.
func (p *cidrPool) overlaps(part netip.Prefix) bool {
	b, here := p.root, p.network
	for b != nil && b.taken == 0 && here.Bits() < part.Bits() {
		side := sideOf(here, part.Addr())
		b, here = b.halves[side], half(here, side)
	}
	return !b.empty()
}

// half is the lower (0) or upper (1) half of a network.
func half(network netip.Prefix, side int) netip.Prefix {
	address := network.Addr()
	if side == 1 {
		address = withBit(address, network.Bits())
	}
	return netip.PrefixFrom(address, network.Bits()+1)
}

// sideOf is the half of a network that contains an address.
func sideOf(network netip.Prefix, address netip.Addr) int {
	bytes := address.AsSlice()
	return int(bytes[network.Bits()/8]>>(7-network.Bits()%8)) & 1
}

// withBit is an address with one more bit set; bits are counted from the first.
func withBit(address netip.Addr, bit int) netip.Addr {
	bytes := address.AsSlice()
	bytes[bit/8] |= 1 << (7 - bit%8)
	with, _ := netip.AddrFromSlice(bytes) // as long as before
	return with
}

// lastOf is the last address of a network.
func lastOf(network netip.Prefix) netip.Addr {
	bytes := network.Addr().AsSlice()
	for bit := network.Bits(); bit < network.Addr().BitLen(); bit++ {
		bytes[bit/8] |= 1 << (7 - bit%8)
	}
	last, _ := netip.AddrFromSlice(bytes) // as long as before
	return last
}

// Masks are the prefix lengths of Nodes' networks in bits, by IP family.
type Masks struct{ IPv4, IPv6 int }

// The defaults of Masks, as in kube-controller-manager.
const (
	DefaultIPv4 = 24
	DefaultIPv6 = 64
)

// maxExtraBits is by how many bits the prefix that a Node requests may be shorter than those of other Nodes, by
// default. Every kubelet can request one, and no Node should get half of the cluster's network.
const maxExtraBits = 4

// Limit is the shortest prefixes that Nodes' networks may have. The cluster has at most one network of each IP family.
// The limit is the configured one, or some bits shorter than m if that is 0. It is 0 for an IP family that the cluster
// does not have.
func (m Masks) Limit(configured Masks, cidrs []netip.Prefix) Masks {
	var limit Masks
	for _, network := range cidrs {
		shortest := configured.of(network)
		if shortest == 0 {
			shortest = m.of(network) - maxExtraBits
		}
		*limit.at(network) = max(network.Bits(), min(shortest, m.of(network)))
	}
	return limit
}

// Allows says of a limit that a Node's network is not too large. The zero Masks allow any.
func (m Masks) Allows(network netip.Prefix) bool { return network.Bits() >= m.of(network) }

// TooLarge is the reason of the events about networks that are not allowed.
const TooLarge = reasonLarge

// of is the mask of a network's IP family.
func (m Masks) of(network netip.Prefix) int { return *m.at(network) }

// at points to the mask of a network's IP family.
func (m *Masks) at(network netip.Prefix) *int {
	if network.Addr().Is4() {
		return &m.IPv4
	}
	return &m.IPv6
}

// Check returns why networks of that size do not fit into those of the cluster; nil if they do.
func (m Masks) Check(cidrs []netip.Prefix) error {
	for _, network := range cidrs {
		family, bits := "ipv4", m.of(network)
		if network.Addr().Is6() {
			family = "ipv6"
		}
		if bits < network.Bits() || bits > network.Addr().BitLen() {
			return fmt.Errorf("--node-cidr-mask-size-%s=%d does not fit into %s of --cluster-cidr: want %d to %d",
				family, bits, network, network.Bits(), network.Addr().BitLen())
		}
	}
	return nil
}
