package route

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// claims is an index of pod networks by Node. Networks have few different lengths, so a lookup takes about as many
// steps.
type claims struct {
	lengths []int         // the different prefix lengths of all Nodes' networks, in bits
	sizes   map[size]bool // of the members' networks
	owners  map[netip.Prefix]string
	// parts has one owned network for each larger network, of one of the lengths, that contains it.
	parts map[netip.Prefix]netip.Prefix
}

// size is the IP family and prefix length of a network.
type size struct {
	is4  bool
	bits int
}

func sizeOf(network netip.Prefix) size { return size{network.Addr().Is4(), network.Bits()} }

// newClaims returns an empty index for the networks of these Nodes.
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

// hasSize says whether a member has a network of the same size.
func (c claims) hasSize(network netip.Prefix) bool { return c.sizes[sizeOf(network)] }

// add records the Node that a network belongs to.
func (c claims) add(network netip.Prefix, node string) {
	c.owners[network] = node
	for _, bits := range c.lengths {
		if bits < network.Bits() {
			c.parts[netip.PrefixFrom(network.Addr(), bits).Masked()] = network
		}
	}
}

// owner is the Node whose network contains all of the given one, and that network.
func (c claims) owner(network netip.Prefix) (node string, containing netip.Prefix, found bool) {
	for _, bits := range c.lengths {
		if bits > network.Bits() {
			continue
		}
		containing = netip.PrefixFrom(network.Addr(), bits).Masked()
		if node, found = c.owners[containing]; found {
			return node, containing, true
		}
	}
	return "", netip.Prefix{}, false
}

// overlap is a Node with a network that overlaps the given one, and that network.
func (c claims) overlap(network netip.Prefix) (node string, overlapping netip.Prefix, found bool) {
	if part, inside := c.parts[network]; inside {
		return c.owners[part], part, true
	}
	return c.owner(network)
}
