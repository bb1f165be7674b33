package balancer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// nodeRules are the rules of a Service in the security group of the nodes: they allow traffic from the subnet of its
// load balancer to its node ports. Rules have no labels, so their names identify the Service.
type nodeRules struct {
	NodeRules
	group *resource.SecurityGroup // nil: none is configured, or it is not known
}

// NodeRules are the rules that one Service is to have in the security group of the nodes.
type NodeRules struct {
	Group  string          // identity of the security group
	Prefix string          // of the names of this Service's rules
	Wanted []resource.Rule // without priorities
}

// rulePrefix begins the names of a Service's rules.
func rulePrefix(uid string) string { return "k8s-" + shortHash(uid) + "-" }

// noNodeRules is for a Service that should have no rules.
func noNodeRules(d desired) nodeRules {
	n := nodeRules{group: d.nodeGroup, NodeRules: NodeRules{Prefix: rulePrefix(string(d.Owner.UID))}}
	if n.group != nil {
		n.Group = n.group.ID
	}
	return n
}

// newNodeRules returns the rules for the ports of a Service, none unless it asks for them. If it is not known whether
// it asks for them, or from where its load balancer sends, existing rules stay.
func (d desired) newNodeRules(o Observed) nodeRules {
	n := noNodeRules(d)
	switch asked := d.annotations.openNodePorts.From(d.values); {
	case asked.Invalid || asked.Value && len(d.nodeSources) == 0:
		n.group = nil
		return n
	case !asked.Value:
		return n
	}
	var wanted []opening
	for _, port := range d.Ports {
		at := port.TargetPort
		wanted = append(wanted, opening{protocol: protocol(port.Key), first: at, last: at, sources: d.nodeSources})
	}
	for _, check := range d.checks(o) {
		transport := "tcp"
		if check.Protocol == resource.ProtocolUDP {
			transport = "udp"
		}
		extra := opening{protocol: transport, first: check.Port, last: check.Port, sources: d.nodeSources}
		same := func(o opening) bool { return o.protocol == extra.protocol && o.first == extra.first }
		if !slices.ContainsFunc(wanted, same) {
			wanted = append(wanted, extra)
		}
	}
	n.Wanted = n.rulesFor(merged(wanted))
	return n
}

// ofService returns the Service's rules among those of a group.
func (n NodeRules) ofService(rules []resource.Rule) []resource.Rule {
	others := func(rule resource.Rule) bool { return !strings.HasPrefix(rule.Name, n.Prefix) }
	return slices.DeleteFunc(slices.Clone(rules), others)
}

// rulesFor returns the rules for openings, without priorities.
func (n NodeRules) rulesFor(openings []opening) []resource.Rule {
	var rules []resource.Rule
	for _, o := range openings {
		for _, source := range o.sources {
			rule := allow(o, source, 0)
			rule.Name = fmt.Sprintf("%s%s-%d-%s", n.Prefix, o.protocol, o.first, rule.IPVersion)
			rules = append(rules, rule)
		}
	}
	return rules
}

// openNodePorts adds missing rules before any target group uses the node ports.
func (d *difference) openNodePorts() {
	n := d.nodes
	if n.group == nil || len(n.WithMissing(n.group.Ingress)) == len(n.group.Ingress) {
		return
	}
	d.add(cloud.Update, kindSecurityGroup, n.group.Name, "the nodes are to be reached on the node ports of the Service",
		OpenNodePorts{n.NodeRules})
}

// closeNodePorts removes rules that are not needed, after the last target group has stopped to use the node ports.
func (d *difference) closeNodePorts() {
	n := d.nodes
	if n.group == nil || len(n.surplus(n.group.Ingress)) == 0 {
		return
	}
	d.add(cloud.Update, kindSecurityGroup, n.group.Name,
		"the nodes need not be reached on earlier node ports of the Service", CloseNodePorts{n.NodeRules})
}

// missing returns the wanted rules that do not exist, surplus the Service's rules that are not wanted.
func (n NodeRules) missing(rules []resource.Rule) []resource.Rule {
	present := func(rule resource.Rule) bool { return holds(n.ofService(rules), rule) }
	return slices.DeleteFunc(slices.Clone(n.Wanted), present)
}

func (n NodeRules) surplus(rules []resource.Rule) []resource.Rule {
	return slices.DeleteFunc(n.ofService(rules), func(rule resource.Rule) bool { return holds(n.Wanted, rule) })
}

// holds reports whether one of the rules has the same meaning.
func holds(rules []resource.Rule, rule resource.Rule) bool {
	return slices.ContainsFunc(rules, func(one resource.Rule) bool {
		return sameRules([]resource.Rule{one}, []resource.Rule{rule})
	})
}

// WithMissing returns a group's rules with the Service's missing rules, at free priorities. If there is not enough
// room, it adds the rules that fit.
func (n NodeRules) WithMissing(rules []resource.Rule) []resource.Rule {
	taken := map[int32]bool{}
	for _, rule := range rules {
		taken[rule.Priority] = true
	}
	next := int32(firstPriority)
	wider := slices.Clone(rules)
	for _, rule := range n.missing(rules) {
		for taken[next] {
			next++
		}
		if next > lastICMPPriority {
			break
		}
		rule.Priority, taken[next] = next, true
		wider = append(wider, rule)
	}
	return wider
}

// WithoutSurplus returns a group's rules without those of the Service that are not wanted.
func (n NodeRules) WithoutSurplus(rules []resource.Rule) []resource.Rule {
	surplus := n.surplus(rules)
	return slices.DeleteFunc(slices.Clone(rules), func(rule resource.Rule) bool {
		return strings.HasPrefix(rule.Name, n.Prefix) && holds(surplus, rule)
	})
}

// fits reports whether the group has room for all of the Service's rules.
func (n nodeRules) fits() bool {
	return n.group == nil || len(n.group.Ingress)+len(n.missing(n.group.Ingress)) <= lastICMPPriority
}
