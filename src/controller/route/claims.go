package route

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// claims are which networks of pods belong to which Nodes. As networks have few lengths, asking costs about as many
// steps.
type claims struct {
	lengths []int         // of the prefixes of all Nodes' networks, in bits
	sizes   map[size]bool // of what members have
	owners  map[netip.Prefix]string
	// parts are networks that are taken within a larger one of one of the lengths: one of them for each.
	parts map[netip.Prefix]netip.Prefix
}

// size is that of a network: one of a family has a length in bits.
type size struct {
	is4  bool
	bits int
}

func sizeOf(network netip.Prefix) size { return size{network.Addr().Is4(), network.Bits()} }

// newClaims are none yet, for networks of these Nodes.
func newClaims(nodes []*corev1.Node) claims {
	c := claims{sizes: map[size]bool{}, owners: map[netip.Prefix]string{}, parts: map[netip.Prefix]netip.Prefix{}}
	for _, node := range nodes {
		for _, network := range networksOf(node) {
			if !slices.Contains(c.lengths, network.Bits()) {
				c.lengths = append(c.lengths, network.Bits())
			}
		}
	}
	return c
}

// alike says whether some member has a network of the same size.
func (c claims) alike(network netip.Prefix) bool { return c.sizes[sizeOf(network)] }

// take notes that a network is a Node's.
func (c claims) take(network netip.Prefix, node string) {
	c.owners[network] = node
	for _, bits := range c.lengths {
		if bits < network.Bits() {
			c.parts[netip.PrefixFrom(network.Addr(), bits).Masked()] = network
		}
	}
}

// owner is the Node that has all of a network, as all or a part of one of its own, which is whole.
func (c claims) owner(network netip.Prefix) (node string, whole netip.Prefix, owned bool) {
	for _, bits := range c.lengths {
		if bits > network.Bits() {
			continue
		}
		whole = netip.PrefixFrom(network.Addr(), bits).Masked()
		if node, owned = c.owners[whole]; owned {
			return node, whole, true
		}
	}
	return "", netip.Prefix{}, false
}

// overlap is a Node that has some of a network, and which one of its own that is in.
func (c claims) overlap(network netip.Prefix) (node string, theirs netip.Prefix, overlaps bool) {
	if part, some := c.parts[network]; some {
		return c.owners[part], part, true
	}
	return c.owner(network)
}
