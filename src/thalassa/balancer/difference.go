package balancer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// Kinds of objects in plans.
const (
	kindBalancer = "load balancer"
	kindListener = "listener"
	kindGroup    = "target group"
)

// desired is the desired state of a Service in this cloud.
type desired struct {
	cloud.Desired
	settings
	resolved
	name   string // of the load balancer if the Service names none
	labels resource.Labels
	// created: this program created the load balancer, or will create it. The cluster's defaults apply only then.
	created bool
	// deleted: the Service does not exist any more, and only its name is known.
	deleted   bool
	unmanaged string   // identity of the Service's security group if it should not have one any more
	blocked   []string // why no further port is opened
	machines  []string // the targets that Service and Nodes decide, whatever those in the cloud are
	// candidates are the machines of which these are some, and limit is how many; 0 means all.
	candidates   Candidates
	limit        int
	limitInvalid bool     // the Service has a limit that cannot be read
	preferred    []string // machines if there is a limit, the preferred ones first
	settled      bool     // targets beyond the limit may leave
	memory       Memory
}

// difference is a plan while it is computed.
type difference struct {
	desired  desired
	observed Observed
	managed  *managedGroup
	plan     cloud.Plan
	used     map[string]bool // identities of the listeners and target groups that stay
}

// plan returns the writes that change the actual state to the desired state. If the program stops after any of them,
// the next plan finds every object: rules are opened before traffic is sent, groups are written before listeners,
// additions before removals. The machines of existing target groups come first, so that they are correct even if the
// cloud refuses a later write.
//
// Listeners of a load balancer that does not exist yet are created with it, or by the next plan.
func (d desired) plan(o Observed, managed *managedGroup) cloud.Plan {
	diff := &difference{desired: d, observed: o, managed: managed, used: map[string]bool{}}
	balancer := o.Balancer()
	ports := make([]*port, 0, len(d.Ports))
	for _, wanted := range d.Ports {
		ports = append(ports, diff.newPort(wanted, balancer, o))
	}
	for _, port := range ports {
		diff.members(port)
	}
	balancer = diff.restoreLabels(balancer)
	diff.securityGroup()
	for _, port := range ports {
		diff.targetGroup(port)
	}
	diff.keepUnserved(balancer)
	if balancer == nil {
		diff.createBalancer(ports)
	} else {
		attached := diff.attachGroups(*balancer)
		diff.listeners(*balancer, ports)
		diff.updateBalancer(*balancer, attached)
	}
	diff.surplus(o)
	return diff.plan
}

// keepUnserved keeps existing objects of ports of the Service that the cloud does not support.
func (d *difference) keepUnserved(balancer *resource.LoadBalancer) {
	if balancer == nil {
		return
	}
	for _, key := range d.desired.Unserved {
		if listener := listenerOf(*balancer, key); listener != nil {
			d.used[listener.ID], d.used[listener.TargetGroup] = true, true
		}
	}
}

// port is the actual and the desired state of one port.
type port struct {
	cloud.Port
	settings portSettings
	name     string // of listener and target group
	labels   resource.Labels
	listener *resource.Listener    // nil: to be created
	group    *resource.TargetGroup // nil: to be created
}

// groupID is the identity of the port's target group, or its placeholder.
func (p *port) groupID() string {
	if p.group == nil {
		return placeholder(kindGroup, p.name)
	}
	return p.group.ID
}

func (d *difference) newPort(wanted cloud.Port, balancer *resource.LoadBalancer, o Observed) *port {
	p := &port{Port: wanted, settings: d.desired.ports[wanted.Key], name: portName(d.desired.name, wanted),
		labels: portLabels(d.desired.labels, wanted.Key)}
	if balancer != nil {
		p.listener = listenerOf(*balancer, wanted.Key)
	}
	if p.listener != nil {
		d.used[p.listener.ID] = true
	}
	if p.group = o.group(p.labels, p.listener); p.group != nil && d.used[p.group.ID] {
		p.group = nil // it is the target group of another port
	}
	if p.group != nil {
		d.used[p.group.ID] = true
	}
	return p
}

// listenerOf returns the load balancer's listener of the port, nil if there is none.
func listenerOf(balancer resource.LoadBalancer, key cloud.Key) *resource.Listener {
	i := slices.IndexFunc(balancer.Listeners, func(l resource.Listener) bool {
		return l.Port == int(key.Port) && l.Protocol == protocol(key)
	})
	if i < 0 {
		return nil
	}
	return &balancer.Listeners[i]
}

// add adds a write to the plan. The result is valid until the next write is added.
func (d *difference) add(verb cloud.Verb, kind, name, why string, object any) *cloud.Operation {
	d.plan = append(d.plan, cloud.Operation{Verb: verb, Kind: kind, Name: name, Why: why, Object: object})
	return &d.plan[len(d.plan)-1]
}

// createBalancer adds the creation of the load balancer with all its listeners.
func (d *difference) createBalancer(ports []*port) {
	create := d.newBalancer()
	for _, port := range ports {
		create.Listeners = append(create.Listeners, d.newListener(port))
	}
	d.add(cloud.Create, kindBalancer, create.Name, "", CreateLoadBalancer{create})
}

