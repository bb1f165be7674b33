package thalassa

import (
	"fmt"
	"slices"
	"strings"

	"github.com/thalassa-cloud/client-go/iaas"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/inventory"
)

// nodeRules are the rules that a Service needs in the security group of the nodes, where they have one that lets in
// nobody else: its node ports, for the subnet of its load balancer. They have no labels; by their names it is known
// whose they are.
type nodeRules struct {
	NodeRules
	group *inventory.SecurityGroup // nil: none is configured, or it is not known
}

// NodeRules are the rules that one Service is to have in the security group of the nodes.
type NodeRules struct {
	Group  string           // identity of the security group
	Prefix string           // of the names of this Service's rules
	Wanted []inventory.Rule // without priorities
}

// rulePrefix begins the names of a Service's rules.
func rulePrefix(uid string) string { return "k8s-" + shortHash(uid) + "-" }

// noNodeRules is for a Service that is to have none any more.
func noNodeRules(d desired) nodeRules {
	n := nodeRules{group: d.nodeGroup, NodeRules: NodeRules{Prefix: rulePrefix(string(d.Owner.UID))}}
	if n.group != nil {
		n.Group = n.group.ID
	}
	return n
}

// newNodeRules returns the rules for the ports of a Service, none unless it asks for them. When that, or where its load
// balancer sends from, is not known, the rules that are there stay.
func (p planner) newNodeRules(d desired, o observed) nodeRules {
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
	for _, check := range p.checks(d, o) {
		transport := "tcp"
		if check.Protocol == iaas.ProtocolUDP {
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

// ours are the Service's rules among others.
func (n NodeRules) ours(rules []inventory.Rule) []inventory.Rule {
	others := func(rule inventory.Rule) bool { return !strings.HasPrefix(rule.Name, n.Prefix) }
	return slices.DeleteFunc(slices.Clone(rules), others)
}

// rulesFor are the rules for openings, without priorities.
func (n NodeRules) rulesFor(openings []opening) []inventory.Rule {
	var rules []inventory.Rule
	for _, o := range openings {
		for _, source := range o.sources {
			rule := allow(o, source, 0)
			rule.Name = fmt.Sprintf("%s%s-%d-%s", n.Prefix, o.protocol, o.first, rule.IPVersion)
			rules = append(rules, rule)
		}
	}
	return rules
}

// openNodePorts adds what is missing before any target is told to listen there.
func (d *difference) openNodePorts() {
	n := d.nodes
	if n.group == nil || len(n.widen(n.group.Ingress)) == len(n.group.Ingress) {
		return
	}
	d.add(cloud.Update, kindSecurityGroup, n.group.Name, "the nodes are to be reached on the node ports of the Service",
		OpenNodePorts{n.NodeRules})
}

// closeNodePorts takes away what is not needed any more, once nothing is sent there.
func (d *difference) closeNodePorts() {
	n := d.nodes
	if n.group == nil || len(n.surplus(n.group.Ingress)) == 0 {
		return
	}
	d.add(cloud.Update, kindSecurityGroup, n.group.Name,
		"the nodes need not be reached on earlier node ports of the Service", CloseNodePorts{n.NodeRules})
}

// missing are the wanted rules that are not there, surplus those of the Service that are there and not wanted.
func (n NodeRules) missing(rules []inventory.Rule) []inventory.Rule {
	present := func(rule inventory.Rule) bool { return holds(n.ours(rules), rule) }
	return slices.DeleteFunc(slices.Clone(n.Wanted), present)
}

func (n NodeRules) surplus(rules []inventory.Rule) []inventory.Rule {
	return slices.DeleteFunc(n.ours(rules), func(rule inventory.Rule) bool { return holds(n.Wanted, rule) })
}

// holds says whether one of the rules means the same.
func holds(rules []inventory.Rule, rule inventory.Rule) bool {
	return slices.ContainsFunc(rules, func(one inventory.Rule) bool {
		return sameRules([]inventory.Rule{one}, []inventory.Rule{rule})
	})
}

// widen returns a group's rules with those of the Service that are missing, at priorities that nobody has. Where there
// is no room, those that fit are added.
func (n NodeRules) widen(rules []inventory.Rule) []inventory.Rule {
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

// narrow returns a group's rules without those of the Service that are not wanted.
func (n NodeRules) narrow(rules []inventory.Rule) []inventory.Rule {
	surplus := n.surplus(rules)
	return slices.DeleteFunc(slices.Clone(rules), func(rule inventory.Rule) bool {
		return strings.HasPrefix(rule.Name, n.Prefix) && holds(surplus, rule)
	})
}

// fits says whether the group has room for all of the Service's rules.
func (n nodeRules) fits() bool {
	return n.group == nil || len(n.group.Ingress)+len(n.missing(n.group.Ingress)) <= lastICMPPriority
}
