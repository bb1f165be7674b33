package balancer

import (
	"maps"
	"slices"

	"github.com/thalassa-cloud/thalassa-ccm/src/annotation"
	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// Settings in the last-applied record of a load balancer.
const (
	settingLabels     = "labels"
	settingSubnet     = "subnet"
	settingGroups     = "security-groups"
	settingReservedIP = "reserved-ip"
	settingProtection = "delete-protection"
	// settingRetain: the load balancer is retained when its Service is deleted.
	settingRetain = "on-delete"
	// settingInternal: the load balancer was created as an internal one.
	settingInternal = "internal"
	// askedByService is the value of settingInternal if the Service asked for it, instead of the cluster's default.
	askedByService = "service"
	// settingOwnGroup: a security group of the Service exists, or existed recently.
	settingOwnGroup = "create-security-group"
	// settingAdopted: the load balancer keeps its values until the Service asks for others.
	settingAdopted = "adopted"
)

// balancerUpdate is a load balancer and its record while its desired state is computed.
type balancerUpdate struct {
	resource.LoadBalancer
	record lastApplied
}

// newBalancer returns the load balancer to create; the plan adds its listeners and its security group.
func (d *difference) newBalancer() resource.NewLoadBalancer {
	want := d.desired
	to := balancerUpdate{LoadBalancer: resource.LoadBalancer{
		Name: want.balancerName(""), Description: descriptionOf(want.Owner),
		Labels: maps.Clone(want.labels), Subnet: want.subnet.Value,
	}, record: lastApplied{created: true}}
	if want.subnet.Given {
		to.record = to.record.with(settingSubnet)
	}
	switch {
	case want.internal.Value && want.internal.Given:
		to.record = to.record.with(settingInternal, askedByService)
	case want.internal.Value:
		to.record = to.record.with(settingInternal)
	}
	to.set(want, d.managed.identity())
	to.InstanceSize = want.annotations.instanceSize.From(want.values).Value
	to.Annotations = to.record.mergedInto(nil)
	return resource.NewLoadBalancer{LoadBalancer: to.LoadBalancer, Internal: want.internal.Value}
}

// attachGroups attaches missing security groups to an existing load balancer before its listeners are changed, so that
// no port is open to more sources than before or after. It returns the load balancer in this state.
func (d *difference) attachGroups(from resource.LoadBalancer) resource.LoadBalancer {
	to := d.withGroups(from)
	if slices.Equal(sorted(slices.Clone(from.SecurityGroups)), to.SecurityGroups) {
		return from
	}
	d.add(cloud.Update, kindBalancer, from.Name, "it gets the security groups of the Service",
		UpdateLoadBalancer{From: from, To: to, Look: true})
	return to
}

// withGroups returns an existing load balancer with all its present and desired security groups.
func (d *difference) withGroups(from resource.LoadBalancer) resource.LoadBalancer {
	to, before := balancerUpdate{LoadBalancer: from, record: lastAppliedOf(from.Annotations)},
		lastAppliedOf(from.Annotations).applied[settingGroups]
	to.setSecurityGroups(d.desired, d.managed.identity())
	for _, group := range from.SecurityGroups {
		if slices.Contains(to.SecurityGroups, group) {
			continue
		}
		to.SecurityGroups = append(to.SecurityGroups, group)
		if slices.Contains(before, group) {
			to.record = to.record.with(settingGroups, append(to.record.applied[settingGroups], group)...)
		}
	}
	slices.Sort(to.SecurityGroups)
	to.Annotations = to.record.mergedInto(from.Annotations)
	return to.LoadBalancer
}

// updateBalancer adds all other changes of an existing load balancer, after its listeners: if the cloud refuses these
// changes, ports are closed nevertheless. Security groups are detached only now.
func (d *difference) updateBalancer(from, attached resource.LoadBalancer) {
	to := d.desiredBalancer(attached)
	if c := d.balancerChanges(attached, to); len(c) > 0 {
		d.add(cloud.Update, kindBalancer, from.Name, c.String(),
			UpdateLoadBalancer{From: attached, To: to.LoadBalancer, Look: true})
	}
}

// desiredBalancer returns the desired load balancer. Values that this program does not set stay.
func (d *difference) desiredBalancer(from resource.LoadBalancer) balancerUpdate {
	want := d.desired
	to := balancerUpdate{LoadBalancer: from, record: lastAppliedOf(from.Annotations)}
	to.Name = want.balancerName(from.Name)
	to.setSubnet(want)
	to.set(want, d.managed.identity())
	size := want.annotations.instanceSize.From(want.values)
	if !size.Invalid && size.Value != "" {
		to.InstanceSize = size.Value
	}
	to.Annotations = to.record.mergedInto(from.Annotations)
	return to
}

// balancerChanges describes what differs. A change of the record alone is no reason to write, except the deletion
// policy: it must be known after the Service is deleted.
func (d *difference) balancerChanges(from resource.LoadBalancer, to balancerUpdate) changes {
	var c changes
	addChange(&c, "name", from.Name, to.Name)
	addChange(&c, "subnet", from.Subnet, to.Subnet)
	addChange(&c, "security groups", listText(sorted(slices.Clone(from.SecurityGroups))), listText(to.SecurityGroups))
	addChange(&c, "reserved IP", orNone(from.ReservedIP), orNone(to.ReservedIP))
	addChange(&c, "delete protection", from.DeleteProtection, to.DeleteProtection)
	addChange(&c, "on-delete:", lastAppliedOf(from.Annotations).onDelete(), to.record.onDelete())
	addRecordChanges(&c, from.Annotations, to.Annotations)
	addChange(&c, "instance size", orNone(from.InstanceSize), orNone(to.InstanceSize))
	if !maps.Equal(from.Labels, to.Labels) {
		c = append(c, "its labels differ")
	}
	return c
}

// balancerName returns the name that the Service asks for. Otherwise a load balancer that this program created has the
// default name, and another one keeps its name.
func (d desired) balancerName(observed string) string {
	asked := d.annotations.name.From(d.values)
	switch {
	case asked.Given && !asked.Invalid:
		return asked.Value
	case observed == "" || d.created && !asked.Invalid:
		return d.name
	}
	return observed
}

// set sets what new and existing load balancers have in common, given the identity of the Service's security group.
func (u *balancerUpdate) set(d desired, managed string) {
	u.setLabels(d)
	u.setProtection(d)
	u.setDeletionPolicy(d)
	u.setReservedIP(d)
	u.setSecurityGroups(d, managed)
}

// setLabels adds the labels that the Service asks for, and removes those that it asked for before.
func (u *balancerUpdate) setLabels(d desired) {
	asked := d.annotations.labels.From(d.values)
	labels := withLabels(u.Labels, d.labels)
	ours := u.record.applied[settingLabels]
	if asked.Invalid {
		for _, key := range ours {
			if value, present := u.Labels[key]; present {
				labels[key] = value
			}
		}
		u.Labels = labels
		return
	}
	var put []string
	for _, key := range ours {
		if _, still := asked.Value[key]; still {
			put = append(put, key)
		} else if _, every := d.labels[key]; !every {
			delete(labels, key)
		}
	}
	for key, value := range asked.Value {
		if u.Labels[key] != value && !slices.Contains(put, key) {
			put = append(put, key)
		}
		labels[key] = value
	}
	u.Labels = labels
	u.recordValues(settingLabels, put)
}

// recordValues records the values that this program set.
func (u *balancerUpdate) recordValues(setting string, values []string) {
	if len(values) == 0 {
		u.record = u.record.without(setting)
		return
	}
	u.record = u.record.with(setting, values...)
}

// setSubnet sets the subnet that the Service asks for, or that of the cluster if the Service does not ask for one any
// more.
func (u *balancerUpdate) setSubnet(d desired) {
	switch asked := d.subnet; {
	case asked.Invalid || asked.Value == "":
	case asked.Given && u.Subnet != asked.Value:
		u.Subnet, u.record = asked.Value, u.record.with(settingSubnet)
	case !asked.Given && u.record.has(settingSubnet):
		u.Subnet, u.record = asked.Value, u.record.without(settingSubnet)
	}
}

// setProtection sets the protection from deletion. A protection that was switched on in the cloud stays.
func (u *balancerUpdate) setProtection(d desired) {
	switch asked := d.annotations.deleteProtection.From(d.values); {
	case asked.Invalid:
	case asked.Asked() && asked.Value:
		if !u.DeleteProtection {
			u.record = u.record.with(settingProtection)
		}
		u.DeleteProtection = true
	case asked.Given || u.record.has(settingProtection):
		u.DeleteProtection, u.record = asked.Value, u.record.without(settingProtection)
	}
}

// setDeletionPolicy records the deletion policy, which has to be known when the Service does not exist any more.
func (u *balancerUpdate) setDeletionPolicy(d desired) {
	switch asked := d.annotations.onDelete.From(d.values); {
	case asked.Invalid:
	case asked.Value == onDeleteKeep:
		u.record = u.record.with(settingRetain)
	default:
		u.record = u.record.without(settingRetain)
	}
}

// setReservedIP attaches the reserved IP that the Service asks for, and detaches the one that it asked for before. A
// reserved IP that somebody else attached stays.
func (u *balancerUpdate) setReservedIP(d desired) {
	switch asked := d.reservedIP; {
	case asked.Invalid:
	case asked.Given && u.ReservedIP != asked.Value:
		u.ReservedIP, u.record = asked.Value, u.record.with(settingReservedIP, asked.Value)
	case !asked.Given && u.record.has(settingReservedIP):
		if slices.Contains(u.record.applied[settingReservedIP], u.ReservedIP) {
			u.ReservedIP = ""
		}
		u.record = u.record.without(settingReservedIP)
	}
}

// setSecurityGroups attaches the security groups that the Service asks for and the one that is created for it, and
// detaches those that it does not ask for any more. Security groups that others attached stay.
func (u *balancerUpdate) setSecurityGroups(d desired, managed string) {
	ours := u.record.applied[settingGroups]
	wanted := slices.Clone(d.groups.Value)
	if d.groups.Invalid { // the desired groups are not known, so recorded ones stay
		wanted = slices.DeleteFunc(slices.Clone(ours), func(group string) bool { return group == d.unmanaged })
	}
	if managed != "" {
		wanted = append(wanted, managed)
	}
	stay := slices.DeleteFunc(slices.Clone(u.SecurityGroups), func(group string) bool {
		return slices.Contains(ours, group) || group == d.unmanaged
	})
	var put []string
	for _, group := range wanted {
		if slices.Contains(ours, group) || !slices.Contains(u.SecurityGroups, group) {
			put = append(put, group)
		}
	}
	switch {
	case managed != "":
		u.record = u.record.with(settingOwnGroup)
	case d.unmanaged == "" && !d.groups.Invalid: // otherwise one may exist
		u.record = u.record.without(settingOwnGroup)
	}
	u.SecurityGroups = sorted(append(stay, wanted...))
	u.recordValues(settingGroups, sorted(put))
}

// registerObject adds the annotations about the load balancer as an object in the cloud.
func (a *annotations) registerObject() {
	r := a.registry
	a.name = annotation.Register(r, annotation.Definition{
		Name: nameName, Topic: topicObject, Since: since, Example: "shop", OneService: true,
		Effect: "The name of the load balancer. It is informational: the controller finds a load balancer by its " +
			"labels.",
		Without: "a name made from the Service's UID",
	}, annotation.Word(`[!-~](?:[ -~]{0,60}[!-~])?`, "a name of 1 to 62 printable ASCII characters"), "")
	a.labels = annotation.Register(r, annotation.Definition{
		Name: "labels", Topic: topicObject, Since: since, Example: "team=shop,stage=production",
		Effect: "Labels of the load balancer, in addition to those of the cloud-config and those that the controller " +
			"sets. A label that this annotation added " +
			"is deleted when the annotation no longer contains it.",
		Without: "none",
	}, annotation.Pairs(label.Reserved), nil)
	a.instanceSize = annotation.Register(r, annotation.Definition{
		Name: "instance-size", Topic: topicObject, Since: since, Example: "lb-gp-large",
		Effect: "The size of the load balancer, as the cloud names it. When the annotation is removed, the load " +
			"balancer keeps its size, because the API cannot restore the default.",
		Without: "the cloud's default size",
	}, identityWord("a size of load balancers"), "")
	a.deleteProtection = annotation.Register(r, annotation.Definition{
		Name: "delete-protection", Topic: topicObject, Since: since, Example: "true",
		Effect: "Makes the cloud refuse every deletion of the load balancer. A Service that is deleted waits until " +
			"the protection is removed.",
	}, annotation.Bool(), false)
	a.onDelete = annotation.Register(r, annotation.Definition{
		Name: "on-delete", Topic: topicObject, Since: since, Example: onDeleteKeep,
		Effect: "What happens to the load balancer when the Service is deleted, or is no longer of type " +
			"LoadBalancer. delete deletes it and " +
			"everything that was created for it. keep leaves it unchanged, with its address, so that it can be " +
			"adopted.",
	}, annotation.Enum(onDeleteDelete, onDeleteKeep), onDeleteDelete)
	a.adopt = annotation.Register(r, annotation.Definition{
		Name: "adopt", Topic: topicObject, Since: since, Example: "lb-0123456789", OneService: true,
		Effect: "Takes over an existing load balancer instead of creating one. The load balancer must permit it with " +
			"the annotation " +
			annotationAdoptable + "=<cluster>/<namespace>/<name> in the cloud.",
		Without: "a load balancer is created",
	}, identityWord("the identity of a load balancer in the cluster's VPC"), "")
}
