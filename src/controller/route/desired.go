package route

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/nodeipam"
	"github.com/thalassa-cloud/thalassa-ccm/src/event"
)

// desiredRoute is a route that a Node needs in every table that is used.
type desiredRoute struct {
	node        *corev1.Node
	destination netip.Prefix
	// gateways are the Node's addresses of the destination's IP family, the preferred one first; there may be none.
	gateways []netip.Addr
	// oversized says that the route is not created because its network is too large.
	oversized bool
}

// key identifies the route in all tables.
func (r desiredRoute) key() nodeNetwork { return nodeNetwork{r.destination, r.node.Name} }

// matches reports whether an actual route has the destination's Node as its gateway.
func (r desiredRoute) matches(f cloud.ActualRoute) bool {
	return f.Destination == r.destination && slices.Contains(r.gateways, f.Gateway)
}

// Reasons of events. The first is that of k8s.io/cloud-provider.
const (
	reasonFailed    = "FailedToCreateRoute"
	reasonConflict  = "RouteConflict"         // an unmanaged route has the destination, or a part of it
	reasonNoAddress = "NoNodeAddress"         // of the destination's IP family
	reasonOutside   = "PodCIDROutsideCluster" // not within --cluster-cidr
	reasonTaken     = "PodCIDRTaken"          // by another Node
	reasonInvalid   = "InvalidPodCIDR"
	reasonLarge     = nodeipam.TooLarge
	reasonRestored  = "RouteRestored" // another program or user deleted or changed it
	reasonUnknown   = "RoutesNotKnown"
	reasonQuota     = cloud.RouteQuotaExceeded
	// The Node's subnet uses a table in which no routes are created.
	reasonOtherTable = "OtherRouteTable"
	reasonNoTable    = "RouteTableNotFound" // for the traffic of the Node
	reasonLeftBehind = "RouteLeftBehind"    // an unmanaged one may be that of a deleted Node
)

// problem is an event for the owner of a Node. The messages of reasonUnknown and reasonQuota differ from one attempt to
// the next, such as in the route that a full table refused, so another message is not a new problem.
func problem(reason, format string, values ...any) event.Warning {
	return event.Warning{Reason: reason, Message: fmt.Sprintf(format, values...),
		Vague: reason == reasonUnknown || reason == reasonQuota}
}

// size is the IP family and prefix length of a network.
type size struct {
	is4  bool
	bits int
}

func sizeOf(network netip.Prefix) size { return size{network.Addr().Is4(), network.Bits()} }

// desired is the desired state of the routes of all Nodes.
type desired struct {
	routes []desiredRoute
	// problems are why Nodes do not get routes, by the Node's name.
	problems map[string][]event.Warning
	// addresses are those of all Nodes, and whether the Node is a member that is confirmed to run on its machine.
	addresses map[netip.Addr]bool
	// destinations are the networks of all members, also those that get no route; sizes are their sizes, without those
	// that are too large.
	destinations map[netip.Prefix]bool
	sizes        map[size]bool
	// claims are the networks that members get routes to.
	claims networks
	// others are the networks of Nodes that are not members: those of other clouds, and excluded ones. This controller
	// does not manage routes to them.
	others networks
}

// newDesired computes the desired state. If the networks of two Nodes overlap, the older Node gets the route, or none
// does if the older one is not a member.
func newDesired(cluster cloud.PodNetwork, nodes []*corev1.Node, shortest nodeipam.Masks) desired {
	members := make(map[string]cloud.RouteMember, len(cluster.Members))
	for _, member := range cluster.Members {
		members[member.Node.Name] = member
	}
	d := desired{problems: map[string][]event.Warning{}, addresses: map[netip.Addr]bool{},
		destinations: map[netip.Prefix]bool{}, sizes: map[size]bool{}}
	for _, node := range slices.SortedFunc(slices.Values(nodes), older) {
		member, isMember := members[node.Name]
		if !isMember {
			d.addOther(node)
			continue
		}
		d.addAddresses(member.Addresses, member.Confirmed && !cloud.Uninitialised(node))
		for _, text := range podCIDRs(node) {
			d.addNetwork(member, text, cluster.CIDRs, shortest)
		}
	}
	return d
}

func (d *desired) addAddresses(addresses []netip.Addr, confirmed bool) {
	for _, one := range addresses {
		d.addresses[one] = d.addresses[one] || confirmed
	}
}

// addOther adds the networks of a Node that is not a member, so that younger members get no routes to parts of them.
func (d *desired) addOther(node *corev1.Node) {
	d.addAddresses(cloud.InternalAddresses(node), false)
	for _, text := range podCIDRs(node) {
		if network, err := netip.ParsePrefix(text); err == nil {
			d.others.add(network.Masked(), node.Name)
		}
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

// addNetwork adds one pod network of a Node. If the Node's machine is unknown, existing routes to the network do not
// change.
func (d *desired) addNetwork(member cloud.RouteMember, text string, cidrs []netip.Prefix, shortest nodeipam.Masks) {
	node := member.Node
	report := func(reason, format string, values ...any) {
		d.problems[node.Name] = append(d.problems[node.Name], problem(reason, format, values...))
	}
	destination, err := netip.ParsePrefix(text)
	if err != nil {
		report(reasonInvalid, "No route: %q in spec.podCIDRs is not a network. The field cannot be changed: delete "+
			"the Node, and let it register again.", text)
		return
	}
	destination = destination.Masked()
	d.destinations[destination] = true
	if shortest.Allows(destination) {
		d.sizes[sizeOf(destination)] = true
	}
	older, found := d.overlap(destination)
	r := desiredRoute{node: node, destination: destination, gateways: ofFamily(member.Addresses, destination),
		oversized: !shortest.Allows(destination)}
	switch {
	case len(r.gateways) == 0 && (!member.Known || cloud.Uninitialised(node)):
		return
	case !cloud.Inside(destination, cidrs):
		report(reasonOutside, "No route to %s: it is not within --cluster-cidr, and routes to other networks are not "+
			"managed. Set --cluster-cidr to the network of all pods.", destination)
		return
	case r.oversized:
		d.routes = append(d.routes, r)
		return
	case found:
		report(reasonTaken, "No route to %s: node %s has %s for its pods, which overlaps. Find out which programs "+
			"allocate networks, disable one of them, delete one of the two Nodes, and let it register again.",
			destination, older.node, older.network)
		return
	case len(r.gateways) == 0:
		report(reasonNoAddress,
			"No route to %s: the Node has no internal %s address that the route could lead to. Give its machine one.",
			destination, family(destination))
	}
	d.claims.add(destination, node.Name)
	d.routes = append(d.routes, r)
}

// overlap is a network of an older Node that overlaps the given one.
func (d *desired) overlap(network netip.Prefix) (older nodeNetwork, found bool) {
	if older, found = d.claims.overlap(network); found {
		return older, true
	}
	return d.others.overlap(network)
}

// nodes are the names of the Nodes that have pod networks, whether these get routes or not.
func (d desired) nodes() map[string]bool {
	names := map[string]bool{}
	for _, r := range d.routes {
		names[r.node.Name] = true
	}
	for name := range d.problems {
		names[name] = true
	}
	return names
}

// podCIDRs are the pod networks of a Node.
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
