package route

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// classicPeriod is the time between two looks for drift in a cloud that has no opinion on it.
const classicPeriod = 5 * time.Minute

// classic is a cloud that is only known by k8s.io/cloud-provider's interface. It has one table, and all routes that it lists are the
// cluster's.
type classic struct {
	cloudprovider.Routes
	cluster string
}

// Behaviour implements cloud.Routes.
func (classic) Behaviour() cloud.RouteBehaviour {
	return cloud.RouteBehaviour{DriftPeriod: classicPeriod}
}

// Owns implements cloud.Routes: any Node.
func (classic) Owns(*corev1.Node) bool { return true }

// Members implements cloud.Routes: all nodes, with the addresses that they say they have.
func (classic) Members(_ context.Context, nodes []*corev1.Node) ([]cloud.RouteMember, error) {
	return membersOf(nodes), nil
}

func membersOf(nodes []*corev1.Node) []cloud.RouteMember {
	members := make([]cloud.RouteMember, 0, len(nodes))
	for _, node := range nodes {
		members = append(members, cloud.RouteMember{Node: node, Known: true, Confirmed: true, Addresses: cloud.InternalAddresses(node)})
	}
	return members
}

// List implements cloud.Routes. Such a cloud has no cache, so each call lists again.
func (c classic) List(ctx context.Context, cluster cloud.PodNetwork, _ time.Duration) (cloud.RouteTables, error) {
	routes, err := c.ListRoutes(ctx, c.cluster)
	if err != nil {
		return cloud.RouteTables{}, fmt.Errorf("listing routes: %w", err)
	}
	nodes := map[types.NodeName]*corev1.Node{}
	for _, node := range nodesOf(cluster.Members) {
		nodes[types.NodeName(node.Name)] = node
	}
	table := cloud.RouteTable{Used: true}
	for _, r := range routes {
		destination, err := netip.ParsePrefix(r.DestinationCIDR)
		if err != nil {
			continue // whatever it is, it is not one of pods
		}
		table.Routes = append(table.Routes, cloud.ActualRoute{
			Destination: destination.Masked(), Gateway: gatewayOf(r, nodes[r.TargetNode], destination), Managed: true, Handle: r,
		})
	}
	return cloud.RouteTables{Tables: []cloud.RouteTable{table}}, nil
}

// gatewayOf is the address that a route leads to. A cloud that says nothing of addresses leads to the Node's, whatever they are.
func gatewayOf(r *cloudprovider.Route, node *corev1.Node, destination netip.Prefix) netip.Addr {
	if r.Blackhole || node == nil {
		return netip.Addr{}
	}
	own := gateways(node, destination)
	if !r.EnableNodeAddresses {
		return first(own)
	}
	shown := gateways(&corev1.Node{Status: corev1.NodeStatus{Addresses: r.TargetNodeAddresses}}, destination)
	if at := slices.IndexFunc(shown, func(a netip.Addr) bool { return slices.Contains(own, a) }); at >= 0 {
		return shown[at]
	}
	return first(shown)
}

// FreeAddresses implements cloud.Routes: nothing depends on it, since all routes are the cluster's.
func (classic) FreeAddresses(context.Context, cloud.PodNetwork, []netip.Addr) ([]netip.Addr, error) {
	return nil, nil
}

// Create implements cloud.Routes.
func (c classic) Create(ctx context.Context, _ string, r cloud.Route) error {
	return c.CreateRoute(ctx, c.cluster, string(r.Node.UID), libraryRoute(r))
}

// Change implements cloud.Routes. There is no route for a moment: two of one destination are more than most clouds allow.
func (c classic) Change(ctx context.Context, table string, from cloud.ActualRoute, to cloud.Route) error {
	if err := c.Delete(ctx, table, from); err != nil {
		return err
	}
	return c.Create(ctx, table, to)
}

// Delete implements cloud.Routes.
func (c classic) Delete(ctx context.Context, _ string, r cloud.ActualRoute) error {
	route, ok := r.Handle.(*cloudprovider.Route)
	if !ok {
		return fmt.Errorf("deleting the route to %s: it is not one that was listed", r.Destination)
	}
	return c.DeleteRoute(ctx, c.cluster, route)
}

// Replace implements cloud.Routes: it is never asked, for there are no exclusive tables.
func (classic) Replace(context.Context, string, []netip.Prefix, []cloud.Route) error {
	return fmt.Errorf("replacing all routes: %w", errors.ErrUnsupported)
}

// libraryRoute is a route in the words of k8s.io/cloud-provider.
func libraryRoute(r cloud.Route) *cloudprovider.Route {
	return &cloudprovider.Route{
		TargetNode: types.NodeName(r.Node.Name), TargetNodeAddresses: r.Node.Status.Addresses, DestinationCIDR: r.Destination.String(),
	}
}
