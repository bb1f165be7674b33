package thalassa

import (
	"context"
	"errors"
	"fmt"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
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

// restoreGroupLabels gives security groups the labels that they lost, before the load balancer goes without which
// nothing proves whose they are: those with the name that the existing CCM gives, and without the Service's UID. One
// whose labels the cloud refuses stays, and is reported.
func (d *difference) restoreGroupLabels(o observed) {
	for _, from := range o.securityGroups {
		if from.Deleting() || from.Name == groupName(d.desired.labels[labelUID]) || from.Labels[labelUID] != "" {
			continue
		}
		to := from
		to.Labels = withLabels(from.Labels, d.desired.labels)
		const why = "it lost labels of the Service, which is being removed"
		d.add(cloud.Update, kindSecurityGroup, from.Name, why, func(ctx context.Context) error {
			return unlessRefused(d.inventory.UpdateSecurityGroup(ctx, from, to))
		})
	}
}

// unlessRefused passes on the error of a write without which a deletion can go on, unless the cloud refuses the write:
// repeating it changes nothing then.
func unlessRefused(err error) error {
	if errors.Is(err, client.ErrBadRequest) || errors.Is(err, client.ErrForbidden) {
		return nil
	}
	return err
}

// leaves says of the latest write of a deletion that its object stays in the cloud, because a load balancer of others
// uses it. It stays also when the cloud refuses to take the Service's labels off it: then it is found as an orphan.
func (d *difference) leaves(kind, name, id string, user inventory.LoadBalancer) {
	latest := &d.plan[len(d.plan)-1]
	do := latest.Do
	latest.Do = func(ctx context.Context) error { return unlessRefused(do(ctx)) }
	latest.Leaves = fmt.Sprintf("%s %s (%s) remains in the cloud, because load balancer %s (%s) uses it. "+
		"If they are not needed, delete both there.", sentence(kind), name, id, user.Name, user.ID)
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
