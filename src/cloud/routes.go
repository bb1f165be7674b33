package cloud

import (
	"context"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Routes reads and writes the routes in the network of one cloud. It is safe for concurrent use. The error of a write
// contains ErrStale if another client has changed the object that has the route, so that it was not written.
type Routes interface {
	// Behaviour returns how routes are reconciled.
	Behaviour() RouteBehaviour
	// Owns reports whether a Node belongs to this cloud, from the Node alone, such as from its provider ID. It makes no
	// call.
	Owns(node *corev1.Node) bool
	// Members returns those of the Nodes whose machines are in this cloud. After an error, this is not known for any of
	// them.
	Members(ctx context.Context, nodes []*corev1.Node) ([]RouteMember, error)
	// List returns the tables that contain or should contain routes of this cluster, each with all its routes, from
	// data that is at most maxAge old; 0 and less request new data. The result contains the writes of this process.
	// It is complete, or an error.
	List(ctx context.Context, network PodNetwork, maxAge time.Duration) (RouteTables, error)
	// Create adds a route to a table. The error is a *RouteProblem if a person can solve it.
	Create(ctx context.Context, table string, route Route) error
	// Change gives a route another gateway. Where the cloud can do this in one call, there is a route at any time.
	Change(ctx context.Context, table string, from ActualRoute, to Route) error
	// Delete removes a route. It succeeds if the route does not exist any more.
	Delete(ctx context.Context, table string, route ActualRoute) error
}

// RouteBehaviour configures how routes are reconciled.
type RouteBehaviour struct {
	// DriftPeriod is the time between two checks for drift; 0 never checks.
	DriftPeriod time.Duration
}

// PodNetwork is what a cloud needs to know of the cluster to find its routes.
type PodNetwork struct {
	// CIDRs are the networks of all pods: one, or one of each IP family. Routes to other destinations are not this
	// cluster's.
	CIDRs []netip.Prefix
	// Members are the Nodes in this cloud, also those without a pod network.
	Members []RouteMember
}

// RouteMember is a Node whose machine is in this cloud.
type RouteMember struct {
	Node *corev1.Node // not to be modified
	// Known means that the cloud shows the Node's machine, or has shown it.
	Known bool
	// Confirmed means that the Node runs on this machine according to something that a kubelet cannot write. A kubelet
	// chooses the provider ID that it registers with, and can choose the machine of another cluster: unless this is
	// set, unmanaged routes to the machine are not adopted.
	Confirmed bool
	// Addresses are the addresses of the machine that can be gateways, in the order of preference. A kubelet can write
	// any address into the status of its Node, so that is used only if the cloud does not know the addresses.
	Addresses []netip.Addr
}

// RouteTables are all tables that matter to the cluster.
type RouteTables struct {
	Tables []RouteTable
	// UnknownTables has the reason why the table for the traffic of a Node is not known, by the name of the Node. Such
	// a Node may not reach the pods of others.
	UnknownTables map[string]string
}

// RouteTable is a set of routes that some subnets have in common.
type RouteTable struct {
	ID   string // for the cloud
	Name string // for people
	// Used means that the table needs the routes to all Nodes. Other tables may have routes from before.
	Used bool
	// Exclusive means that the table contains no other routes with a destination inside the cluster's networks.
	Exclusive bool
	// Nodes are the names of the Nodes that use the table although it is not Used. They get an event.
	Nodes  []string
	Routes []ActualRoute
}

// ActualRoute is a route that exists.
type ActualRoute struct {
	Destination netip.Prefix
	// Gateway is the address of the next hop; the zero Addr if the next hop is not an address.
	Gateway netip.Addr
	// Managed means that the cloud marks the route as this cluster's, with any gateway.
	Managed bool
	// Abandoned means that the route leads to no machine although it has the network of a member: it is that of a Node
	// that was deleted while no process ran, and the member has the network now.
	Abandoned bool
	// Handle identifies the route for the cloud.
	Handle any
}

// Route is a desired route.
type Route struct {
	Destination netip.Prefix
	Gateway     netip.Addr
	Node        *corev1.Node // that the destination belongs to
}

// RouteProblem is an error that the owner of a Node can solve.
type RouteProblem struct {
	Reason string // of the event: RouteQuotaExceeded; "" is that of any failure
	// OfTable means that the table refuses other writes of this kind, too, such as because it is full, or because of a
	// missing permission.
	OfTable bool
	Err     error
}

// RouteQuotaExceeded is the reason of a RouteProblem: the quota does not permit one more route.
const RouteQuotaExceeded = "RouteQuotaExceeded"

// Error is the message of the event, which also names the route.
func (p *RouteProblem) Error() string { return p.Err.Error() }

// Unwrap returns the cloud's error.
func (p *RouteProblem) Unwrap() error { return p.Err }

// InternalAddresses returns the addresses of type InternalIP in the status of a Node, in their order.
func InternalAddresses(node *corev1.Node) []netip.Addr {
	var found []netip.Addr
	for _, one := range node.Status.Addresses {
		address, err := netip.ParseAddr(one.Address)
		if err == nil && one.Type == corev1.NodeInternalIP {
			found = append(found, address.Unmap())
		}
	}
	return found
}

// Inside reports whether one of the networks contains the whole network.
func Inside(network netip.Prefix, networks []netip.Prefix) bool {
	return slices.ContainsFunc(networks, func(n netip.Prefix) bool {
		return n.Bits() <= network.Bits() && n.Contains(network.Addr())
	})
}
