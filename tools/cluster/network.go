//go:build linux

package cluster

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/thalassa-cloud/client-go/iaas"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/netns"
)

func hasLabel(node *corev1.Node) bool {
	_, has := node.Labels[roleControlPlane]
	return has
}

// labelControlPlane does what a kubelet may not.
func (c *Cluster) labelControlPlane(ctx context.Context) error {
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:""}}}`, roleControlPlane)
	_, err := c.api.CoreV1().Nodes().Patch(ctx, ControlPlane, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// Customer is a client of the cloud, as its customer.
func (c *Cluster) Customer() (*iaas.Client, error) { return customer(c.cloudURL) }

// route makes the VPC send what is for a node's pods to its machine.
func (c *Cluster) route(ctx context.Context, e netns.Event, cidrs []string) error {
	cloud, err := c.Customer()
	if err != nil {
		return err
	}
	tables, err := cloud.ListRouteTables(ctx, nil)
	if err != nil {
		return fmt.Errorf("routing to the pods of node %s: %w", e.Name, err)
	}
	i := slices.IndexFunc(tables, func(t iaas.RouteTable) bool {
		return t.IsDefault && t.Vpc != nil && t.Vpc.Identity == emulator.DefaultVPC
	})
	if i < 0 {
		return fmt.Errorf("routing to the pods of node %s: VPC %s has no default route table", e.Name,
			emulator.DefaultVPC)
	}
	for _, cidr := range cidrs {
		if err := replaceRoute(ctx, cloud, tables[i], cidr, e.Addresses); err != nil {
			return fmt.Errorf("routing to the pods of node %s: %w", e.Name, err)
		}
	}
	return nil
}

// replaceRoute makes a route to the address of the same family, in place of one to another address.
func replaceRoute(ctx context.Context, cloud *iaas.Client, table iaas.RouteTable, cidr string,
	addresses []netip.Addr) error {
	to, err := netip.ParsePrefix(cidr)
	if err != nil {
		return err
	}
	via := slices.IndexFunc(addresses, func(a netip.Addr) bool { return a.Is4() == to.Addr().Is4() })
	if via < 0 {
		return fmt.Errorf("the machine has no address of the family of %s", cidr)
	}
	gateway := addresses[via].String()
	for _, route := range table.Routes {
		if route.DestinationCidrBlock != cidr {
			continue
		}
		if route.GatewayAddress != nil && *route.GatewayAddress == gateway {
			return nil
		}
		if err := cloud.DeleteRouteTableRoute(ctx, table.Identity, route.Identity); err != nil {
			return err
		}
	}
	_, err = cloud.CreateRouteTableRoute(ctx, table.Identity, iaas.CreateRouteTableRoute{DestinationCidrBlock: cidr,
		GatewayAddress: gateway})
	return err
}
