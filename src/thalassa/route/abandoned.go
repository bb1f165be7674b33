package route

import (
	"context"
	"net/netip"
	"slices"

	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// findAbandoned marks the routes that have the network of a member and lead to an address in the VPC that no machine
// has. It lists machines only if a route to the network of a member leads elsewhere than to a member, which is rare. If
// the list lacks the machine or an address of a member, or fails, it is no proof, and no route is marked.
func (r *Provider) findAbandoned(ctx context.Context, tables []cloud.RouteTable, members []cloud.RouteMember) {
	candidates := blocking(tables, members)
	if len(candidates) == 0 || slices.ContainsFunc(members, func(m cloud.RouteMember) bool { return !m.Known }) {
		return
	}
	vpc, err := r.inventory.VPC(ctx)
	if err != nil {
		return
	}
	present, err := r.inventory.MachineAddresses(ctx)
	if err != nil {
		klog.FromContext(ctx).Error(err, "It is not known whether machines have the addresses that routes to networks "+
			"of Nodes lead to; these routes do not change until the next check")
		return
	}
	inVPC := func(a netip.Addr) bool {
		return slices.ContainsFunc(vpc.Subnets, func(s resource.Subnet) bool { return s.Contains(a) })
	}
	shown := map[bool]bool{} // whether the list shows addresses of IPv4 (true) and IPv6
	for _, member := range members {
		for _, address := range member.Addresses {
			if inVPC(address) && !present[address] {
				return
			}
			shown[address.Is4()] = shown[address.Is4()] || present[address]
		}
	}
	for _, one := range candidates {
		one.Abandoned = inVPC(one.Gateway) && !present[one.Gateway] && shown[one.Gateway.Is4()]
	}
}

// blocking returns the routes that have the network of a member and lead to an address that no member has. A kubelet
// chooses the network that its Node registers with, so only members that certainly run on their machines count.
func blocking(tables []cloud.RouteTable, members []cloud.RouteMember) (found []*cloud.ActualRoute) {
	networks, addresses := map[netip.Prefix]bool{}, map[netip.Addr]bool{}
	for _, member := range members {
		for _, text := range member.Node.Spec.PodCIDRs {
			network, err := netip.ParsePrefix(text)
			if err == nil && member.Confirmed && !cloud.Uninitialised(member.Node) {
				networks[network.Masked()] = true
			}
		}
		for _, address := range member.Addresses {
			addresses[address] = true
		}
	}
	for _, table := range tables {
		for i, one := range table.Routes {
			if networks[one.Destination] && one.Gateway.IsValid() && !addresses[one.Gateway] {
				found = append(found, &table.Routes[i])
			}
		}
	}
	return found
}
