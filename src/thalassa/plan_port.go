package thalassa

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/thalassa-cloud/client-go/iaas"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/inventory"
)

// maxName is the longest name the API accepts for listeners and target groups.
const maxName = 62

// portName is what the existing CCM calls a port's listener and target group. Too long names, which it could not
// create, end in a hash of the whole.
func portName(balancer string, p cloud.Port) string {
	name := fmt.Sprintf("%s-%s", balancer, p.Name)
	if p.Name == "" {
		name = fmt.Sprintf("%s-%s-p%d", balancer, protocol(p.Key), p.Key.Port)
	}
	if len(name) <= maxName {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	hash := hex.EncodeToString(sum[:4])
	return name[:maxName-len(hash)-1] + "-" + hash
}

// targetGroup adds what the port's target group needs: to be created and filled, to be updated, to get another set of
// machines.
func (d *difference) targetGroup(p *port) {
	if p.group == nil {
		d.createGroup(p)
		return
	}
	group := *p.group
	update := d.groupUpdate(p, group)
	if why := d.groupChanges(group, update); len(why) > 0 {
		d.add(cloud.Update, kindGroup, group.Name, why.String(), UpdateTargetGroup{From: group, To: update})
	}
}

// members adds the write that gives the port's group its machines, if there is a group.
func (d *difference) members(p *port) {
	if p.group != nil {
		d.machines(*p.group, d.desired.Targets)
	}
}

// machines adds the write that gives an existing group the targets.
func (d *difference) machines(group inventory.TargetGroup, targets cloud.Targets) {
	machines := targets.Over(group.Machines)
	if slices.Equal(machines, group.Machines) {
		return
	}
	why := fmt.Sprintf("%d machines become %d", len(group.Machines), len(machines))
	d.add(cloud.Update, kindGroup, group.Name, why, SetMachines{group, machines})
}

func (d *difference) createGroup(p *port) {
	group := d.newGroup(p)
	d.add(cloud.Create, kindGroup, p.name, "", CreateTargetGroup{group})
	machines := d.desired.Targets.Identities
	if len(machines) == 0 {
		return
	}
	why := fmt.Sprintf("0 machines become %d", len(machines))
	d.add(cloud.Update, kindGroup, p.name, why, SetMachines{group, machines})
}

func (d *difference) newGroup(p *port) inventory.TargetGroup {
	return inventory.TargetGroup{
		ID: p.groupID(), Name: p.name, Description: d.portDescription(p), Labels: p.labels,
		Annotations: traces{created: true}.over(nil),
		Protocol:    protocol(p.Key), Port: int(p.TargetPort),
		Policy: p.settings.policy.Value, ProxyProtocol: p.settings.proxyProtocol.Value,
		HealthCheck: d.desired.healthCheck(p.Port).over(p.Port, nil),
	}
}

// groupUpdate is the group as it should be: what we decide about over everything else that it has.
func (d *difference) groupUpdate(p *port, group inventory.TargetGroup) inventory.TargetGroup {
	update, own := group, d.desired.memoOf(group.Labels, group.Annotations)
	update.Labels = withLabels(group.Labels, p.labels)
	update.Protocol, update.Port = protocol(p.Key), int(p.TargetPort)
	update.Policy = aim(own, "policy", p.settings.policy, group.Policy)
	update.ProxyProtocol = aim(own, "proxy-protocol", p.settings.proxyProtocol, group.ProxyProtocol)
	update.HealthCheck = d.checkOf(d.desired, p.Port, group, own)
	update.Annotations = own.over(group.Annotations)
	return update
}

// checkOf is the health check that an existing group of a port is to have.
func (p planner) checkOf(d desired, port cloud.Port, group inventory.TargetGroup, own *memo) *iaas.BackendHealthCheck {
	check := d.healthCheck(port).aim(own, port, group.HealthCheck)
	switch {
	case check == nil && p.removals.inVain(group):
		return group.HealthCheck
	case own.free && check != nil && int(check.Port) == group.Port && check.Port != port.TargetPort:
		moved := *check // a check of the port itself, which another one has now
		moved.Port = port.TargetPort
		return &moved
	}
	return check
}

// checks are the health checks that the ports of a Service are to have, of those that have any.
func (p planner) checks(d desired, o observed) []iaas.BackendHealthCheck {
	var all []iaas.BackendHealthCheck
	for _, port := range d.Ports {
		check := d.healthCheck(port).over(port, nil)
		if group := o.group(portLabels(d.labels, port.Key), o.listener(port.Key)); group != nil {
			check = p.checkOf(d, port, *group, d.memoOf(group.Labels, group.Annotations))
		}
		if check != nil {
			all = append(all, *check)
		}
	}
	return all
}

func (d *difference) groupChanges(from, to inventory.TargetGroup) changes {
	var c changes
	note(&c, "target port", from.Port, to.Port)
	note(&c, "protocol", from.Protocol, to.Protocol)
	// A group without a policy has the cloud's default.
	if !(from.Policy == "" && to.Policy == string(iaas.LoadbalancingPolicyRoundRobin)) {
		note(&c, "policy", from.Policy, to.Policy)
	}
	note(&c, "PROXY protocol", from.ProxyProtocol, to.ProxyProtocol)
	note(&c, "health check", healthCheckText(from.HealthCheck), healthCheckText(to.HealthCheck))
	note(&c, "all its labels there:", inventory.HasLabels(from.Labels, to.Labels), true)
	noteMemory(&c, from.Annotations, to.Annotations, d.desired.free)
	return c
}

// listeners adds what the ports' listeners on an existing load balancer need.
func (d *difference) listeners(balancer inventory.LoadBalancer, ports []*port) {
	for _, p := range ports {
		if p.listener == nil {
			d.add(cloud.Create, kindListener, p.name, "", CreateListener{balancer.ID, d.newListener(p)})
			continue
		}
		d.updateListener(balancer, p)
	}
}

func (d *difference) updateListener(balancer inventory.LoadBalancer, p *port) {
	to, c := d.aimListener(*p.listener, p)
	if len(c) == 0 {
		return
	}
	add := d.add
	if p.group != nil && p.group.ID == p.listener.TargetGroup && narrows(p.listener.AllowedSources, to.AllowedSources) {
		add = d.close
	}
	add(cloud.Update, kindListener, p.listener.Name, c.String(), UpdateListener{balancer, *p.listener, to})
}

// aimListener is the listener as it should be, and what differs, in words.
func (d *difference) aimListener(from inventory.Listener, p *port) (inventory.Listener, changes) {
	to, own := from, d.desired.memoOf(from.Labels, from.Annotations)
	to.Labels = withLabels(from.Labels, p.labels)
	to.MaxConnections = aim(own, "max-connections", p.settings.maxConnections, from.MaxConnections)
	to.IdleTimeout = aim(own, "idle-timeout", p.settings.idleTimeout, from.IdleTimeout)
	aimSources(own, p.settings.sources, &to)
	to.Annotations = own.over(from.Annotations)
	var c changes
	note(&c, "connection limit", from.MaxConnections, to.MaxConnections)
	note(&c, "idle timeout", from.IdleTimeout, to.IdleTimeout)
	note(&c, "allowed sources", sourcesText(from.AllowedSources), sourcesText(to.AllowedSources))
	note(&c, "all its labels there:", inventory.HasLabels(from.Labels, to.Labels), true)
	noteMemory(&c, from.Annotations, to.Annotations, own.free)
	if to.TargetGroup = p.groupID(); to.TargetGroup != from.TargetGroup {
		c = append(c, "its target group becomes "+p.name)
	}
	return to, c
}

// memoOf is what an object remembers of this Service. What it remembers of another one, which gave it up, is nobody's
// business.
func (d desired) memoOf(labels, annotations inventory.Labels) *memo {
	if owner := labels[labelUID]; owner != "" && owner != d.labels[labelUID] {
		annotations = nil
	}
	return memoOf(annotations, d.free)
}

func (d *difference) newListener(p *port) inventory.Listener {
	own := traces{created: true}
	if p.settings.sources.Given {
		own = own.with(settingSources)
	}
	return inventory.Listener{
		Name: p.name, Description: d.portDescription(p), Labels: p.labels, Annotations: own.over(nil),
		Port: int(p.Key.Port), Protocol: protocol(p.Key), TargetGroup: p.groupID(),
		MaxConnections: p.settings.maxConnections.Value, IdleTimeout: p.settings.idleTimeout.Value,
		AllowedSources: sourceTexts(p.settings.sources.Value),
	}
}

func (d *difference) portDescription(p *port) string {
	return strings.TrimSpace(fmt.Sprintf("Port %s of Kubernetes Service %s", p.Key, d.desired.Owner))
}
