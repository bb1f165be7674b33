package balancer

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// ownerLabels are the labels of all objects of a Service. Additional labels never override the others.
func ownerLabels(owner cloud.Owner, additional map[string]string) resource.Labels {
	labels := resource.Labels{}
	maps.Copy(labels, additional)
	maps.Copy(labels, resource.Labels{
		label.Cluster:          owner.Cluster,
		label.Managed:          "true",
		label.ServiceName:      owner.Name,
		label.ServiceNamespace: owner.Namespace,
		label.ServiceUID:       string(owner.UID),
	})
	return labels
}

// portLabels are the labels of a port's listener and target group, including those of the owner.
func portLabels(owner resource.Labels, key cloud.Key) resource.Labels {
	labels := maps.Clone(owner)
	labels[label.ServicePort] = strconv.Itoa(int(key.Port))
	labels[label.ServiceProtocol] = protocol(key)
	return labels
}

// protocol is the protocol as the cloud writes it: in lower case.
func protocol(key cloud.Key) string { return strings.ToLower(string(key.Protocol)) }

// withLabels returns the present labels, overridden by the wanted ones. Labels of others stay.
func withLabels(present, wanted resource.Labels) resource.Labels {
	labels := resource.Labels{}
	maps.Copy(labels, present)
	maps.Copy(labels, wanted)
	return labels
}

// planMachines returns only the writes that set the machines of existing target groups.
func (d desired) planMachines(o Observed) cloud.Plan {
	diff := &difference{desired: d, observed: o, used: map[string]bool{}}
	for _, wanted := range d.Ports {
		diff.members(diff.newPort(wanted, o.Balancer(), o))
	}
	return diff.plan
}

// restoreLabels restores the labels by which a load balancer is found, and the record of who created it, before all
// other writes. It returns the load balancer in this state.
func (d *difference) restoreLabels(balancer *resource.LoadBalancer) *resource.LoadBalancer {
	if balancer == nil || labelledFor(balancer.Labels, d.desired.labels) {
		return balancer
	}
	relabelled := *balancer
	relabelled.Labels = withLabels(balancer.Labels, d.desired.labels)
	record := lastAppliedOf(balancer.Annotations)
	record.created = d.desired.created
	relabelled.Annotations = record.mergedInto(balancer.Annotations)
	d.add(cloud.Update, kindBalancer, balancer.Name, "it lost labels of the Service and gets them again",
		UpdateLoadBalancer{From: *balancer, To: relabelled, Look: true})
	return &relabelled
}

// missingLabels is why an object is labelled again.
const missingLabels = "labels of the Service are missing"

// restoreGroupLabels restores labels of target groups and security groups before their load balancer is deleted: only
// by it they are recognised without them.
func (d *difference) restoreGroupLabels(o Observed) {
	const why = "it lost labels of the Service, which is being removed"
	for _, from := range o.Groups {
		if !labelledFor(from.Labels, d.desired.labels) { // or it is the previous Service's
			d.add(cloud.Update, kindGroup, from.Name, why, d.labelled(from))
		}
	}
	for _, from := range o.SecurityGroups {
		if to := from; !from.Deleting() && !labelledFor(from.Labels, d.desired.labels) {
			to.Labels = withLabels(from.Labels, d.desired.labels)
			d.add(cloud.Update, kindSecurityGroup, from.Name, why, UpdateSecurityGroup{From: from, To: to,
				MayBeRefused: true, LeavesIfRefused: refusedText(kindSecurityGroup, from.Name, from.ID)})
		}
	}
}

// labelled returns the update that gives a target group the Service's labels. If the cloud refuses it, the group stays
// after what leads to it is deleted.
func (d *difference) labelled(from resource.TargetGroup) UpdateTargetGroup {
	to := from
	to.Labels = withLabels(from.Labels, d.desired.labels)
	return UpdateTargetGroup{From: from, To: to, MayBeRefused: true,
		LeavesIfRefused: refusedText(kindGroup, from.Name, from.ID)}
}

// refusedText describes an object that stays in the cloud because it could not be labelled.
func refusedText(kind, name, id string) string {
	return fmt.Sprintf("%s %s (%s) remains in the cloud: it lost labels of this Service, and the cloud refused to set "+
		"them again. Delete it there.", sentence(kind), name, id)
}

// remainsText describes an object that stays in the cloud because a load balancer of others uses it. If the cloud
// refuses to remove the Service's labels, garbage collection finds it as an orphan.
func remainsText(kind, name, id string, user resource.LoadBalancer) string {
	return fmt.Sprintf("%s %s (%s) remains in the cloud, because load balancer %s (%s) uses it. "+
		"If they are not needed, delete both there.", sentence(kind), name, id, user.Name, user.ID)
}

// releaseGroup removes the Service's labels from a target group, which stays in the cloud. If leaves is not empty, the
// cloud may refuse it.
func (d *difference) releaseGroup(from resource.TargetGroup, why, leaves string) {
	to := from
	to.Labels, to.Annotations = unmanagedLabels(from.Labels), withoutRecord(from.Annotations)
	d.add(cloud.Update, kindGroup, from.Name, why,
		UpdateTargetGroup{From: from, To: to, MayBeRefused: leaves != ""}).Leaves = leaves
}

// releaseSecurityGroup is releaseGroup for a security group. If it may be unused, deletion is tried first.
func (d *difference) releaseSecurityGroup(from resource.SecurityGroup, why, leaves string, unused bool) {
	to := from
	to.Labels, to.Annotations = unmanagedLabels(from.Labels), withoutRecord(from.Annotations)
	d.add(cloud.Update, kindSecurityGroup, from.Name, why,
		UpdateSecurityGroup{From: from, To: to, DeleteUnused: unused, MayBeRefused: leaves != ""}).Leaves = leaves
}
