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

// restoreLabels restores the labels by which a load balancer is found, before all other writes. It returns the load
// balancer in this state.
func (d *difference) restoreLabels(balancer *resource.LoadBalancer) *resource.LoadBalancer {
	if balancer == nil || labelledFor(balancer.Labels, d.desired.labels) {
		return balancer
	}
	relabelled := d.relabelled(*balancer)
	d.add(cloud.Update, kindBalancer, balancer.Name, "it lost labels of the Service and gets them again",
		UpdateLoadBalancer{From: *balancer, To: relabelled, Look: true})
	return &relabelled
}

// relabelled returns a load balancer with the labels of the Service, and with the record of who created it.
func (d *difference) relabelled(balancer resource.LoadBalancer) resource.LoadBalancer {
	balancer.Labels = withLabels(balancer.Labels, d.desired.labels)
	record := lastAppliedOf(balancer.Annotations)
	record.created = d.desired.created
	balancer.Annotations = record.mergedInto(balancer.Annotations)
	return balancer
}

// restoreGroupLabels restores labels of security groups before their load balancer is deleted. This is for groups that
// have the existing CCM's name and lack the Service's UID: without the load balancer, nothing proves that they belong
// to the Service. If the cloud refuses the labels, the group stays and is reported.
func (d *difference) restoreGroupLabels(o Observed) {
	for _, from := range o.SecurityGroups {
		if from.Deleting() || from.Name == groupName(d.desired.labels[label.ServiceUID]) ||
			from.Labels[label.ServiceUID] != "" {
			continue
		}
		to := from
		to.Labels = withLabels(from.Labels, d.desired.labels)
		const why = "it lost labels of the Service, which is being removed"
		d.add(cloud.Update, kindSecurityGroup, from.Name, why,
			UpdateSecurityGroup{From: from, To: to, MayBeRefused: true})
	}
}

// claimGroups labels the target groups that an adopted load balancer brought along and that the Service does not need,
// before what leads to them is deleted: after that, nothing would prove that they belong to the Service.
func (d *difference) claimGroups(o Observed) {
	for _, from := range o.Groups {
		if d.used[from.ID] || !d.unclaimed(from) {
			continue
		}
		to := from
		to.Labels = withLabels(from.Labels, d.desired.labels)
		d.add(cloud.Update, kindGroup, from.Name, "it is adopted", UpdateTargetGroup{From: from, To: to})
	}
}

// unclaimed reports whether an adopted load balancer brought the target group along, and it has no labels of the
// Service yet.
func (d *difference) unclaimed(group resource.TargetGroup) bool {
	return d.desired.adopted && group.Labels[label.ServiceUID] == ""
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
	d.plan = append(d.plan, cloud.Operation{
		Verb: cloud.Update, Kind: kindGroup, Name: from.Name, Why: why, Leaves: leaves,
		Object: UpdateTargetGroup{From: from, To: to, MayBeRefused: leaves != ""},
	})
}

// releaseSecurityGroup is releaseGroup for a security group. If it may be unused, deletion is tried first.
func (d *difference) releaseSecurityGroup(from resource.SecurityGroup, why, leaves string, unused bool) {
	to := from
	to.Labels, to.Annotations = unmanagedLabels(from.Labels), withoutRecord(from.Annotations)
	d.plan = append(d.plan, cloud.Operation{
		Verb: cloud.Update, Kind: kindSecurityGroup, Name: from.Name, Why: why, Leaves: leaves,
		Object: UpdateSecurityGroup{From: from, To: to, DeleteUnused: unused, MayBeRefused: leaves != ""},
	})
}
