package adapter

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// routePeriod is the default time between two checks for drift.
const routePeriod = 5 * time.Minute

// routes are the routes of a cloud that has cloudprovider.Routes. It has one table, and all routes in it are managed.
type routes struct {
	cloudprovider.Routes
	scheme  scheme
	cluster string
}

// Routes returns the routes of the cloud with this name, for a cluster.
func Routes(name string, provided cloudprovider.Routes, cluster string) cloud.Routes {
	return routes{provided, schemeOf(name), cluster}
}

// Behaviour implements cloud.Routes.
func (routes) Behaviour() cloud.RouteBehaviour { return cloud.RouteBehaviour{DriftPeriod: routePeriod} }

// Owns implements cloud.Routes.
func (r routes) Owns(node *corev1.Node) bool { return r.scheme.permits(node) }

// Members implements cloud.Routes: the Nodes of the cloud, with the addresses in their status.
func (r routes) Members(_ context.Context, nodes []*corev1.Node) ([]cloud.RouteMember, error) {
	members := make([]cloud.RouteMember, 0, len(nodes))
	for _, node := range nodes {
		if !r.Owns(node) {
			continue
		}
		members = append(members, cloud.RouteMember{
			Node: node, Known: true, Confirmed: true, Addresses: cloud.InternalAddresses(node),
		})
	}
	return members, nil
}

// List implements cloud.Routes. Each call lists again.
func (r routes) List(ctx context.Context, network cloud.PodNetwork, _ time.Duration) (cloud.RouteTables, error) {
	listed, err := r.ListRoutes(ctx, r.cluster)
	if err != nil {
		return cloud.RouteTables{}, fmt.Errorf("listing routes: %w", err)
	}
	nodes := map[types.NodeName]*corev1.Node{}
	for _, member := range network.Members {
		nodes[types.NodeName(member.Node.Name)] = member.Node
	}
	table := cloud.RouteTable{Used: true}
	for _, route := range listed {
		destination, err := netip.ParsePrefix(route.DestinationCIDR)
		if err != nil {
			continue // it is not a route to a pod network
		}
		gateway := gatewayOf(route, nodes[route.TargetNode], destination)
		table.Routes = append(table.Routes, cloud.ActualRoute{
			Destination: destination.Masked(), Gateway: gateway, Managed: true, Handle: route,
		})
	}
	return cloud.RouteTables{Tables: []cloud.RouteTable{table}}, nil
}

// gatewayOf returns the gateway of a route. If the cloud has routes to Nodes and not to addresses, it is that of the
// Node.
func gatewayOf(route *cloudprovider.Route, node *corev1.Node, destination netip.Prefix) netip.Addr {
	if route.Blackhole || node == nil {
		return netip.Addr{}
	}
	own := gateways(node.Status.Addresses, destination)
	if !route.EnableNodeAddresses {
		return first(own)
	}
	shown := gateways(route.TargetNodeAddresses, destination)
	at := slices.IndexFunc(shown, func(address netip.Addr) bool { return slices.Contains(own, address) })
	if at >= 0 {
		return shown[at]
	}
	return first(shown)
}

// gateways returns those of the addresses that are internal and have the IP family of the destination.
func gateways(addresses []corev1.NodeAddress, destination netip.Prefix) []netip.Addr {
	internal := cloud.InternalAddresses(&corev1.Node{Status: corev1.NodeStatus{Addresses: addresses}})
	return slices.DeleteFunc(internal, func(a netip.Addr) bool { return a.Is4() != destination.Addr().Is4() })
}

// first returns the first address; the zero Addr if there is none.
func first(addresses []netip.Addr) netip.Addr {
	if len(addresses) == 0 {
		return netip.Addr{}
	}
	return addresses[0]
}

// Create implements cloud.Routes.
func (r routes) Create(ctx context.Context, _ string, route cloud.Route) error {
	return r.CreateRoute(ctx, r.cluster, string(route.Node.UID), &cloudprovider.Route{
		TargetNode: types.NodeName(route.Node.Name), TargetNodeAddresses: route.Node.Status.Addresses,
		DestinationCIDR: route.Destination.String(),
	})
}

// Change implements cloud.Routes. It deletes the route first, because most clouds do not permit two routes with one
// destination.
func (r routes) Change(ctx context.Context, table string, from cloud.ActualRoute, to cloud.Route) error {
	if err := r.Delete(ctx, table, from); err != nil {
		return err
	}
	return r.Create(ctx, table, to)
}

// Delete implements cloud.Routes.
func (r routes) Delete(ctx context.Context, _ string, route cloud.ActualRoute) error {
	listed, ok := route.Handle.(*cloudprovider.Route)
	if !ok {
		return fmt.Errorf("deleting the route to %s: it was not listed", route.Destination)
	}
	return r.DeleteRoute(ctx, r.cluster, listed)
}
