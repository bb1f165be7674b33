package thalassa

import (
	"maps"
	"slices"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/inventory"
)

// Settings of a load balancer that it remembers to have from us, see traces.
const (
	settingLabels     = "labels"
	settingSubnet     = "subnet"
	settingGroups     = "security-groups"
	settingReservedIP = "reserved-ip"
	settingProtection = "delete-protection"
	// settingKeep is on a load balancer that is to outlive its Service.
	settingKeep = "on-delete"
	// settingInternal is on a load balancer that was made as an internal one.
	settingInternal = "internal"
	// askedByService is its value when that was not the cluster's default.
	askedByService = "service"
	// settingOwnGroup says that there is, or was a moment ago, a security group that was made for the Service.
	settingOwnGroup = "create-security-group"
	// settingAdopted marks a load balancer whose values are its own until the Service asks for others.
	settingAdopted = "adopted"
)

// aimed is a load balancer on its way to what it should be.
type aimed struct {
	inventory.LoadBalancer
	traces traces
}

// newBalancer is the load balancer that a Service gets; its listeners and the security group we manage are added by the
// plan.
func (d *difference) newBalancer() inventory.NewLoadBalancer {
	want := d.desired
	to := aimed{LoadBalancer: inventory.LoadBalancer{
		Name: want.balancerName(""), Description: descriptionOf(want.Owner),
		Labels: maps.Clone(want.labels), Subnet: want.subnet.Value,
	}, traces: traces{created: true}}
	if want.subnet.Given {
		to.traces = to.traces.with(settingSubnet)
	}
	switch {
	case want.internal.Value && want.internal.Given:
		to.traces = to.traces.with(settingInternal, askedByService)
	case want.internal.Value:
		to.traces = to.traces.with(settingInternal)
	}
	to.aimLabels(want)
	to.aimProtection(want)
	to.aimKeep(want)
	to.aimReservedIP(want)
	to.aimGroups(want, d.managed.identity())
	to.InstanceSize = want.annotations.instanceSize.From(want.values).Value
	to.Annotations = to.traces.over(nil)
	return inventory.NewLoadBalancer{LoadBalancer: to.LoadBalancer, Internal: want.internal.Value}
}

// attachGroups adds the security groups that an existing load balancer lacks, before its listeners are changed: no port
// is open to more than before and after. It returns the load balancer as it is then.
func (d *difference) attachGroups(from inventory.LoadBalancer) inventory.LoadBalancer {
	to := d.withGroups(from)
	if slices.Equal(sorted(slices.Clone(from.SecurityGroups)), to.SecurityGroups) {
		return from
	}
	d.add(cloud.Update, kindBalancer, from.Name, "it gets the security groups of the Service",
		UpdateLoadBalancer{From: from, To: to, Look: true})
	return to
}

// withGroups is an existing load balancer with all security groups that it has or is to have.
func (d *difference) withGroups(from inventory.LoadBalancer) inventory.LoadBalancer {
	to, before := aimed{LoadBalancer: from, traces: tracesOf(from.Annotations)},
		tracesOf(from.Annotations).applied[settingGroups]
	to.aimGroups(d.desired, d.managed.identity())
	for _, group := range from.SecurityGroups {
		if slices.Contains(to.SecurityGroups, group) {
			continue
		}
		to.SecurityGroups = append(to.SecurityGroups, group)
		if slices.Contains(before, group) {
			to.traces = to.traces.with(settingGroups, append(to.traces.applied[settingGroups], group)...)
		}
	}
	slices.Sort(to.SecurityGroups)
	to.Annotations = to.traces.over(from.Annotations)
	return to.LoadBalancer
}

// updateBalancer adds everything else that an existing load balancer needs, after its listeners: what the cloud refuses
// of it must not keep a port from being closed. Only now security groups are taken off.
func (d *difference) updateBalancer(from, attached inventory.LoadBalancer) {
	before := d.withGroups(from)
	if c := d.balancerChanges(before, d.aimBalancer(before)); len(c) > 0 {
		to := d.aimBalancer(attached).LoadBalancer
		d.add(cloud.Update, kindBalancer, from.Name, c.String(), UpdateLoadBalancer{From: attached, To: to, Look: true})
	}
}

// aimBalancer is the load balancer as it should be: what we decide about over everything else that it has.
func (d *difference) aimBalancer(from inventory.LoadBalancer) aimed {
	want := d.desired
	to := aimed{LoadBalancer: from, traces: tracesOf(from.Annotations)}
	to.Name = want.balancerName(from.Name)
	to.aimLabels(want)
	to.aimSubnet(want)
	to.aimProtection(want)
	to.aimKeep(want)
	to.aimReservedIP(want)
	to.aimGroups(want, d.managed.identity())
	size := want.annotations.instanceSize.From(want.values)
	if !size.Invalid && size.Value != "" {
		to.InstanceSize = size.Value
	}
	to.Annotations = to.traces.over(from.Annotations)
	return to
}

