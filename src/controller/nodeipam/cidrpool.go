package nodeipam

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
)

// cidrPool allocates parts of different sizes from a network.
type cidrPool struct {
	network netip.Prefix
	// occupied are the occupied parts in the order of netip.Prefix.Compare: one that contains others is before them,
	// and one with two owners is twice in it.
	occupied []netip.Prefix
	shortest int     // no occupied part has a shorter prefix
	used     float64 // share of the network that is in use
	// next is where the search for the next part begins. Released parts are used again last.
	next netip.Addr
}

func newCIDRPool(network netip.Prefix) *cidrPool {
	network = network.Masked()
	return &cidrPool{network: network, shortest: network.Addr().BitLen(), next: network.Addr()}
}

// randomiseStart begins the search for the first part at a random place.
func (p *cidrPool) randomiseStart() {
	p.next = withBits(p.network, func() bool { return rand.N(2) == 1 })
}

// allocate occupies the first free part with a prefix of that length. The search begins where the latest part ends.
func (p *cidrPool) allocate(bits int) (part netip.Prefix, found bool) {
	if bits < p.network.Bits() || bits > p.network.Addr().BitLen() {
		return netip.Prefix{}, false
	}
	if part, found = p.firstFree(bits, p.next); !found {
		part, found = p.firstFree(bits, p.network.Addr())
	}
	if !found {
		return netip.Prefix{}, false
	}
	p.occupy(part)
	if p.next = lastOf(part).Next(); !p.network.Contains(p.next) {
		p.next = p.network.Addr()
	}
	return part, true
}

// firstFree returns the first free part that does not end before an address.
func (p *cidrPool) firstFree(bits int, from netip.Addr) (netip.Prefix, bool) {
	part := netip.PrefixFrom(from, bits).Masked()
	for _, other := range p.occupied[p.position(part):] {
		if !other.Overlaps(part) {
			continue
		}
		last := lastOf(part)
		if other.Bits() < bits {
			last = lastOf(other)
		}
		part = netip.PrefixFrom(last.Next(), bits).Masked()
	}
	return part, p.network.Contains(part.Addr())
}

// occupy occupies a part, which may be occupied already. A part outside of the network has no effect, and a part that
// contains the network occupies all of it.
func (p *cidrPool) occupy(part netip.Prefix) {
	if at, _, inside := p.search(&part); inside {
		p.occupied = slices.Insert(p.occupied, at, part)
		p.shortest, p.used = min(p.shortest, part.Bits()), p.used+p.share(part)
	}
}

// release reverts one call of occupy.
func (p *cidrPool) release(part netip.Prefix) {
	if at, found, inside := p.search(&part); inside && found {
		p.occupied = slices.Delete(p.occupied, at, at+1)
		p.used -= p.share(part)
	}
}

// search limits a part to the network, and returns its place among the occupied ones.
func (p *cidrPool) search(part *netip.Prefix) (at int, found, inside bool) {
	if inside = part.Overlaps(p.network); inside && part.Bits() < p.network.Bits() {
		*part = p.network
	}
	*part = part.Masked()
	at, found = slices.BinarySearchFunc(p.occupied, *part, netip.Prefix.Compare)
	return at, found, inside
}

// share is the share of the network that a part is.
func (p *cidrPool) share(part netip.Prefix) float64 {
	return math.Ldexp(1, p.network.Bits()-part.Bits())
}

// overlaps reports whether any of a part is occupied.
func (p *cidrPool) overlaps(part netip.Prefix) bool {
	at := p.position(part)
	return at < len(p.occupied) && p.occupied[at].Overlaps(part)
}

// position is that of the first occupied part that contains the given one or does not begin before it.
func (p *cidrPool) position(part netip.Prefix) (at int) {
	found := false
	for bits := min(p.shortest, part.Bits()); bits <= part.Bits() && !found; bits++ {
		whole := netip.PrefixFrom(part.Addr(), bits).Masked()
		at, found = slices.BinarySearchFunc(p.occupied, whole, netip.Prefix.Compare)
	}
	return at
}

// lastOf is the last address of a network.
func lastOf(network netip.Prefix) netip.Addr { return withBits(network, func() bool { return true }) }

// withBits is an address of a network, with those bits after the prefix that set returns true for.
func withBits(network netip.Prefix, set func() bool) netip.Addr {
	bytes := network.Addr().AsSlice()
	for bit := network.Bits(); bit < network.Addr().BitLen(); bit++ {
		if set() {
			bytes[bit/8] |= 1 << (7 - bit%8)
		}
	}
	address, _ := netip.AddrFromSlice(bytes) // as long as before
	return address
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
