package balancer

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// Limits of a security group's rules, as the API documents them.
const (
	// A rule's priority is 1 to 199 and that of no other rule. The last ten are for ICMP, as in the existing CCM.
	firstPriority, lastPriority         = 1, 189
	firstICMPPriority, lastICMPPriority = 190, 199
	// Ports of a rule are 1 to 65534.
	firstRulePort, lastRulePort = 1, 65534
)

// everywhere are the sources of a port without allowed sources.
func everywhere() []netip.Prefix {
	return []netip.Prefix{netip.PrefixFrom(netip.IPv4Unspecified(), 0), netip.PrefixFrom(netip.IPv6Unspecified(), 0)}
}

// groupName is the name of a Service's security group, with the 16 letters that the API documents as the most. It
// contains a hash, because names of Services are longer, and Services of two namespaces may have the same name.
func groupName(uid string) string {
	sum := sha256.Sum256([]byte(uid))
	return "k8s-" + hex.EncodeToString(sum[:6])
}

// opening is a range of ports that some networks may reach.
type opening struct {
	protocol    string // "tcp", "udp" or "icmp"
	first, last int32
	sources     []netip.Prefix // sorted; not empty
}

// merged joins neighbouring ports with the same sources, because a group can have only few rules.
func merged(openings []opening) []opening {
	sorted := slices.Clone(openings)
	slices.SortFunc(sorted, func(a, b opening) int {
		return cmp.Or(cmp.Compare(a.protocol, b.protocol), cmp.Compare(a.first, b.first))
	})
	var ranges []opening
	for _, next := range sorted {
		if n := len(ranges); n > 0 && ranges[n-1].protocol == next.protocol && ranges[n-1].last+1 == next.first &&
			slices.Equal(ranges[n-1].sources, next.sources) {
			ranges[n-1].last = next.last
			continue
		}
		ranges = append(ranges, next)
	}
	return ranges
}

// errPings: more networks may send pings than a group can have rules for.
var errPings = errors.New("pings are not permitted from any network")

// ingressOf returns the rules for pings and for the ports: one for each range of ports and network. The error is that a
// group cannot have these rules; with errPings it returns the rules for the ports.
func ingressOf(ports, echo []opening) ([]resource.Rule, error) {
	rules, err := rulesFor(merged(ports), firstPriority, lastPriority)
	if err != nil {
		return nil, err
	}
	pings, err := rulesFor(echo, firstICMPPriority, lastICMPPriority)
	if err != nil {
		return rules, fmt.Errorf("%w: %w", errPings, err)
	}
	return append(rules, pings...), nil
}

// errRulePort: the range of ports in rules is smaller than that of Services.
var errRulePort = errors.New("a port is out of the range of rules")

// rulesFor returns rules with the priorities from first to last.
func rulesFor(openings []opening, first, last int32) ([]resource.Rule, error) {
	var rules []resource.Rule
	needed := 0
	for _, o := range openings {
		if o.last > lastRulePort {
			return nil, fmt.Errorf("%w: port %d cannot be in a rule, where ports end at %d", errRulePort, o.last,
				lastRulePort)
		}
		needed += len(o.sources)
	}
	if room := int(last - first + 1); needed > room {
		return nil,
			fmt.Errorf("%d rules are needed, one for each range of ports and each network, and there is room for %d",
				needed, room)
	}
	for _, o := range openings {
		for _, source := range o.sources {
			rules = append(rules, allow(o, source, first+int32(len(rules))))
		}
	}
	return rules, nil
}

// Words of the API in rules.
const (
	protocolAll  = "all"
	protocolICMP = "icmp"
	policyAllow  = "allow"
	remoteNet    = "address"
	version4     = "ipv4"
	version6     = "ipv6"
)

// allow returns a rule that permits traffic from a network.
func allow(o opening, source netip.Prefix, priority int32) resource.Rule {
	return resource.Rule{
		Name: fmt.Sprintf("%s-%d-%d", o.protocol, o.first, priority), IPVersion: versionOf(source),
		Protocol: o.protocol, Priority: priority,
		RemoteType: remoteNet, RemoteAddress: source.String(), PortMin: o.first, PortMax: o.last, Policy: policyAllow,
	}
}

func versionOf(network netip.Prefix) string {
	if network.Addr().Is4() {
		return version4
	}
	return version6
}

// egress permits traffic from the load balancer to any target: without a rule, none is permitted.
func egress() []resource.Rule {
	var rules []resource.Rule
	for i, network := range everywhere() {
		all := allow(opening{protocol: protocolAll, first: firstRulePort, last: lastRulePort}, network, firstPriority+
			int32(i))
		all.Name = "all-" + all.IPVersion
		rules = append(rules, all)
	}
	return rules
}

// sameRules reports whether two sets of rules permit the same traffic. Names do not matter, nor do priorities and order
// if all rules permit traffic, nor ports of rules for all protocols.
func sameRules(a, b []resource.Rule) bool {
	return slices.Equal(meanings(a), meanings(b))
}

// meanings describes what each rule permits, sorted.
func meanings(rules []resource.Rule) []string {
	texts := make([]string, 0, len(rules))
	for _, rule := range rules {
		remote := rule.RemoteAddress + rule.RemoteGroup
		if prefix, err := netip.ParsePrefix(remote); err == nil {
			remote = prefix.Masked().String()
		}
		first, last := rule.PortMin, rule.PortMax
		if rule.Protocol == protocolAll {
			first, last = 0, 0
		}
		text := fmt.Sprintf("%s %s %s %s %s %d-%d", rule.Policy, rule.IPVersion, rule.Protocol, rule.RemoteType, remote,
			first, last)
		if rule.Policy != policyAllow {
			text += fmt.Sprintf(" at %d", rule.Priority) // priority matters for a rule that drops traffic
		}
		texts = append(texts, text)
	}
	slices.Sort(texts)
	return slices.Compact(texts)
}

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
func newManagedGroup(d desired, o Observed) (*managedGroup, error) {
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
func (d desired) openings(o Observed, ours bool, taken []resource.Rule) []opening {
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
	known, readable := sourcesOf(listener.AllowedSources)
	if !readable || !asked.Invalid && d.recordOf(listener.Labels, listener.Annotations).has(settingSources) {
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
	return []cloud.Notice{settingNotice(reasonConflict, textPingsWithoutNetworks, label.AnnotationPrefix)}
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
		addMissingLabels(&c, from.Labels, m.to.Labels)
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
func (d *difference) surplusSecurityGroups(o Observed) {
	for _, group := range o.SecurityGroups {
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
func unmanagedGroup(d desired, o Observed) string {
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
