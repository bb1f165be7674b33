package thalassa

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/thalassa-cloud/client-go/iaas"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/inventory"
)

// nodeRules are the rules that a Service needs in the security group of the nodes, where they have one that lets in nobody else: its node
// ports, for the subnet of its load balancer. They have no labels; by their names it is known whose they are.
type nodeRules struct {
	group  *inventory.SecurityGroup // nil: none is configured, or it is not known
	wanted []opening
	prefix string // of the names of this Service's rules
}

// rulePrefix begins the names of a Service's rules.
func rulePrefix(uid string) string { return "k8s-" + shortHash(uid) + "-" }

// noNodeRules is for a Service that is to have none any more.
func noNodeRules(d desired) nodeRules {
	return nodeRules{group: d.nodeGroup, prefix: rulePrefix(string(d.Owner.UID))}
}

// newNodeRules returns the rules for the ports of a Service, none unless it asks for them. When that, or where its load balancer sends
// from, is not known, the rules that are there stay.
func (p planner) newNodeRules(d desired, o observed) nodeRules {
	n := noNodeRules(d)
	switch asked := d.annotations.openNodePorts.From(d.values); {
	case asked.Invalid || asked.Value && len(d.nodeSources) == 0:
		n.group = nil
		return n
	case !asked.Value:
		return n
	}
	for _, port := range d.Ports {
		n.wanted = append(n.wanted, opening{protocol: protocol(port.Key), first: port.TargetPort, last: port.TargetPort, sources: d.nodeSources})
	}
	for _, check := range p.checks(d, o) {
		transport := "tcp"
		if check.Protocol == iaas.ProtocolUDP {
			transport = "udp"
		}
		extra := opening{protocol: transport, first: check.Port, last: check.Port, sources: d.nodeSources}
		if !slices.ContainsFunc(n.wanted, func(o opening) bool { return o.protocol == extra.protocol && o.first == extra.first }) {
			n.wanted = append(n.wanted, extra)
		}
	}
	n.wanted = merged(n.wanted)
	return n
}

// ours are the Service's rules among others.
func (n nodeRules) ours(rules []inventory.Rule) []inventory.Rule {
	return slices.DeleteFunc(slices.Clone(rules), func(rule inventory.Rule) bool { return !strings.HasPrefix(rule.Name, n.prefix) })
}

// rules are the wanted ones, without priorities.
func (n nodeRules) rules() []inventory.Rule {
	var rules []inventory.Rule
	for _, o := range n.wanted {
		for _, source := range o.sources {
			rule := allow(o, source, 0)
			rule.Name = fmt.Sprintf("%s%s-%d-%s", n.prefix, o.protocol, o.first, rule.IPVersion)
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
	d.add(cloud.Update, kindSecurityGroup, n.group.Name, "the nodes are to be reached on the node ports of the Service", func(ctx context.Context) error {
		return d.inventory.ChangeIngress(ctx, n.group.ID, n.widen)
	})
}

// closeNodePorts takes away what is not needed any more, once nothing is sent there.
func (d *difference) closeNodePorts() {
	n := d.nodes
	if n.group == nil || len(n.surplus(n.group.Ingress)) == 0 {
		return
	}
	d.add(cloud.Update, kindSecurityGroup, n.group.Name, "the nodes need not be reached on earlier node ports of the Service", func(ctx context.Context) error {
		return d.inventory.ChangeIngress(ctx, n.group.ID, n.narrow)
	})
}

// missing are the wanted rules that are not there, surplus those of the Service that are there and not wanted.
func (n nodeRules) missing(rules []inventory.Rule) []inventory.Rule {
	return slices.DeleteFunc(n.rules(), func(rule inventory.Rule) bool { return holds(n.ours(rules), rule) })
}

func (n nodeRules) surplus(rules []inventory.Rule) []inventory.Rule {
	return slices.DeleteFunc(n.ours(rules), func(rule inventory.Rule) bool { return holds(n.rules(), rule) })
}

// holds says whether one of the rules means the same.
func holds(rules []inventory.Rule, rule inventory.Rule) bool {
	return slices.ContainsFunc(rules, func(one inventory.Rule) bool { return sameRules([]inventory.Rule{one}, []inventory.Rule{rule}) })
}

// widen returns a group's rules with those of the Service that are missing, at priorities that nobody has. Where there is no room, those
// that fit are added.
func (n nodeRules) widen(rules []inventory.Rule) []inventory.Rule {
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
func (n nodeRules) narrow(rules []inventory.Rule) []inventory.Rule {
	surplus := n.surplus(rules)
	return slices.DeleteFunc(slices.Clone(rules), func(rule inventory.Rule) bool {
		return strings.HasPrefix(rule.Name, n.prefix) && holds(surplus, rule)
	})
}

// fits says whether the group has room for all of the Service's rules.
func (n nodeRules) fits() bool {
	return n.group == nil || len(n.group.Ingress)+len(n.missing(n.group.Ingress)) <= lastICMPPriority
}
