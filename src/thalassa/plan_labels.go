package thalassa

import (
	"context"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/inventory"
)

// retarget returns the writes that give existing target groups their machines, and nothing else.
func (p planner) retarget(d desired, o observed) cloud.Plan {
	diff := &difference{planner: p, desired: d, used: map[string]bool{}}
	for _, wanted := range d.Ports {
		diff.members(diff.newPort(wanted, o.balancer(), o))
	}
	return diff.plan
}

// restoreLabels adds the write that gives a load balancer the labels by which it is found, before anything that depends on finding it. It
// returns the load balancer as it is then.
func (d *difference) restoreLabels(balancer *inventory.LoadBalancer) *inventory.LoadBalancer {
	if balancer == nil || labelledFor(balancer.Labels, d.desired.labels) {
		return balancer
	}
	d.add(cloud.Update, kindBalancer, balancer.Name, "it lost labels of the Service and gets them again", func(ctx context.Context) error {
		latest, err := d.latest(ctx, *balancer)
		if err != nil {
			return err
		}
		return d.inventory.UpdateLoadBalancer(ctx, latest, d.relabelled(latest))
	})
	relabelled := d.relabelled(*balancer)
	return &relabelled
}

// relabelled is a load balancer with the labels of the Service, and the record of who made it.
func (d *difference) relabelled(balancer inventory.LoadBalancer) inventory.LoadBalancer {
	balancer.Labels = withLabels(balancer.Labels, d.desired.labels)
	remembered := tracesOf(balancer.Annotations)
	remembered.created = d.desired.created
	balancer.Annotations = remembered.over(balancer.Annotations)
	return balancer
}

// restorePartLabels gives target groups and security groups the labels that they lost, before the load balancer goes by which they are known.
func (d *difference) restorePartLabels(o observed) {
	const why = "it lost labels of the Service, which is being removed"
	for _, from := range o.groups {
		if to := from; !labelledFor(from.Labels, d.desired.labels) {
			to.Labels = withLabels(from.Labels, d.desired.labels)
			d.add(cloud.Update, kindGroup, from.Name, why, func(ctx context.Context) error {
				return d.inventory.UpdateTargetGroup(ctx, from, to)
			})
		}
	}
	for _, from := range o.securityGroups {
		if to := from; !labelledFor(from.Labels, d.desired.labels) && !from.Deleting() {
			to.Labels = withLabels(from.Labels, d.desired.labels)
			d.add(cloud.Update, kindSecurityGroup, from.Name, why, func(ctx context.Context) error {
				return d.inventory.UpdateSecurityGroup(ctx, from, to)
			})
		}
	}
}

// leaveGroup adds the write that takes the Service's labels off a target group, which stays in the cloud.
func (d *difference) leaveGroup(from inventory.TargetGroup, why string) {
	to := from
	to.Labels, to.Annotations = disowned(from.Labels), forgotten(from.Annotations)
	d.add(cloud.Update, kindGroup, from.Name, why, func(ctx context.Context) error {
		return d.inventory.UpdateTargetGroup(ctx, from, to)
	})
}

// leaveSecurityGroup is leaveGroup for a security group.
func (d *difference) leaveSecurityGroup(from inventory.SecurityGroup, why string) {
	to := from
	to.Labels, to.Annotations = disowned(from.Labels), forgotten(from.Annotations)
	d.add(cloud.Update, kindSecurityGroup, from.Name, why, func(ctx context.Context) error {
		return d.inventory.UpdateSecurityGroup(ctx, from, to)
	})
}
