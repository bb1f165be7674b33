package route

import (
	"net/netip"
	"slices"
)

// networks are networks of Nodes of which none overlaps another one, sorted by address.
type networks []nodeNetwork

// nodeNetwork is a network, and the name of the Node that it belongs to.
type nodeNetwork struct {
	network netip.Prefix
	node    string
}

// search is the position of the first network that does not begin before another one.
func (n networks) search(network netip.Prefix) int {
	at, _ := slices.BinarySearchFunc(n, network.Addr(), func(one nodeNetwork, first netip.Addr) int {
		return one.network.Addr().Compare(first)
	})
	return at
}

// overlap is a network that overlaps the given one, of any length. They do not overlap each other, so this can only be
// the first one that begins inside the network, or the one before that.
func (n networks) overlap(network netip.Prefix) (nodeNetwork, bool) {
	at := n.search(network)
	for _, one := range n[max(0, at-1):min(at+1, len(n))] {
		if one.network.Overlaps(network) {
			return one, true
		}
	}
	return nodeNetwork{}, false
}

// containing is the network that contains all of the given one.
func (n networks) containing(network netip.Prefix) (nodeNetwork, bool) {
	one, found := n.overlap(network)
	return one, found && one.network.Bits() <= network.Bits()
}

// add adds a network. Of two that overlap, the larger one remains.
func (n *networks) add(network netip.Prefix, node string) {
	for {
		one, found := n.overlap(network)
		if !found {
			*n = slices.Insert(*n, n.search(network), nodeNetwork{network, node})
			return
		}
		if one.network.Bits() <= network.Bits() {
			return
		}
		at := n.search(one.network)
		*n = slices.Delete(*n, at, at+1)
	}
}
