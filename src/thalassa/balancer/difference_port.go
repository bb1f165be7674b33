package balancer

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// maxName is the longest name the API accepts for listeners and target groups.
const maxName = 62

// portName returns the name of a port's listener and target group, as in the existing CCM. Names that are too long,
// which the existing CCM could not create, end in a hash of the whole name.
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

// targetGroup adds the creation or the update of the port's target group.
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

// members adds the write that sets the machines of the port's target group, if it exists.
func (d *difference) members(p *port) {
	if p.group == nil {
		return
	}
	machines, _ := d.desired.targets(p.group.Machines)
	if !slices.Equal(machines, p.group.Machines) {
		why := fmt.Sprintf("%d machines become %d", len(p.group.Machines), len(machines))
		d.add(cloud.Update, kindGroup, p.group.Name, why, SetMachines{*p.group, machines})
	}
}

func (d *difference) createGroup(p *port) {
	group := d.newGroup(p)
	d.add(cloud.Create, kindGroup, p.name, "", CreateTargetGroup{group})
	machines := d.desired.machines
	if len(machines) == 0 {
		return
	}
	why := fmt.Sprintf("0 machines become %d", len(machines))
	d.add(cloud.Update, kindGroup, p.name, why, SetMachines{group, machines})
}

func (d *difference) newGroup(p *port) resource.TargetGroup {
	return resource.TargetGroup{
		ID: p.groupID(), Name: p.name, Description: d.portDescription(p), Labels: p.labels,
		Annotations: lastApplied{created: true}.mergedInto(nil),
		Protocol:    protocol(p.Key), Port: int(p.TargetPort),
		Policy: p.settings.policy.Value, ProxyProtocol: p.settings.proxyProtocol.Value,
		HealthCheck: d.desired.healthCheck(&lastApplied{created: true}, p.Port, nil),
	}
}

// groupUpdate returns the desired target group. Values that this program does not set stay.
func (d *difference) groupUpdate(p *port, group resource.TargetGroup) resource.TargetGroup {
	update, record := group, d.desired.recordOf(group.Labels, group.Annotations)
	update.Labels = withLabels(group.Labels, p.labels)
	update.Protocol, update.Port = protocol(p.Key), int(p.TargetPort)
	update.Policy = desiredValue(record, d.desired.annotations.policy.Name(), p.settings.policy, group.Policy)
	update.ProxyProtocol = desiredValue(record, d.desired.annotations.proxyProtocol.Name(), p.settings.proxyProtocol,
		group.ProxyProtocol)
	update.HealthCheck = d.desired.checkOf(p.Port, group, record)
	update.Annotations = record.mergedInto(group.Annotations)
	return update
}

// checkOf returns the desired health check of a port's existing target group.
func (d desired) checkOf(port cloud.Port, group resource.TargetGroup,
	record *lastApplied) *resource.HealthCheck {
	check, settings := d.healthCheck(record, port, group.HealthCheck), d.ports[port.Key].health
	if !record.created && d.HealthCheckNodePort == 0 && !settings.anySet() && isOfLocal(check, group) {
		check = nil
	}
	switch {
	case check == nil && d.memory.Irremovable[group.ID]:
		return group.HealthCheck
	case !record.created && check != nil && int(check.Port) == group.Port && check.Port != port.TargetPort &&
		!settings.port.Given:
		moved := *check // a check of the target port, which has changed
		moved.Port = port.TargetPort
		return &moved
	}
	return check
}

func (d *difference) groupChanges(from, to resource.TargetGroup) changes {
	var c changes
	addChange(&c, "target port", from.Port, to.Port)
	addChange(&c, "protocol", from.Protocol, to.Protocol)
	// A group without a policy has the cloud's default.
	if !(from.Policy == "" && to.Policy == resource.PolicyRoundRobin) {
		addChange(&c, "policy", from.Policy, to.Policy)
	}
	addChange(&c, "PROXY protocol", from.ProxyProtocol, to.ProxyProtocol)
	addChange(&c, "health check", from.HealthCheck.String(), to.HealthCheck.String())
	addMissingLabels(&c, from.Labels, to.Labels)
	addRecordChanges(&c, from.Annotations, to.Annotations)
	return c
}

// listeners adds the creations and updates of the ports' listeners on an existing load balancer.
func (d *difference) listeners(balancer resource.LoadBalancer, ports []*port) {
	for _, p := range ports {
		if p.listener == nil {
			d.add(cloud.Create, kindListener, p.name, "", CreateListener{balancer.ID, d.newListener(p)})
			continue
		}
		d.updateListener(balancer, p)
	}
}

func (d *difference) updateListener(balancer resource.LoadBalancer, p *port) {
	to, c := d.desiredListener(*p.listener, p)
	if len(c) == 0 {
		return
	}
	update := d.add(cloud.Update, kindListener, p.listener.Name, c.String(), UpdateListener{balancer, *p.listener, to})
	update.Closes = p.group != nil && p.group.ID == p.listener.TargetGroup &&
		narrows(p.listener.AllowedSources, to.AllowedSources)
}

// desiredListener returns the desired listener, and a description of what differs.
func (d *difference) desiredListener(from resource.Listener, p *port) (resource.Listener, changes) {
	to, record := from, d.desired.recordOf(from.Labels, from.Annotations)
	to.Labels = withLabels(from.Labels, p.labels)
	var c changes
	for i, one := range d.desired.annotations.listener {
		was, is := one.field(&from), one.field(&to)
		*is = desiredValue(record, one.key.Name(), p.settings.listener[i], *was)
		addChange(&c, one.text, *was, *is)
	}
	setSources(record, p.settings.sources, &to)
	to.Annotations = record.mergedInto(from.Annotations)
	addChange(&c, "allowed sources", sourcesText(from.AllowedSources), sourcesText(to.AllowedSources))
	addMissingLabels(&c, from.Labels, to.Labels)
	addRecordChanges(&c, from.Annotations, to.Annotations)
	if to.TargetGroup = p.groupID(); to.TargetGroup != from.TargetGroup {
		c = append(c, "its target group becomes "+p.name)
	}
	return to, c
}

// recordOf returns the record of an object of this Service. The record of a previous Service is ignored.
func (d desired) recordOf(labels, annotations resource.Labels) *lastApplied {
	if owner := labels[label.ServiceUID]; owner != "" && owner != d.labels[label.ServiceUID] {
		annotations = nil
	}
	return new(lastAppliedOf(annotations))
}

func (d *difference) newListener(p *port) resource.Listener {
	record := lastApplied{created: true}
	if p.settings.sources.Given {
		record = record.with(settingSources)
	}
	listener := resource.Listener{
		Name: p.name, Description: d.portDescription(p), Labels: p.labels, Annotations: record.mergedInto(nil),
		Port: int(p.Key.Port), Protocol: protocol(p.Key), TargetGroup: p.groupID(),
		AllowedSources: sourceTexts(p.settings.sources.Value),
	}
	for i, one := range d.desired.annotations.listener {
		*one.field(&listener) = p.settings.listener[i].Value
	}
	return listener
}

func (d *difference) portDescription(p *port) string {
	return strings.TrimSpace(fmt.Sprintf("Port %s of Kubernetes Service %s", p.Key, d.desired.Owner))
}
