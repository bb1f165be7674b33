package thalassa

import (
	"fmt"

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

// restoreLabels adds the write that gives a load balancer the labels by which it is found, before anything that depends
// on finding it. It returns the load balancer as it is then.
func (d *difference) restoreLabels(balancer *inventory.LoadBalancer) *inventory.LoadBalancer {
	if balancer == nil || labelledFor(balancer.Labels, d.desired.labels) {
		return balancer
	}
	relabelled := d.relabelled(*balancer)
	d.add(cloud.Update, kindBalancer, balancer.Name, "it lost labels of the Service and gets them again",
		UpdateLoadBalancer{From: *balancer, To: relabelled, Look: true})
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
		d.add(cloud.Update, kindSecurityGroup, from.Name, why,
			UpdateSecurityGroup{From: from, To: to, MayBeRefused: true})
	}
}

// leavesText says of a write of a deletion that its object stays in the cloud, because a load balancer of others uses
// it. It stays also when the cloud refuses to take the Service's labels off it: then it is found as an orphan.
func leavesText(kind, name, id string, user inventory.LoadBalancer) string {
	return fmt.Sprintf("%s %s (%s) remains in the cloud, because load balancer %s (%s) uses it. "+
		"If they are not needed, delete both there.", sentence(kind), name, id, user.Name, user.ID)
}

// leaveGroup adds the write that takes the Service's labels off a target group, which stays in the cloud. With a
// sentence about that for the Service's owner, the cloud may refuse it.
func (d *difference) leaveGroup(from inventory.TargetGroup, why, leaves string) {
	to := from
	to.Labels, to.Annotations = disowned(from.Labels), forgotten(from.Annotations)
	d.plan = append(d.plan, cloud.Operation{
		Verb: cloud.Update, Kind: kindGroup, Name: from.Name, Why: why, Leaves: leaves,
		Object: UpdateTargetGroup{From: from, To: to, MayBeRefused: leaves != ""},
	})
}

// leaveSecurityGroup is leaveGroup for a security group.
func (d *difference) leaveSecurityGroup(from inventory.SecurityGroup, why, leaves string) {
	to := from
	to.Labels, to.Annotations = disowned(from.Labels), forgotten(from.Annotations)
	d.plan = append(d.plan, cloud.Operation{
		Verb: cloud.Update, Kind: kindSecurityGroup, Name: from.Name, Why: why, Leaves: leaves,
		Object: UpdateSecurityGroup{From: from, To: to, MayBeRefused: leaves != ""},
	})
}
