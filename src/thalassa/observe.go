package thalassa

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/balancer"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// ages are how old lists may be: those of load balancers, and those of their target groups and security groups.
type ages struct{ balancers, groups time.Duration }

// observeForDiff returns all objects of the Service. Cached lists may be older than the latest look, so newer ones are
// read while a load balancer is not ready.
func (b *balancers) observeForDiff(ctx context.Context, service *corev1.Service) (balancer.Observed, error) {
	maxAge := b.config.Inventory.MaxBalancerAge()
	o, err := b.observe(ctx, service, ages{maxAge, maxAge}, false)
	if err != nil {
		return balancer.Observed{}, err
	}
	if lb := o.Balancer(); lb != nil && (lb.Deleting() || !balancer.ServesNow(service, *lb)) {
		if o.Balancers, o.Recognised, err = b.balancersOf(ctx, service, b.fresh()); err != nil {
			return balancer.Observed{}, err
		}
	}
	return b.completed(ctx, service, o, false)
}

// completed adds the target groups that the load balancer uses for the Service and that lack the Service's labels.
func (b *balancers) completed(ctx context.Context, service *corev1.Service, o balancer.Observed,
	ending bool) (balancer.Observed, error) {
	for _, id := range b.settings.GroupsWithoutLabels(service, o) {
		group, found, err := b.inventory.TargetGroupByID(ctx, id)
		if err != nil {
			return balancer.Observed{}, fmt.Errorf("looking for the target groups of load balancer %s: %w",
				o.Balancer().Name, err)
		}
		if found {
			b.settings.AddGroup(service, &o, group, ending)
		}
	}
	return o, nil
}

// observe returns all objects of the Service, from lists at most this old. With ending, the Service is to have none.
// Then security groups are listed when it has no load balancer any more, or one whose record contains a security group.
func (b *balancers) observe(ctx context.Context, service *corev1.Service, most ages,
	ending bool) (balancer.Observed, error) {
	balancers, like, err := b.balancersOf(ctx, service, most.balancers)
	if err != nil {
		return balancer.Observed{}, err
	}
	expected := 0
	if served(service) {
		expected = len(service.Spec.Ports)
	}
	groups, err := b.inventory.TargetGroupsOf(ctx, string(service.UID), most.groups, expected,
		groupsUsedBy(balancers))
	if err != nil {
		return balancer.Observed{}, err
	}
	o := balancer.Observed{Balancers: balancers, Groups: groups, Recognised: like}
	made := ending && o.Balancer() == nil || b.settings.MayHaveSecurityGroup(service, o.Balancer())
	if made || o.Unfinished() {
		err := b.observeSecurityGroups(ctx, service, &o, most.groups)
		if err != nil && (made || !errors.Is(err, client.ErrUnauthorised)) {
			o.GroupsError = err
		}
	}
	if age := b.inventory.SinceVisible(); o.Balancer() == nil && age >= 0 && age < max(most.balancers, most.groups) &&
		b.executor.memory.mayFollow(service) {
		return b.observe(ctx, service, ages{min(age, most.balancers), min(age, most.groups)}, ending)
	}
	return o, nil
}

// groupsUsedBy returns the identities of the target groups that the listeners of load balancers use.
func groupsUsedBy(balancers []resource.LoadBalancer) []string {
	var ids []string
	for _, balancer := range balancers {
		for _, listener := range balancer.Listeners {
			if listener.TargetGroup != "" {
				ids = append(ids, listener.TargetGroup)
			}
		}
	}
	return ids
}

// observeSecurityGroups adds the Service's security groups to o: those with its labels, and those that its load
// balancer uses and that lack labels.
func (b *balancers) observeSecurityGroups(
	ctx context.Context, service *corev1.Service, o *balancer.Observed, maxAge time.Duration,
) (err error) {
	expected := 0
	if balancer.HadOwnGroup(o.Balancer()) {
		expected = 1
	}
	o.SecurityGroups, err = b.inventory.SecurityGroupsOf(ctx, string(service.UID), maxAge, expected)
	if err != nil || o.Balancer() == nil {
		return err
	}
	attached, err := b.inventory.AttachedSecurityGroups(ctx, *o.Balancer())
	if err != nil {
		return err
	}
	traits := b.settings.TraitsOf(service)
	o.SecurityGroups = append(o.SecurityGroups, slices.DeleteFunc(attached, func(group resource.SecurityGroup) bool {
		return !traits.OwnsGroup(group)
	})...)
	return nil
}

// balancersOf returns the Service's load balancers, oldest first, from a list at most maxAge old, and those that may be
// the Service's.
func (b *balancers) balancersOf(ctx context.Context, service *corev1.Service,
	maxAge time.Duration) ([]resource.LoadBalancer, balancer.Recognition, error) {
	expected := 0
	if served(service) {
		expected = 1
	}
	owned, err := b.inventory.LoadBalancersOf(ctx, string(service.UID), maxAge, expected)
	if err != nil {
		return nil, nil, err
	}
	traits := b.settings.TraitsOf(service)
	similar, err := b.inventory.LoadBalancersWithTraits(ctx, traits.Traits, len(owned) == 0)
	if err != nil {
		return nil, nil, fmt.Errorf("looking for a load balancer of the Service that lost its labels: %w", err)
	}
	like := traits.Recognise(similar)
	balancers := like.Take(owned)
	return balancers, like, nil
}

// fresh is the maximum age of the answer while the program waits for a change in the cloud.
func (b *balancers) fresh() time.Duration {
	maxAge, _ := b.schedule.look()
	return maxAge
}

// otherUser returns a load balancer of others that uses the target group or security group with that identity.
func (b *balancers) otherUser(id string, o balancer.Observed) (user resource.LoadBalancer, used bool) {
	return b.inventory.UserOf(id, func(lb resource.LoadBalancer) bool { return o.HasBalancer(lb.ID) })
}

// served reports whether the Service has had a load balancer with an address, whatever the first list of this process
// shows.
func served(service *corev1.Service) bool { return len(service.Status.LoadBalancer.Ingress) > 0 }

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
