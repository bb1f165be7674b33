package route

import (
	"cmp"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// others are the networks of Nodes that take no part: hybrid ones, and those whose owners asked for that. Somebody else
// routes to them.
type others struct {
	claims claims
	// networks are all of them, disjoint and in order: those within another one are left out.
	networks []netip.Prefix
}

// othersOf are the networks of those of the Nodes that are no members.
func othersOf(nodes []*corev1.Node, members map[string]cloud.RouteMember) others {
	var all []netip.Prefix
	for _, node := range nodes {
		if _, member := members[node.Name]; !member {
			all = append(all, networksOf(node)...)
		}
	}
	slices.SortFunc(all, func(a, b netip.Prefix) int {
		return cmp.Or(a.Addr().Compare(b.Addr()), cmp.Compare(a.Bits(), b.Bits()))
	})
	o := others{claims: newClaims(nodes)}
	for _, network := range all {
		if last := len(o.networks) - 1; last < 0 || !o.networks[last].Overlaps(network) {
			o.networks = append(o.networks, network)
		}
	}
	return o
}

// networksOf are those of a Node's pods, as far as they can be read.
func networksOf(node *corev1.Node) []netip.Prefix {
	var networks []netip.Prefix
	for _, text := range podCIDRs(node) {
		if network, err := netip.ParsePrefix(text); err == nil {
			networks = append(networks, network.Masked())
		}
	}
	return networks
}

// overlap says whether one of them has some of a network, which may have any length. As they are disjoint, only the
// first that begins within it, or the one before that, can.
func (o others) overlap(network netip.Prefix) bool {
	at, _ := slices.BinarySearchFunc(o.networks, network.Addr(), func(one netip.Prefix, first netip.Addr) int {
		return one.Addr().Compare(first)
	})
	return slices.ContainsFunc(o.networks[max(0, at-1):min(at+1, len(o.networks))], network.Overlaps)
}

// take notes that the networks of a Node are its own from now on: of those that come later no member gets a part of
// them.
func (o others) take(node *corev1.Node) {
	for _, network := range networksOf(node) {
		o.claims.take(network, node.Name)
	}
}
