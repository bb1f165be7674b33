package thalassa

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/inventory"
)

const kindSecurityGroup = "security group"

// managedGroup is the security group that is made for a Service, on its way to what it should be. nil: the Service has
// none, and wants none.
type managedGroup struct {
	group *inventory.SecurityGroup // nil: to be created
	to    inventory.SecurityGroup
}

// identity is that of the group, or its placeholder; "" when there is to be none.
func (m *managedGroup) identity() string {
	if m == nil {
		return ""
	}
	return m.to.ID
}

// newManagedGroup returns what the Service's security group should be, nil when it should have none. The error is that
// a security group cannot say what the Service asks for; of errPings that it lets in all but the pings.
func newManagedGroup(d desired, o observed) (*managedGroup, error) {
	asked, existing := d.annotations.createSecurityGroup.From(d.values), o.securityGroup()
	switch {
	case !o.complete(): // there may be one
		return nil, nil
	case asked.Invalid && existing != nil:
		return &managedGroup{group: existing, to: *existing}, nil
	case asked.Invalid || !asked.Value:
		return nil, nil
	}
	name := groupName(string(d.Owner.UID))
	to := inventory.SecurityGroup{
		ID: placeholder(kindSecurityGroup, name), Name: name, Description: descriptionOf(d.Owner),
		SameGroupTraffic: true,
	}
	remembered := traces{created: true}
	if existing != nil {
		to, remembered = *existing, tracesOf(existing.Annotations)
	}
	to.Labels = withLabels(to.Labels, d.labels)
	var taken []inventory.Rule
	if !remembered.created {
		taken = to.Ingress
	}
	rules, err := ingressOf(d.openings(o, remembered.created, taken), d.echo(existing))
	if err != nil && !errors.Is(err, errPings) {
		err = fmt.Errorf("the security group of Service %s: %w; allow fewer networks, or use several Services", d.Owner,
			err)
		if existing == nil {
			return nil, err
		}
		return &managedGroup{group: existing, to: *existing}, err
	}
	if existing == nil {
		to.Annotations = remembered.over(nil)
	}
	if existing == nil || !sameRules(existing.Ingress, rules) {
		to.Ingress = rules
	}
	if existing == nil || !sameRules(existing.Egress, egress()) {
		to.Egress = egress()
	}
	return &managedGroup{group: existing, to: to}, err
}

// openings are what the security group lets in: what the listeners do. Ours is the security group since it was made;
// one of the existing CCM, which lets nobody in where nobody is named, keeps what it has for such a port: it is neither
// opened nor closed by mistake.
func (d desired) openings(o observed, ours bool, taken []inventory.Rule) []opening {
	var all []opening
	for _, port := range d.Ports {
		asked := d.settings.ports[port.Key].sources
		allowed := d.admitted(asked, o.listener(port.Key))
		switch {
		case !ours && !asked.Given:
			allowed = letIn(taken, protocol(port.Key), port.Port)
		case len(allowed) == 0:
			allowed = everywhere()
		}
		if len(allowed) == 0 {
			continue
		}
		all = append(all, opening{protocol: protocol(port.Key), first: port.Port, last: port.Port, sources: allowed})
	}
	return all
}

// letIn are the networks that rules let in to a port.
func letIn(rules []inventory.Rule, protocol string, port int32) []netip.Prefix {
	var found []netip.Prefix
	for _, rule := range rules {
		prefix, err := netip.ParsePrefix(rule.RemoteAddress)
		if err == nil && rule.Policy == policyAllow && rule.Protocol == protocol && rule.PortMin <= port &&
			port <= rule.PortMax {
			found = append(found, prefix.Masked())
		}
	}
	return ordered(found)
}

// admitted are those whom a port lets in, none for everybody: what the Service asks for, or, where that cannot be read
// or it does not ask, what the listener has and keeps.
func (d desired) admitted(asked sources, listener *inventory.Listener) []netip.Prefix {
	if listener == nil || asked.Given && !asked.Invalid {
		return asked.Value
	}
	known, readable := sourcesOf(*listener)
	if !readable || !asked.Invalid && d.memoOf(listener.Labels, listener.Annotations).has(settingSources) {
		return nil // it is about to be opened
	}
	return known
}

