package thalassa

import (
	"fmt"
	"slices"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/inventory"
)

// Kinds of objects in plans.
const (
	kindBalancer = "load balancer"
	kindListener = "listener"
	kindGroup    = "target group"
)

// desired is what a Service should have in this cloud.
type desired struct {
	cloud.Desired
	settings
	references
	name   string // of a load balancer whose Service does not say
	labels inventory.Labels
	// created says that the load balancer is ours from the beginning, or is to be made: what differs from the existing
	// CCM's defaults holds only then. free says that it was adopted, and keeps what it has until the Service asks for
	// something else.
	created, free bool
	// former says that the Service is gone, and that nothing is known of it but its name.
	former    bool
	unmanaged string   // identity of the Service's security group when it is not to have one any more
	closed    []string // why no port is opened that is not open yet
}

// observed is what it has: everything in the inventory that carries the Service's UID.
type observed struct {
	balancers      []inventory.LoadBalancer // oldest first; more than one only after something went wrong
	groups         []inventory.TargetGroup
	securityGroups []inventory.SecurityGroup
	// like is what may be the Service's without its labels.
	like recognition
	// unproven are security groups that may be the Service's and lack labels.
	unproven []inventory.SecurityGroup
	// unread is why the security groups are not known; nil: they are, or none is needed.
	unread error
}

// balancer is the load balancer that counts, nil when there is none.
func (o observed) balancer() *inventory.LoadBalancer {
	if len(o.balancers) == 0 {
		return nil
	}
	return &o.balancers[0]
}

// complete says that the security groups are known.
func (o observed) complete() bool { return o.unread == nil }

// securityGroup is the one that was made for the Service, nil when there is none that stays.
func (o observed) securityGroup() *inventory.SecurityGroup {
	for i := range o.securityGroups {
		if !o.securityGroups[i].Deleting() {
			return &o.securityGroups[i]
		}
	}
	return nil
}

// listener is the one on a port, nil when there is none.
func (o observed) listener(key cloud.Key) *inventory.Listener {
	if len(o.balancers) == 0 {
		return nil
	}
	return listenerOf(o.balancers[0], key)
}

func (o observed) hasGroup(id string) bool {
	return slices.ContainsFunc(o.groups, func(g inventory.TargetGroup) bool { return g.ID == id })
}

func (o observed) hasBalancer(id string) bool {
	return slices.ContainsFunc(o.balancers, func(lb inventory.LoadBalancer) bool { return lb.ID == id })
}

// String names everything, with the load balancers' status.
func (o observed) String() string {
	var names []string
	for _, balancer := range o.balancers {
		names = append(names, fmt.Sprintf("load balancer %s (status %q)", balancer.Name, balancer.Status))
	}
	for _, group := range o.groups {
		names = append(names, kindGroup+" "+group.Name)
	}
	for _, group := range o.securityGroups {
		names = append(names, kindSecurityGroup+" "+group.Name)
	}
	return strings.Join(names, ", ")
}

// empty says that nothing of the Service is left in the cloud.
func (o observed) empty() bool {
	return len(o.balancers) == 0 && len(o.groups) == 0 && len(o.securityGroups) == 0
}

// group returns the port's target group: the one its listener uses, unless that is another port's, else one with the
// port's labels.
func (o observed) group(labels inventory.Labels, listener *inventory.Listener) *inventory.TargetGroup {
	for i := range o.groups {
		group := &o.groups[i]
		another := group.Labels[labelPort] != "" && (group.Labels[labelPort] != labels[labelPort] ||
			group.Labels[labelProtocol] != labels[labelProtocol])
		if listener != nil && group.ID == listener.TargetGroup && !another {
			return group
		}
	}
	for i := range o.groups {
		if o.groups[i].Labels[labelPort] == labels[labelPort] &&
			o.groups[i].Labels[labelProtocol] == labels[labelProtocol] {
			return &o.groups[i]
		}
	}
	return nil
}

// planner turns the difference between desired and observed into writes.
type planner struct {
	inventory *inventory.Inventory
	removals  *removals
}

// difference is one plan being made.
type difference struct {
	planner
	desired desired
	managed *managedGroup
	nodes   nodeRules
	plan    cloud.Plan
	used    map[string]bool // identities of the listeners and target groups that stay
}