// balancerChanges is what differs, in words. What it remembers alone is no reason to write, unless nobody else knows it
// once its Service is gone.
func (d *difference) balancerChanges(from inventory.LoadBalancer, to aimed) changes {
	var c changes
	note(&c, "name", from.Name, to.Name)
	note(&c, "subnet", from.Subnet, to.Subnet)
	note(&c, "security groups", listText(sorted(slices.Clone(from.SecurityGroups))), listText(to.SecurityGroups))
	note(&c, "reserved IP", nothing(from.ReservedIP), nothing(to.ReservedIP))
	note(&c, "delete protection", from.DeleteProtection, to.DeleteProtection)
	note(&c, "kept when its Service is deleted", tracesOf(from.Annotations).has(settingKeep),
		to.traces.has(settingKeep))
	noteMemory(&c, from.Annotations, to.Annotations, d.desired.free)
	note(&c, "instance size", nothing(from.InstanceSize), nothing(to.InstanceSize))
	if !maps.Equal(from.Labels, to.Labels) {
		c = append(c, "its labels differ")
	}
	return c
}

// balancerName is what a load balancer is called: as the Service asks, else as every other one when it is ours, else as
// it is.
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

// aimLabels adds the labels that the Service asks for to those that everything of it has, and takes away those that it
// asked for before.
func (a *aimed) aimLabels(d desired) {
	asked := d.annotations.labels.From(d.values)
	labels := withLabels(a.Labels, d.labels)
	ours := a.traces.applied[settingLabels]
	if asked.Invalid {
		for _, key := range ours {
			if value, present := a.Labels[key]; present {
				labels[key] = value
			}
		}
		a.Labels = labels
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
		if a.Labels[key] != value && !slices.Contains(put, key) {
			put = append(put, key)
		}
		labels[key] = value
	}
	a.Labels = labels
	a.remember(settingLabels, put)
}

// remember notes the values that we put there; none is forgotten.
func (a *aimed) remember(setting string, values []string) {
	if len(values) == 0 {
		a.traces = a.traces.without(setting)
		return
	}
	a.traces = a.traces.with(setting, values...)
}

// aimSubnet moves the load balancer to the subnet that the Service asks for, and back to the cluster's when it no
// longer does.
func (a *aimed) aimSubnet(d desired) {
	switch asked := d.subnet; {
	case asked.Invalid || asked.Value == "":
	case asked.Given && a.Subnet != asked.Value:
		a.Subnet, a.traces = asked.Value, a.traces.with(settingSubnet)
	case !asked.Given && a.traces.has(settingSubnet):
		a.Subnet, a.traces = asked.Value, a.traces.without(settingSubnet)
	}
}

// aimProtection switches the protection from deletion. One that somebody switched on in the cloud stays.
func (a *aimed) aimProtection(d desired) {
	switch asked := d.annotations.deleteProtection.From(d.values); {
	case asked.Invalid:
	case asked.Asked() && asked.Value:
		if !a.DeleteProtection {
			a.traces = a.traces.with(settingProtection)
		}
		a.DeleteProtection = true
	case asked.Given || a.traces.has(settingProtection):
		a.DeleteProtection, a.traces = asked.Value, a.traces.without(settingProtection)
	}
}

// aimKeep makes the load balancer remember that it is to outlive its Service, for when that is gone and cannot be
// asked.
func (a *aimed) aimKeep(d desired) {
	switch asked := d.annotations.onDelete.From(d.values); {
	case asked.Invalid:
	case asked.Value == onDeleteKeep:
		a.traces = a.traces.with(settingKeep)
	default:
		a.traces = a.traces.without(settingKeep)
	}
}

// aimReservedIP attaches the reserved IP that the Service asks for, and detaches the one that it asked for before. One
// that somebody else attached stays.
func (a *aimed) aimReservedIP(d desired) {
	switch asked := d.reservedIP; {
	case asked.Invalid:
	case asked.Given && a.ReservedIP != asked.Value:
		a.ReservedIP, a.traces = asked.Value, a.traces.with(settingReservedIP, asked.Value)
	case !asked.Given && a.traces.has(settingReservedIP):
		if slices.Contains(a.traces.applied[settingReservedIP], a.ReservedIP) {
			a.ReservedIP = ""
		}
		a.traces = a.traces.without(settingReservedIP)
	}
}

// aimGroups attaches the security groups that the Service asks for and the one that is made for it, and detaches those
// of them that are not asked for any more. Those that others attached stay.
func (a *aimed) aimGroups(d desired, managed string) {
	ours := a.traces.applied[settingGroups]
	wanted := slices.Clone(d.groups.Value)
	if d.groups.Invalid { // which ones is not known: those from us stay
		wanted = slices.DeleteFunc(slices.Clone(ours), func(group string) bool { return group == d.unmanaged })
	}
	if managed != "" {
		wanted = append(wanted, managed)
	}
	stay := slices.DeleteFunc(slices.Clone(a.SecurityGroups), func(group string) bool {
		return slices.Contains(ours, group) || group == d.unmanaged
	})
	var put []string
	for _, group := range wanted {
		if slices.Contains(ours, group) || !slices.Contains(a.SecurityGroups, group) {
			put = append(put, group)
		}
	}
	switch {
	case managed != "":
		a.traces = a.traces.with(settingOwnGroup)
	case d.unmanaged == "" && !d.groups.Invalid: // else there may be one
		a.traces = a.traces.without(settingOwnGroup)
	}
	a.SecurityGroups = sorted(append(stay, wanted...))
	a.remember(settingGroups, sorted(put))
}
