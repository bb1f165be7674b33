package thalassa

import (
	"context"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/balancer"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// lookUp looks up the objects that the Service and the configuration name.
func (b *balancers) lookUp(ctx context.Context, request balancer.Request, o balancer.Observed) balancer.References {
	names, found := request.Names(), balancer.References{}
	if names.ClusterSubnet {
		found.VPC.Object, found.VPC.Err = b.inventory.VPC(ctx)
	}
	if names.Subnet != "" {
		s := &found.Subnet
		s.Object, s.Found, found.Subnets, s.Err = b.inventory.Subnet(ctx, names.Subnet)
	}
	found.SecurityGroups, found.GroupNames = b.lookUpGroups(ctx, names.SecurityGroups)
	if names.ReservedIP != "" {
		found.ReservedIP, found.Region = b.lookUpReservedIP(ctx, names.ReservedIP, o.Balancer())
	}
	return found
}

// lookUpGroups looks up security groups. If one of them does not exist, it also returns the names of all.
func (b *balancers) lookUpGroups(ctx context.Context,
	names []string) (groups map[string]balancer.Lookup[resource.SecurityGroup], all []string) {
	groups = make(map[string]balancer.Lookup[resource.SecurityGroup], len(names))
	for _, name := range names {
		var group balancer.Lookup[resource.SecurityGroup]
		group.Object, group.Found, group.Err = b.inventory.SecurityGroup(ctx, name, b.config.Inventory.MaxBalancerAge())
		if groups[name] = group; !group.Found && group.Err == nil && all == nil {
			all, _ = b.inventory.SecurityGroupNames(ctx) // only for a message
		}
	}
	return groups, all
}

// lookUpReservedIP looks up a reserved IP. If it does not exist, it also returns the region.
func (b *balancers) lookUpReservedIP(ctx context.Context, name string,
	balancer *resource.LoadBalancer) (ip balancer.Lookup[resource.ReservedIP], region string) {
	ip.Object, ip.Found, ip.Err = b.inventory.ReservedIP(ctx, name, b.config.Inventory.MaxBalancerAge())
	attached := ip.Object.AttachedTo
	if attached != "" && (balancer == nil || attached != balancer.ID) {
		// it may have been detached recently
		ip.Object, ip.Found, ip.Err = b.inventory.ReservedIP(ctx, name, b.config.LoadBalancer.PollInterval()/2)
	}
	if !ip.Found && ip.Err == nil {
		vpc, _ := b.inventory.VPC(ctx) // only for a message
		region = vpc.Region
	}
	return ip, region
}
