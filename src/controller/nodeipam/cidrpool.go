package nodeipam

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
)

// pool is a network that parts of different sizes are taken from. It is a binary tree of halves, which is only as deep
// as what is taken, so that finding a free part takes as many steps as there are bits between the network and the part.
type pool struct {
	network netip.Prefix
	root    *block
	used    float64 // share of it that is taken
	// where the next part is looked for first: what was given back rests as long as there is something else
	next netip.Addr
}

// block is a part of a network, halved until what is taken is a block of its own.
type block struct {
	taken  int // by how many it is taken as a whole
	halves [2]*block
	// free is the length of the shortest prefix that is free within, in bits; full if none is.
	free int
}

// full is longer than any prefix.
const full = 129

func newPool(network netip.Prefix) *pool {
	network = network.Masked()
	return &pool{network: network, root: &block{free: network.Bits()}, next: network.Addr()}
}

// scatter lets the first part be looked for at a random place.
func (p *pool) scatter() {
	address := p.network.Addr()
	for bit := p.network.Bits(); bit < address.BitLen(); bit++ {
		if rand.N(2) == 1 {
			address = withBit(address, bit)
		}
	}
	p.next = address
}

// take takes the first free part with a prefix of that length, from where the last one ended on.
func (p *pool) take(bits int) (part netip.Prefix, found bool) {
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

// find returns the first free part within a block that does not end before an address.
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

// empty says that nothing is taken of a block. A block that is not there is empty.
func (b *block) empty() bool { return b == nil || (b.taken == 0 && b.halves == [2]*block{}) }

// half is one of the two; nil if nothing is taken of it.
func (b *block) half(side int) *block {
	if b == nil {
		return nil
	}
	return b.halves[side]
}

// occupy takes a part, also one that is taken already. What is outside of the network is not taken, what contains it
// takes all of it.
func (p *pool) occupy(part netip.Prefix) { p.mark(part, 1) }

// release gives back what was occupied as often as it was.
func (p *pool) release(part netip.Prefix) { p.mark(part, -1) }

func (p *pool) mark(part netip.Prefix, times int) {
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
		b.measure(here)
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
	b.measure(here)
}

// measure says anew how much is free within a block.
func (b *block) measure(here netip.Prefix) {
	switch {
	case b.taken > 0:
		b.free = full
	case b.empty():
		b.free = here.Bits()
	default:
		b.free = min(b.halves[0].freeIn(here.Bits()+1), b.halves[1].freeIn(here.Bits()+1))
	}
}

// freeIn is what is free of a block of that length.
func (b *block) freeIn(bits int) int {
	if b == nil {
		return bits
	}
	return b.free
}

// overlaps says whether anything of a part is taken.
func (p *pool) overlaps(part netip.Prefix) bool {
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

// sideOf says in which half of a network an address is.
func sideOf(network netip.Prefix, address netip.Addr) int {
	bytes := address.AsSlice()
	return int(bytes[network.Bits()/8]>>(7-network.Bits()%8)) & 1
}

// withBit is an address with one more bit set, counted from the first.
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

// Masks are how long the prefixes of Nodes' networks are, in bits, by family.
type Masks struct{ IPv4, IPv6 int }

// The defaults of Masks, as in kube-controller-manager.
const (
	DefaultIPv4 = 24
	DefaultIPv6 = 64
)

// larger is by how many bits a Node's own prefix may be shorter than that of others if nobody says how short: every
// kubelet may ask for one, and one Node is not to have half of the cluster's network.
const larger = 4

// Limit are the shortest prefixes that Nodes' networks may have in those of the cluster, of which there is one of each
// family at most: as configured, where that is not 0, else some bits shorter than m. That of a family which the cluster
// lacks is 0.
func (m Masks) Limit(configured Masks, cidrs []netip.Prefix) Masks {
	var limit Masks
	for _, network := range cidrs {
		shortest := configured.of(network)
		if shortest == 0 {
			shortest = m.of(network) - larger
		}
		*limit.at(network) = max(network.Bits(), min(shortest, m.of(network)))
	}
	return limit
}

// Allows says of a limit that a Node's network is not too large. That of the zero Masks is never.
func (m Masks) Allows(network netip.Prefix) bool { return network.Bits() >= m.of(network) }

// TooLarge is the reason of the events that tell of a network which is not allowed.
const TooLarge = reasonLarge

// of is the mask of a network's family.
func (m Masks) of(network netip.Prefix) int { return *m.at(network) }

// at is where the mask of a network's family is.
func (m *Masks) at(network netip.Prefix) *int {
	if network.Addr().Is4() {
		return &m.IPv4
	}
	return &m.IPv6
}

// Check says why Nodes cannot have networks of that size in those of the cluster; nil if they can.
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
