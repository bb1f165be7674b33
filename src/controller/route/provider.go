// Package route gives the pods of each Node a route in the network of the cloud, so that no overlay network is needed. It stands in for
// the route controller of k8s.io/cloud-provider, under the same name, flags, event reasons and metrics, for any cloud with routes.
//
// What routes there should be is a pure function of the Nodes: each network in spec.podCIDRs leads to an address of its Node of the same
// family. One pass compares that with the routes that the cloud has, and applies the difference, additions before removals:
//
//	Node changes ─► queue ─► Provider.Look ─► plan ─► create, change ─► conditions and events of Nodes ─► remove
//	every drift period ─┘
//
// A route is removed only if it is certainly this cluster's: see knowledge. Where nothing differs, nothing is written.
package route

import (
	"context"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Provider is the routes of one cloud's network. It is safe for concurrent use.
type Provider interface {
	// Behaviour is how routes are looked after, as the provider is configured.
	Behaviour() Behaviour
	// Takes says whether a Node runs in this cloud, by what it says itself, such as its provider ID. Nobody is asked, so that it is never slow.
	Takes(node *corev1.Node) bool
	// Members returns those of the nodes that take part: they run on machines of this cloud. The others are somebody else's, whatever they say.
	// With an error it is not known where any of them is.
	Members(ctx context.Context, nodes []*corev1.Node) ([]Member, error)
	// Look returns the tables that this cluster's routes are in, or should be in, each with all its routes, from a list that is at most
	// maxAge old; 0 and less ask for a new one. It contains what this process has written. It is complete, or an error.
	Look(ctx context.Context, cluster Cluster, maxAge time.Duration) (View, error)
	// Vacant returns those of the addresses that no machine in the network has, by a complete list that began after the call. A list that
	// lacks what the cluster's own Nodes have is none: it is an *Unlisted. An address of which the list cannot tell is not vacant.
	Vacant(ctx context.Context, cluster Cluster, addresses []netip.Addr) ([]netip.Addr, error)
	// Create adds a route to a table. It is a *Problem if somebody can do something about the error.
	Create(ctx context.Context, table string, route Route) error
	// Change makes a route lead to another gateway. Where the cloud can, it is one call, and there is a route at any time.
	Change(ctx context.Context, table string, from Found, to Route) error
	// Delete removes a route; one that is gone is a success.
	Delete(ctx context.Context, table string, route Found) error
	// Replace makes these routes the only ones of a table with a destination inside the networks, in one write. Routes to elsewhere stay.
	// It is asked for exclusive tables only.
	Replace(ctx context.Context, table string, inside []netip.Prefix, routes []Route) error
}

// Behaviour is how routes are looked after.
type Behaviour struct {
	// DriftPeriod is the time between two looks for what was changed by hand; 0 never looks.
	DriftPeriod time.Duration
}

// Cluster is what a provider is told of the cluster.
type Cluster struct {
	// CIDRs are the networks of all pods: one, or one of each family. Routes to elsewhere are not this cluster's.
	CIDRs []netip.Prefix
	// Members are the Nodes that take part, also those without pods of their own.
	Members []Member
}

// Member is a Node that takes part.
type Member struct {
	Node *corev1.Node // not to be modified
	// Known says that the cloud shows the Node's machine, or has shown it.
	Known bool
	// Confirmed says that something which no kubelet writes shows, too, that the Node runs on this machine. A kubelet chooses the provider ID
	// that it registers with, and may choose that of a machine which is no Node's: without this, routes of others to it do not become ours.
	Confirmed bool
	// Addresses are those of the machine that routes can lead to, the preferred ones first. A kubelet may write any into its Node's status, so
	// that it is only asked where the cloud cannot be.
	Addresses []netip.Addr
}

// View is what a look shows.
type View struct {
	Tables []Table
	// Unserved are why the table of some Nodes' traffic is not known, so that they may not reach pods of others, by the Nodes' names.
	Unserved map[string]string
}

// Table is a set of routes that some subnets have in common.
type Table struct {
	ID   string // for the provider
	Name string // for people
	// Used says that every Node needs its routes here. A table that is not used may have some from before.
	Used bool
	// Exclusive says that nobody else has routes here inside the cluster's networks.
	Exclusive bool
	// Nodes are the names of Nodes whose traffic goes by this table although it is not used; they are told.
	Nodes  []string
	Routes []Found
}

// Found is a route that the cloud has.
type Found struct {
	Destination netip.Prefix
	// Gateway is the address it leads to; the zero Addr if it leads to something else.
	Gateway netip.Addr
	// Managed says that the cloud itself knows it as this cluster's, whatever it leads to.
	Managed bool
	// Handle is what the provider finds it by.
	Handle any
}

// Route is one that there should be.
type Route struct {
	Destination netip.Prefix
	Gateway     netip.Addr
	Node        *corev1.Node // that it leads to
}

// Problem is an error that the owner of a Node can do something about.
type Problem struct {
	Reason string // of the event: QuotaExceeded; "" is that of any failure
	// Exhausted says that no further route can be created in the table until somebody has done so.
	Exhausted bool
	// Closed says that the table refuses all writes, not only this one, such as for lack of a permission.
	Closed bool
	Err    error
}

// QuotaExceeded is the reason of a Problem: the cloud has no room for one more route.
const QuotaExceeded = reasonQuota

// Error is the message of the event, beside the route.
func (p *Problem) Error() string { return p.Err.Error() }

// Unwrap returns what the cloud said.
func (p *Problem) Unwrap() error { return p.Err }