// echo lets ping in, from those that the Service names for it, or else for its ports; from nobody when it names none.
//
// What cannot be read leaves what the existing group lets in.
func (d desired) echo(existing *inventory.SecurityGroup) []opening {
	asked, from := d.annotations.allowICMP.From(d.values), d.annotations.icmpSources.From(d.values)
	if !from.Asked() && !from.Invalid {
		from = union(d.annotations.allowedSources.From(d.values), d.ranges)
	}
	unreadable := asked.Invalid || asked.Value && from.Invalid
	switch {
	case unreadable && existing != nil:
		from.Value = letIn(existing.Ingress, protocolICMP, 1)
	case unreadable || !asked.Value:
		return nil
	}
	if len(from.Value) == 0 {
		return nil
	}
	return []opening{{protocol: protocolICMP, first: 1, last: 1, sources: from.Value}}
}

// silent tells that ping is asked for, and nobody is named who may.
func (d desired) silent() []cloud.Notice {
	ping, own := d.annotations.allowICMP.From(d.values), d.annotations.createSecurityGroup.From(d.values)
	if !ping.Given || !ping.Value || !own.Value || len(d.echo(nil)) > 0 ||
		d.annotations.icmpSources.From(d.values).Given {
		return nil
	}
	return []cloud.Notice{settingNotice(reasonConflict, fmt.Sprintf(
		"Annotation %[1]ssecurity-group-allow-icmp: ICMP is not permitted, because no networks are set. Set them in "+
			"%[1]ssecurity-group-icmp-allowed-sources or %[1]sacl-allowed-sources.", annotationPrefix))}
}

// securityGroup adds what the Service's security group needs, before anything that it lets in.
func (d *difference) securityGroup() {
	m := d.managed
	switch {
	case m == nil:
	case m.group == nil:
		d.add(cloud.Create, kindSecurityGroup, m.to.Name, "", CreateSecurityGroup{m.to})
	default:
		from := *m.group
		var c changes
		note(&c, "all its labels there:", inventory.HasLabels(from.Labels, m.to.Labels), true)
		note(&c, "its rules for what comes in:", len(from.Ingress), len(m.to.Ingress))
		if len(c) == 0 && !(sameRules(from.Ingress, m.to.Ingress) && sameRules(from.Egress, m.to.Egress)) {
			c = append(c, "its rules differ")
		}
		if len(c) > 0 {
			d.add(cloud.Update, kindSecurityGroup, from.Name, c.String(), UpdateSecurityGroup{From: from, To: m.to})
		}
	}
}

// surplusSecurityGroups removes those made for the Service that it does not want any more, once nothing uses them.
func (d *difference) surplusSecurityGroups(o observed) {
	for _, group := range o.securityGroups {
		if !o.complete() || group.ID == d.managed.identity() || group.ID != d.desired.unmanaged &&
			!tracesOf(group.Annotations).created {
			continue
		}
		d.deleteSecurityGroup(group, "the Service does not ask for one")
	}
}

// deleteSecurityGroup adds the deletion of a security group, unless it is under way.
func (d *difference) deleteSecurityGroup(group inventory.SecurityGroup, why string) {
	if group.Deleting() {
		return
	}
	d.add(cloud.Delete, kindSecurityGroup, group.Name, why, DeleteSecurityGroup{group.ID})
}

// unmanagedGroup is the identity of the security group that was made for the Service and is not to be any more: one
// that we made, or that the Service says it does not want.
func unmanagedGroup(d desired, o observed) string {
	asked := d.annotations.createSecurityGroup.From(d.values)
	group := o.securityGroup()
	if asked.Invalid || asked.Value || group == nil {
		return ""
	}
	if asked.Given || tracesOf(group.Annotations).created {
		return group.ID
	}
	return ""
}

func sorted(texts []string) []string {
	slices.Sort(texts)
	return slices.Compact(texts)
}
