package thalassa

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

const kindSecurityGroup = "security group"

// managedGroup is the actual and the desired state of the security group that is created for a Service. nil: the
// Service has none, and should have none.
type managedGroup struct {
	group *resource.SecurityGroup // nil: to be created
	to    resource.SecurityGroup
}

// identity is that of the group, or its placeholder; "" if there should be no group.
func (m *managedGroup) identity() string {
	if m == nil {
		return ""
	}
	return m.to.ID
}

// newManagedGroup returns the desired security group of the Service, nil if it should have none. The error is that a
// security group cannot express what the Service asks for. With errPings, the group permits everything except pings.
func newManagedGroup(d desired, o observed) (*managedGroup, error) {
	asked, existing := d.annotations.createSecurityGroup.From(d.values), o.securityGroup()
	switch {
	case !o.complete(): // a security group may exist
		return nil, nil
	case asked.Invalid && existing != nil:
		return &managedGroup{group: existing, to: *existing}, nil
	case asked.Invalid || !asked.Value:
		return nil, nil
	}
	name := groupName(string(d.Owner.UID))
	to := resource.SecurityGroup{
		ID: placeholder(kindSecurityGroup, name), Name: name, Description: descriptionOf(d.Owner),
		SameGroupTraffic: true,
	}
	record := lastApplied{created: true}
	if existing != nil {
		to, record = *existing, lastAppliedOf(existing.Annotations)
	}
	to.Labels = withLabels(to.Labels, d.labels)
	var taken []resource.Rule
	if !record.created {
		taken = to.Ingress
	}
	rules, err := ingressOf(d.openings(o, record.created, taken), d.pingOpenings(existing))
	if err != nil && !errors.Is(err, errPings) {
		err = fmt.Errorf("the security group of Service %s: %w; allow fewer networks, or use several Services", d.Owner,
			err)
		if existing == nil {
			return nil, err
		}
		return &managedGroup{group: existing, to: *existing}, err
	}
	if existing == nil {
		to.Annotations = record.mergedInto(nil)
	}
	if existing == nil || !sameRules(existing.Ingress, rules) {
		to.Ingress = rules
	}
	if existing == nil || !sameRules(existing.Egress, egress()) {
		to.Egress = egress()
	}
	return &managedGroup{group: existing, to: to}, err
}

// openings returns what the security group permits: what the listeners permit. A security group of the existing CCM
// permits nothing for a port without allowed sources. Such a port keeps its rules, so that it is neither opened nor
// closed by mistake.
func (d desired) openings(o observed, ours bool, taken []resource.Rule) []opening {
	var all []opening
	for _, port := range d.Ports {
		asked := d.settings.ports[port.Key].sources
		allowed := d.allowedSources(asked, o.listener(port.Key))
		switch {
		case !ours && !asked.Given:
			allowed = sourcesAllowedBy(taken, protocol(port.Key), port.Port)
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

// sourcesAllowedBy returns the networks to which rules open a port.
func sourcesAllowedBy(rules []resource.Rule, protocol string, port int32) []netip.Prefix {
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

// allowedSources returns the sources of a port, none for everybody: those that the Service asks for, or those that the
// listener has and keeps.
func (d desired) allowedSources(asked sources, listener *resource.Listener) []netip.Prefix {
	if listener == nil || asked.Given && !asked.Invalid {
		return asked.Value
	}
	known, readable := sourcesOf(*listener)
	if !readable || !asked.Invalid && d.recordUpdateOf(listener.Labels, listener.Annotations).has(settingSources) {
		return nil // the plan opens it
	}
	return known
}

// pingOpenings permits pings from the networks that the Service names for this purpose, or else from the sources of its
// ports; if it names none, from nobody.
//
// If the settings are not valid, existing rules stay.
func (d desired) pingOpenings(existing *resource.SecurityGroup) []opening {
	asked, from := d.annotations.allowICMP.From(d.values), d.annotations.icmpSources.From(d.values)
	if !from.Asked() && !from.Invalid {
		from = union(d.annotations.allowedSources.From(d.values), d.ranges)
	}
	unreadable := asked.Invalid || asked.Value && from.Invalid
	switch {
	case unreadable && existing != nil:
		from.Value = sourcesAllowedBy(existing.Ingress, protocolICMP, 1)
	case unreadable || !asked.Value:
		return nil
	}
	if len(from.Value) == 0 {
		return nil
	}
	return []opening{{protocol: protocolICMP, first: 1, last: 1, sources: from.Value}}
}

// pingNotices describes that pings should be permitted, and that no networks are set.
func (d desired) pingNotices() []cloud.Notice {
	ping, own := d.annotations.allowICMP.From(d.values), d.annotations.createSecurityGroup.From(d.values)
	if !ping.Given || !ping.Value || !own.Value || len(d.pingOpenings(nil)) > 0 ||
		d.annotations.icmpSources.From(d.values).Given {
		return nil
	}
	return []cloud.Notice{settingNotice(reasonConflict, fmt.Sprintf(
		"Annotation %[1]ssecurity-group-allow-icmp: ICMP is not permitted, because no networks are set. Set them in "+
			"%[1]ssecurity-group-icmp-allowed-sources or %[1]sacl-allowed-sources.", label.AnnotationPrefix))}
}

// securityGroup adds the write of the Service's security group, before the writes of everything that it permits.
func (d *difference) securityGroup() {
	m := d.managed
	switch {
	case m == nil:
	case m.group == nil:
		d.add(cloud.Create, kindSecurityGroup, m.to.Name, "", CreateSecurityGroup{m.to})
	default:
		from := *m.group
		var c changes
		addChange(&c, "all its labels there:", resource.HasLabels(from.Labels, m.to.Labels), true)
		addChange(&c, "its rules for what comes in:", len(from.Ingress), len(m.to.Ingress))
		if len(c) == 0 && !(sameRules(from.Ingress, m.to.Ingress) && sameRules(from.Egress, m.to.Egress)) {
			c = append(c, "its rules differ")
		}
		if len(c) > 0 {
			d.add(cloud.Update, kindSecurityGroup, from.Name, c.String(), UpdateSecurityGroup{From: from, To: m.to})
		}
	}
}

// surplusSecurityGroups deletes security groups of the Service that it does not need any more, after they are not used
// any more.
func (d *difference) surplusSecurityGroups(o observed) {
	for _, group := range o.securityGroups {
		if !o.complete() || group.ID == d.managed.identity() || group.ID != d.desired.unmanaged &&
			!lastAppliedOf(group.Annotations).created {
			continue
		}
		d.deleteSecurityGroup(group, "the Service does not ask for one")
	}
}

// deleteSecurityGroup adds the deletion of a security group, unless it is being deleted.
func (d *difference) deleteSecurityGroup(group resource.SecurityGroup, why string) {
	if group.Deleting() {
		return
	}
	d.add(cloud.Delete, kindSecurityGroup, group.Name, why, DeleteSecurityGroup{group.ID})
}

// unmanagedGroup returns the identity of the Service's security group if it should not exist any more: this program
// created it, or the Service explicitly wants none.
func unmanagedGroup(d desired, o observed) string {
	asked := d.annotations.createSecurityGroup.From(d.values)
	group := o.securityGroup()
	if asked.Invalid || asked.Value || group == nil {
		return ""
	}
	if asked.Given || lastAppliedOf(group.Annotations).created {
		return group.ID
	}
	return ""
}

func sorted(texts []string) []string {
	slices.Sort(texts)
	return slices.Compact(texts)
}