// plan returns the writes that make observed what is desired, in an order in which a crash after any of them leaves
// nothing that the next plan does not find: what lets traffic through before what sends it, groups before listeners,
// additions before removals. Which machines get traffic comes first of all: whatever the cloud refuses afterwards, dead
// ones are replaced.
//
// Listeners of a load balancer that does not exist yet are either part of its creation or the matter of the next plan.
func (p planner) plan(d desired, o observed, managed *managedGroup) cloud.Plan {
	diff := &difference{planner: p, desired: d, managed: managed, nodes: p.newNodeRules(d, o), used: map[string]bool{}}
	balancer := o.balancer()
	ports := make([]*port, 0, len(d.Ports))
	for _, wanted := range d.Ports {
		ports = append(ports, diff.newPort(wanted, balancer, o))
	}
	for _, port := range ports {
		diff.members(port)
	}
	balancer = diff.restoreLabels(balancer)
	diff.securityGroup()
	diff.openNodePorts()
	for _, port := range ports {
		diff.targetGroup(port)
	}
	diff.spare(balancer)
	if balancer == nil {
		diff.createBalancer(ports)
	} else {
		attached := diff.attachGroups(*balancer)
		diff.listeners(*balancer, ports)
		diff.updateBalancer(*balancer, attached)
	}
	diff.surplus(o)
	diff.closeNodePorts()
	return diff.plan
}

// spare keeps what there is of ports that the Service has and that cannot be served as it is now.
func (d *difference) spare(balancer *inventory.LoadBalancer) {
	if balancer == nil {
		return
	}
	for _, key := range d.desired.Unserved {
		if listener := listenerOf(*balancer, key); listener != nil {
			d.used[listener.ID], d.used[listener.TargetGroup] = true, true
		}
	}
}

// port is one port on its way from what it has to what it should have.
type port struct {
	cloud.Port
	settings portSettings
	name     string // of listener and target group
	labels   inventory.Labels
	listener *inventory.Listener    // nil: to be created
	group    *inventory.TargetGroup // nil: to be created
}

// groupID is the identity of the port's target group, or its placeholder.
func (p *port) groupID() string {
	if p.group == nil {
		return placeholder(kindGroup, p.name)
	}
	return p.group.ID
}

func (d *difference) newPort(wanted cloud.Port, balancer *inventory.LoadBalancer, o observed) *port {
	p := &port{Port: wanted, settings: d.desired.ports[wanted.Key], name: portName(d.desired.name, wanted),
		labels: portLabels(d.desired.labels, wanted.Key)}
	if balancer != nil {
		p.listener = listenerOf(*balancer, wanted.Key)
	}
	if p.listener != nil {
		d.used[p.listener.ID] = true
	}
	if p.group = o.group(p.labels, p.listener); p.group != nil && d.used[p.group.ID] {
		p.group = nil // it leads to the node port of another port already
	}
	if p.group != nil {
		d.used[p.group.ID] = true
	}
	return p
}

// listenerOf returns the load balancer's listener for the port, nil if there is none.
func listenerOf(balancer inventory.LoadBalancer, key cloud.Key) *inventory.Listener {
	i := slices.IndexFunc(balancer.Listeners, func(l inventory.Listener) bool {
		return l.Port == int(key.Port) && l.Protocol == protocol(key)
	})
	if i < 0 {
		return nil
	}
	return &balancer.Listeners[i]
}

func (d *difference) add(verb cloud.Verb, kind, name, why string, object any) {
	d.plan = append(d.plan, cloud.Operation{Verb: verb, Kind: kind, Name: name, Why: why, Object: object})
}

// close is add for a write that is made although one before it has failed.
func (d *difference) close(verb cloud.Verb, kind, name, why string, object any) {
	d.add(verb, kind, name, why, object)
	d.plan[len(d.plan)-1].Closes = true
}

// createBalancer adds the creation of the load balancer with all its listeners.
func (d *difference) createBalancer(ports []*port) {
	create := d.newBalancer()
	for _, port := range ports {
		create.Listeners = append(create.Listeners, d.newListener(port))
	}
	d.add(cloud.Create, kindBalancer, create.Name, "", CreateLoadBalancer{create})
}

