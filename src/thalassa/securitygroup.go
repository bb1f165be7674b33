package thalassa

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// Limits of a security group's rules, as the API documents them.
const (
	// A rule's priority is 1 to 199 and that of no other rule. The last ten are for ICMP, as in the existing CCM.
	firstPriority, lastPriority         = 1, 189
	firstICMPPriority, lastICMPPriority = 190, 199
	// Ports of a rule are 1 to 65534.
	firstRulePort, lastRulePort = 1, 65534
	// maxGroupName is the longest name that the API documents.
	maxGroupName = 16
)

// everywhere are the sources of a port without allowed sources.
func everywhere() []netip.Prefix {
	return []netip.Prefix{netip.PrefixFrom(netip.IPv4Unspecified(), 0), netip.PrefixFrom(netip.IPv6Unspecified(), 0)}
}

// groupName is the name of a Service's security group. It contains a hash, because names of Services are longer, and
// Services of two namespaces may have the same name.
func groupName(uid string) string { return ("k8s-" + shortHash(uid))[:maxGroupName] }

// shortHash distinguishes Services in names.
func shortHash(uid string) string {
	sum := sha256.Sum256([]byte(uid))
	return hex.EncodeToString(sum[:6])
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
