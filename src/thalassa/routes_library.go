package thalassa

import (
	"context"
	"fmt"
	"net/netip"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/thalassa-cloud/thalassa-ccm/src/route"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/inventory"
)

var _ cloudprovider.Routes = (*routes)(nil)

// ListRoutes implements cloudprovider.Routes: the routes of all route tables that lead to machines of the VPC, newly listed. This
// program's own controller, which knows the nodes, uses Look instead.
func (r *routes) ListRoutes(ctx context.Context, _ string) ([]*cloudprovider.Route, error) {
	tables, err := r.inventory.RouteTables(ctx, inventory.Anew)
	if err != nil {
		return nil, err
	}
	owners, err := r.inventory.AddressOwners(ctx)
	if err != nil {
		return nil, err
	}
	var listed []*cloudprovider.Route
	for _, table := range tables {
		for _, one := range table.Routes {
			machine, leads := owners[one.Gateway]
			if !leads || !one.Destination.IsValid() {
				continue
			}
			listed = append(listed, &cloudprovider.Route{
				Name: table.ID + "/" + one.ID, TargetNode: types.NodeName(machine), DestinationCIDR: one.Destination.String(), EnableNodeAddresses: true,
				TargetNodeAddresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: one.Gateway.String()}},
			})
		}
	}
	return listed, nil
}

// CreateRoute implements cloudprovider.Routes: the route leads to the first internal address of its family, in every route table of the
// subnets that the node is in, or the one that is configured.
func (r *routes) CreateRoute(ctx context.Context, _, _ string, wanted *cloudprovider.Route) error {
	destination, err := netip.ParsePrefix(wanted.DestinationCIDR)
	if err != nil {
		return fmt.Errorf("creating a route of node %s: %w", wanted.TargetNode, err)
	}
	node := &corev1.Node{Status: corev1.NodeStatus{Addresses: wanted.TargetNodeAddresses}}
	node.Name = string(wanted.TargetNode)
	gateway := route.Gateway(node, destination)
	if !gateway.IsValid() {
		return fmt.Errorf("creating a route of node %s: it has no internal address of the family of %s", node.Name, destination)
	}
	view, err := r.Look(ctx, route.Cluster{Members: []route.Member{{Node: node, Known: true, Addresses: route.Addresses(node)}}}, inventory.BalancerAge)
	if err != nil {
		return err
	}
	for _, table := range view.Tables {
		if !table.Used {
			continue
		}
		if err := r.Create(ctx, table.ID, route.Route{Destination: destination.Masked(), Gateway: gateway, Node: node}); err != nil {
			return err
		}
	}
	return nil
}

// DeleteRoute implements cloudprovider.Routes, for a route as ListRoutes returned it.
func (r *routes) DeleteRoute(ctx context.Context, _ string, listed *cloudprovider.Route) error {
	table, id, named := strings.Cut(listed.Name, "/")
	if !named {
		return fmt.Errorf("deleting a route: %q is not the name of one that was listed", listed.Name)
	}
	return r.inventory.DeleteRoute(ctx, table, id)
}