// surplus adds the deletion of the Service's objects that are not needed any more: listeners first, because the cloud
// refuses to delete a target group that a listener uses.
func (d *difference) surplus(o Observed) {
	if len(o.Balancers) > 0 {
		d.surplusListeners(o.Balancers[0])
		for _, younger := range o.Balancers[1:] {
			d.deleteBalancer(younger, "the Service has an older one")
		}
	}
	for _, group := range o.Groups {
		if !d.used[group.ID] {
			d.add(cloud.Delete, kindGroup, group.Name, d.whySurplus(group), DeleteTargetGroup{group.ID})
		}
	}
	d.surplusSecurityGroups(o)
}

// whySurplus returns why a target group is deleted.
func (d *difference) whySurplus(group resource.TargetGroup) string {
	for _, wanted := range d.desired.Ports {
		labels := portLabels(d.desired.labels, wanted.Key)
		if group.Labels[label.ServicePort] == labels[label.ServicePort] &&
			group.Labels[label.ServiceProtocol] == labels[label.ServiceProtocol] {
			return "port " + wanted.Key.String() + " has another target group, and nothing uses this one"
		}
	}
	return "the Service has no such port"
}

func (d *difference) surplusListeners(balancer resource.LoadBalancer) {
	for _, listener := range balancer.Listeners {
		if d.used[listener.ID] {
			continue
		}
		if !d.desired.owns(listener) {
			d.used[listener.TargetGroup] = true
			continue
		}
		remove := DeleteListener{LoadBalancer: balancer.ID, Listener: listener.ID}
		at := slices.IndexFunc(d.observed.Groups, func(group resource.TargetGroup) bool {
			return group.ID == listener.TargetGroup && !d.used[group.ID] &&
				!labelledFor(group.Labels, d.desired.labels)
		})
		if at >= 0 {
			label := d.labelled(d.observed.Groups[at])
			remove.Label = &label
		}
		d.add(cloud.Delete, kindListener, listener.Name, "the Service has no such port", remove).Closes = true
	}
}

// owns reports whether this program created a listener. A listener that somebody else added has no labels of this
// program, and stays. A listener of the load balancer's previous Service is deleted, and so is one that lost its labels
// and has the name of one.
func (d desired) owns(listener resource.Listener) bool {
	of := listener.Labels
	return of[label.ServiceUID] == d.labels[label.ServiceUID] || of[label.Managed] == "true" &&
		of[label.Cluster] == d.labels[label.Cluster] ||
		contradictingLabel(of, d.labels) == "" && strings.HasPrefix(listener.Name, d.name+"-")
}

// deleteBalancer adds the deletion of a load balancer, unless it is being deleted. Its protection is switched off
// before.
func (d *difference) deleteBalancer(balancer resource.LoadBalancer, why string) {
	if balancer.Deleting() {
		return
	}
	d.unprotect(balancer)
	d.add(cloud.Delete, kindBalancer, balancer.Name, why, DeleteLoadBalancer{balancer})
}

// planDeletion returns the writes that can be made now to delete everything: load balancers first, which stops the
// traffic, then the objects that only they could use. It is empty while the cloud deletes the load balancers. users are
// load balancers of others that use the Service's objects, by the identities of these.
func (d desired) planDeletion(o Observed, users map[string]resource.LoadBalancer) cloud.Plan {
	diff := &difference{desired: d, observed: o}
	if slices.ContainsFunc(o.Balancers, func(balancer resource.LoadBalancer) bool { return !balancer.Deleting() }) {
		diff.restoreGroupLabels(o)
	}
	for _, balancer := range o.Balancers {
		diff.deleteBalancer(balancer, "")
	}
	if len(o.Balancers) > 0 {
		return diff.plan
	}
	for _, group := range o.Groups {
		if user, used := users[group.ID]; used {
			leaves := remainsText(kindGroup, group.Name, group.ID, user)
			diff.releaseGroup(group, "load balancer "+user.ID+" uses it", leaves)
			continue
		}
		diff.add(cloud.Delete, kindGroup, group.Name, "", DeleteTargetGroup{group.ID})
	}
	for _, group := range o.SecurityGroups {
		if user, used := users[group.ID]; used {
			leaves := remainsText(kindSecurityGroup, group.Name, group.ID, user)
			diff.releaseSecurityGroup(group, "load balancer "+user.ID+" uses it", leaves, false)
			continue
		}
		diff.deleteSecurityGroup(group, "")
	}
	return diff.plan
}

// changes describes differences.
type changes []string

// addChange adds a line if from and to differ.
func addChange[T comparable](c *changes, what string, from, to T) {
	if from != to {
		*c = append(*c, fmt.Sprintf("%s %v becomes %v", what, from, to))
	}
}

// addMissingLabels adds a line if an object lacks labels.
func addMissingLabels(c *changes, from, to resource.Labels) {
	if !resource.HasLabels(from, to) {
		*c = append(*c, missingLabels)
	}
}

func (c changes) String() string { return strings.Join(c, ", ") }