// surplus adds the removal of what belongs to the Service but is not needed any more: listeners first, because the
// cloud keeps a target group as long as a listener uses it.
func (d *difference) surplus(o observed) {
	if len(o.balancers) > 0 {
		d.surplusListeners(o.balancers[0])
		for _, younger := range o.balancers[1:] {
			d.deleteBalancer(younger, "the Service has an older one")
		}
	}
	for _, group := range o.groups {
		if !d.used[group.ID] {
			d.deleteGroup(group, d.whySurplus(group))
		}
	}
	d.surplusSecurityGroups(o)
}

// whySurplus says why a target group goes.
func (d *difference) whySurplus(group inventory.TargetGroup) string {
	for _, wanted := range d.desired.Ports {
		labels := portLabels(d.desired.labels, wanted.Key)
		if group.Labels[labelPort] == labels[labelPort] && group.Labels[labelProtocol] == labels[labelProtocol] {
			return "port " + wanted.Key.String() + " has another target group, and nothing uses this one"
		}
	}
	return "the Service has no such port"
}

func (d *difference) surplusListeners(balancer inventory.LoadBalancer) {
	for _, listener := range balancer.Listeners {
		if d.used[listener.ID] {
			continue
		}
		if !d.desired.owns(listener) {
			d.used[listener.TargetGroup] = true
			continue
		}
		d.close(cloud.Delete, kindListener, listener.Name, "the Service has no such port",
			DeleteListener{balancer.ID, listener.ID})
	}
}

// owns says whether a listener is there because of this program. One that somebody else added has none of its labels
// and stays; one of a Service that gave the load balancer up goes, and so does one that lost its labels, by its name.
func (d desired) owns(listener inventory.Listener) bool {
	of := listener.Labels
	return of[labelUID] == d.labels[labelUID] || of[labelManaged] == "true" &&
		of[labelCluster] == d.labels[labelCluster] ||
		contradiction(of, d.labels) == "" && strings.HasPrefix(listener.Name, d.name+"-")
}

// deleteBalancer adds the deletion of a load balancer, unless it is under way, with what would refuse it switched off
// before.
func (d *difference) deleteBalancer(balancer inventory.LoadBalancer, why string) {
	if balancer.Deleting() {
		return
	}
	d.unprotect(balancer)
	d.add(cloud.Delete, kindBalancer, balancer.Name, why, DeleteLoadBalancer{balancer})
}

// deletion returns the writes that are possible now to remove everything: load balancers first, which stops the
// traffic, then what only they could use. It is empty while the cloud is still busy.
func (p planner) deletion(d desired, o observed) cloud.Plan {
	diff := &difference{planner: p, desired: d, nodes: noNodeRules(d)}
	none := func(inventory.LoadBalancer) bool { return false }
	if slices.ContainsFunc(o.balancers, func(balancer inventory.LoadBalancer) bool { return !balancer.Deleting() }) {
		diff.restoreGroupLabels(o)
	}
	for _, balancer := range o.balancers {
		diff.deleteBalancer(balancer, "")
	}
	if len(o.balancers) > 0 {
		return diff.plan
	}
	for _, group := range o.groups {
		if user, used := p.inventory.UserOf(group.ID, none); used {
			leaves := leavesText(kindGroup, group.Name, group.ID, user)
			diff.leaveGroup(group, "load balancer "+user.ID+" uses it", leaves)
			continue
		}
		diff.deleteGroup(group, "")
	}
	for _, group := range o.securityGroups {
		if user, used := p.inventory.UserOf(group.ID, none); used {
			leaves := leavesText(kindSecurityGroup, group.Name, group.ID, user)
			diff.leaveSecurityGroup(group, "load balancer "+user.ID+" uses it", leaves)
			continue
		}
		diff.deleteSecurityGroup(group, "")
	}
	diff.closeNodePorts()
	return diff.plan
}

func (d *difference) deleteGroup(group inventory.TargetGroup, why string) {
	d.add(cloud.Delete, kindGroup, group.Name, why, DeleteTargetGroup{group.ID})
}

// changes collects what differs, in words.
type changes []string

// note adds a line when from and to differ.
func note[T comparable](c *changes, what string, from, to T) {
	if from != to {
		*c = append(*c, fmt.Sprintf("%s %v becomes %v", what, from, to))
	}
}

func (c changes) String() string { return strings.Join(c, ", ") }
