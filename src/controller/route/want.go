package route

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/api"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/nodeipam"
)

// want is a route that a Node needs in every table that is used.
type want struct {
	node        *corev1.Node
	destination netip.Prefix
	// gateways are the Node's addresses of the destination's family, the preferred one first; there may be none.
	gateways []netip.Addr
}

// route is what is created for it.
func (w want) route() cloud.Route {
	return cloud.Route{Destination: w.destination, Gateway: first(w.gateways), Node: w.node}
}

// leads says whether a route leads where it should.
func (w want) leads(f cloud.ActualRoute) bool { return slices.Contains(w.gateways, f.Gateway) }

// wanted are the wants by destination, of which no two are the same.
func (d demand) wanted() map[netip.Prefix]want {
	wanted := make(map[netip.Prefix]want, len(d.wants))
	for _, w := range d.wants {
		wanted[w.destination] = w
	}
	return wanted
}

// notice is what a Node's owner should know. Notices can be compared with ==.
type notice struct{ reason, message string }

// Reasons of events. The first is that of k8s.io/cloud-provider.
const (
	reasonFailed    = "FailedToCreateRoute"
	reasonConflict  = "RouteConflict"         // somebody else's route has the destination, or a part of it
	reasonNoAddress = "NoNodeAddress"         // of the destination's family
	reasonOutside   = "PodCIDROutsideCluster" // not within --cluster-cidr
	reasonTaken     = "PodCIDRTaken"          // by another Node
	reasonInvalid   = "InvalidPodCIDR"
	reasonLarge     = nodeipam.TooLarge
	reasonRestored  = "RouteRestored" // somebody deleted or changed it
	reasonUnknown   = "RoutesNotKnown"
	reasonQuota     = cloud.RouteQuotaExceeded
	// The Node's subnet uses a table that routes are not made in.
	reasonOtherTable = "OtherRouteTable"
	reasonNoTable    = "RouteTableNotFound" // of the Node's own traffic
	reasonLeftBehind = "RouteLeftBehind"    // nobody is where it leads to
	// A Node's machine is in no list, so that nobody knows whether one is complete.
	reasonStopped = "RouteCleanUpStopped"
)

// demand is what all Nodes want.
type demand struct {
	wants []want
	// oversized are networks that are too large for a route, as if they were wants.
	oversized []want
	// notices are why Nodes do not get what they want, by the Node's name.
	notices map[string][]notice
	// addresses are all that members have which certainly run on their machines.
	addresses map[netip.Addr]bool
	// destinations are all that Nodes want, also those that they do not get.
	destinations map[netip.Prefix]bool
	// claims are the networks that members get routes to, and others those of Nodes that take no part.
	claims claims
	others others
}

// demandOf is what the members of all Nodes want, of networks that are allowed. Of two Nodes with networks that
// overlap, the older one has it, whether it takes part or not.
func demandOf(cluster cloud.PodNetwork, nodes []*corev1.Node, shortest nodeipam.Masks) demand {
	members := make(map[string]cloud.RouteMember, len(cluster.Members))
	for _, member := range cluster.Members {
		members[member.Node.Name] = member
	}
	d := demand{
		notices: map[string][]notice{}, addresses: map[netip.Addr]bool{}, destinations: map[netip.Prefix]bool{},
		claims: newClaims(nodes), others: othersOf(nodes, members),
	}
	for _, node := range slices.SortedFunc(slices.Values(nodes), older) {
		member, takesPart := members[node.Name]
		if !takesPart {
			d.others.take(node)
			continue
		}
		if member.Confirmed && !joining(node) {
			d.trust(member.Addresses)
		}
		for _, text := range podCIDRs(node) {
			d.add(member, text, cluster.CIDRs, shortest)
		}
	}
	return d
}

// trust makes routes that lead to the addresses this cluster's.
func (d *demand) trust(addresses []netip.Addr) {
	for _, address := range addresses {
		d.addresses[address] = true
	}
}

func older(a, b *corev1.Node) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
}

func nodesOf(members []cloud.RouteMember) []*corev1.Node {
	nodes := make([]*corev1.Node, 0, len(members))
	for _, member := range members {
		nodes = append(nodes, member.Node)
	}
	return nodes
}

// add is one network of a Node. Of one whose machine nobody knows nothing can be said: what is there stays.
func (d *demand) add(member cloud.RouteMember, text string, cidrs []netip.Prefix, shortest nodeipam.Masks) {
	node := member.Node
	tell := func(reason, format string, values ...any) {
		d.notices[node.Name] = append(d.notices[node.Name], notice{reason, fmt.Sprintf(format, values...)})
	}
	destination, err := netip.ParsePrefix(text)
	if err != nil {
		tell(reasonInvalid, "No route: %q in spec.podCIDRs is not a network. The field cannot be changed: delete the "+
			"Node, and let it register again.", text)
		return
	}
	destination = destination.Masked()
	d.destinations[destination] = true
	if shortest.Allows(destination) {
		d.claims.sizes[sizeOf(destination)] = true
	}
	owner, theirs, twice := d.taken(destination)
	w := want{node: node, destination: destination, gateways: ofFamily(member.Addresses, destination)}
	switch {
	case len(w.gateways) == 0 && (!member.Known || joining(node)):
		return
	case !cloud.Inside(destination, cidrs):
		tell(reasonOutside, "No route to %s: it is not within --cluster-cidr, and routes to other networks are not "+
			"managed. Set --cluster-cidr to the network of all pods.", destination)
		return
	case !shortest.Allows(destination):
		d.oversized = append(d.oversized, w)
		return
	case twice:
		tell(reasonTaken, "No route to %s: node %s has %s for its pods, which overlaps. Find out which programs "+
			"allocate networks, disable one of them, delete one of the two Nodes, and let it register again.",
			destination, owner, theirs)
		return
	case len(w.gateways) == 0:
		tell(reasonNoAddress,
			"No route to %s: the Node has no internal %s address that the route could lead to. Give its machine one.",
			destination, family(destination))
	}
	d.claims.take(destination, node.Name)
	d.wants = append(d.wants, w)
}

// taken is an older Node that has some of a network, and which one of its own that is in.
func (d *demand) taken(network netip.Prefix) (node string, theirs netip.Prefix, twice bool) {
	if node, theirs, twice = d.claims.overlap(network); twice {
		return node, theirs, true
	}
	return d.others.claims.overlap(network)
}

// joining says that the cloud has not been asked yet which addresses a Node has.
func joining(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool {
		return t.Key == api.TaintExternalCloudProvider
	})
}

// podCIDRs are the networks of a Node's pods.
func podCIDRs(node *corev1.Node) []string {
	if len(node.Spec.PodCIDRs) == 0 && node.Spec.PodCIDR != "" {
		return []string{node.Spec.PodCIDR}
	}
	return node.Spec.PodCIDRs
}

func ofFamily(addresses []netip.Addr, destination netip.Prefix) []netip.Addr {
	return slices.DeleteFunc(slices.Clone(addresses), func(a netip.Addr) bool {
		return a.Is4() != destination.Addr().Is4()
	})
}

func family(network netip.Prefix) string {
	if network.Addr().Is4() {
		return "IPv4"
	}
	return "IPv6"
}

// first is the zero Addr if there is none.
func first(addresses []netip.Addr) netip.Addr {
	if len(addresses) == 0 {
		return netip.Addr{}
	}
	return addresses[0]
}
