package route

import (
	"cmp"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// otherNetworks are the networks of Nodes that are not members: those of other clouds, and excluded ones. This
// controller does not manage routes to them.
type otherNetworks struct {
	claims claims
	// networks are sorted and do not overlap: networks inside another one are omitted.
	networks []netip.Prefix
}

// newOtherNetworks returns the networks of the Nodes that are not members.
func newOtherNetworks(nodes []*corev1.Node, members map[string]cloud.RouteMember) otherNetworks {
	var all []netip.Prefix
	for _, node := range nodes {
		if _, isMember := members[node.Name]; !isMember {
			all = append(all, networksOf(node)...)
		}
	}
	slices.SortFunc(all, func(a, b netip.Prefix) int {
		return cmp.Or(a.Addr().Compare(b.Addr()), cmp.Compare(a.Bits(), b.Bits()))
	})
	o := otherNetworks{claims: newClaims(nodes)}
	for _, network := range all {
		if last := len(o.networks) - 1; last < 0 || !o.networks[last].Overlaps(network) {
			o.networks = append(o.networks, network)
		}
	}
	return o
}

// networksOf are the valid pod networks of a Node.
func networksOf(node *corev1.Node) []netip.Prefix {
	var networks []netip.Prefix
	for _, text := range podCIDRs(node) {
		if network, err := netip.ParsePrefix(text); err == nil {
			networks = append(networks, network.Masked())
		}
	}
	return networks
}

// overlap says whether one of them overlaps a network of any length. They do not overlap each other, so this can only
// be the first one that begins inside the network, or the one before that.
func (o otherNetworks) overlap(network netip.Prefix) bool {
	at, _ := slices.BinarySearchFunc(o.networks, network.Addr(), func(one netip.Prefix, first netip.Addr) int {
		return one.Addr().Compare(first)
	})
	return slices.ContainsFunc(o.networks[max(0, at-1):min(at+1, len(o.networks))], network.Overlaps)
}

// add records the networks of a Node, so that younger members get no routes to parts of them.
func (o otherNetworks) add(node *corev1.Node) {
	for _, network := range networksOf(node) {
		o.claims.add(network, node.Name)
	}
}
