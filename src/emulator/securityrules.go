package emulator

import (
	"fmt"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// Limits of security groups. The strict ones are documented, and the vendor's
// own tools exceed them.
const (
	maxStrictGroupName = 16
	maxPriority        = 199
	maxStrictRulePort  = maxPort - 1
)

// The remote sides of a rule.
const (
	remoteAddress = "address"
	remoteGroup   = "securityGroup"
)

// checkGroupName applies what strict validation asks of a name.
func (s Switches) checkGroupName(name string) error {
	if !s.StrictSecurityGroups {
		return nil
	}
	foreign := func(r rune) bool { return r > unicode.MaxASCII }
	if n := utf8.RuneCountInString(name); n > maxStrictGroupName || slices.ContainsFunc([]rune(name), foreign) {
		return invalid("field \"name\" must have 1 to %d ASCII characters, not %q", maxStrictGroupName, name)
	}
	return nil
}

// ruleSets checks the rules of both directions.
func (s Switches) ruleSets(g *securityGroup, ingress, egress []wire.SecurityGroupRule) (in, out []wire.SecurityGroupRule, err error) {
	if in, err = s.checkRules("ingressRules", g, ingress); err != nil {
		return nil, nil, err
	}
	if out, err = s.checkRules("egressRules", g, egress); err != nil {
		return nil, nil, err
	}
	return in, out, nil
}

// checkRules are the rules that a request may give to a group.
func (s Switches) checkRules(field string, g *securityGroup, rules []wire.SecurityGroupRule) ([]wire.SecurityGroupRule, error) {
	priorities := map[int32]int{}
	checked := make([]wire.SecurityGroupRule, 0, len(rules))
	for i, rule := range rules {
		at := fmt.Sprintf("%s[%d]", field, i)
		if rule.Policy == "" && !s.StrictSecurityGroups {
			rule.Policy = "allow"
		}
		if err := s.checkRule(at, g, rule); err != nil {
			return nil, err
		}
		if first, taken := priorities[rule.Priority]; taken && (s.UniqueRulePriorities || s.StrictSecurityGroups) {
			return nil, invalid("field \"%s.priority\": %d is the priority of %s[%d], too", at, rule.Priority, field, first)
		}
		priorities[rule.Priority] = i
		checked = append(checked, rule)
	}
	return checked, nil
}

func (s Switches) checkRule(at string, g *securityGroup, rule wire.SecurityGroupRule) error {
	for _, choice := range []struct {
		field, value string
		known        []string
	}{
		{"ipVersion", rule.IPVersion, []string{"ipv4", "ipv6"}},
		{"protocol", rule.Protocol, []string{"all", "tcp", "udp", "icmp"}},
		{"remoteType", rule.RemoteType, []string{remoteAddress, remoteGroup}},
		{"policy", rule.Policy, []string{"allow", "drop"}},
	} {
		if !slices.Contains(choice.known, choice.value) {
			return invalid("field \"%s.%s\" must be one of %v, not %q", at, choice.field, choice.known, choice.value)
		}
	}
	if rule.Priority < 1 || rule.Priority > maxPriority {
		return invalid("field \"%s.priority\" must be 1 to %d, not %d", at, maxPriority, rule.Priority)
	}
	if err := s.checkRange(at, rule.PortRangeMin, rule.PortRangeMax); err != nil {
		return err
	}
	if rule.RemoteType == remoteGroup {
		return g.checkRemoteGroup(at, kept(rule.RemoteSecurityGroupIdentity, ""))
	}
	return checkRemoteAddress(at, kept(rule.RemoteAddress, ""), rule.IPVersion)
}

// checkRange checks the ports of a rule.
func (s Switches) checkRange(at string, from, to int32) error {
	lowest, highest := int32(0), int32(maxPort)
	if s.StrictSecurityGroups {
		lowest, highest = 1, maxStrictRulePort
	}
	switch {
	case from < lowest || from > highest:
		return invalid("field \"%s.portRangeMin\" must be %d to %d, not %d", at, lowest, highest, from)
	case to < lowest || to > highest:
		return invalid("field \"%s.portRangeMax\" must be %d to %d, not %d", at, lowest, highest, to)
	case from > to:
		return invalid("field \"%s.portRangeMin\": %d is more than portRangeMax %d", at, from, to)
	}
	return nil
}

func checkRemoteAddress(at, remote, version string) error {
	prefix, err := parseSource(remote)
	if err != nil {
		return invalid("field \"%s.remoteAddress\": %q is neither a CIDR nor an IP address", at, remote)
	}
	if prefix.Addr().Is4() != (version == "ipv4") {
		return invalid("field \"%s.remoteAddress\": %q is not %s", at, remote, version)
	}
	return nil
}

func (g *securityGroup) checkRemoteGroup(at, identity string) error {
	remote, found := g.vpc.org.securityGroups.exact(identity)
	if !found || !remote.wanted() || remote.vpc != g.vpc {
		return invalid("field \"%s.remoteSecurityGroupIdentity\": security group %q not found in the VPC", at, identity)
	}
	return nil
}

// setRules gives checked rules to a group, and tells the groups that they name.
func (g *securityGroup) setRules(ingress, egress []wire.SecurityGroupRule) {
	g.eachRemote(func(remote *securityGroup) { remote.users.remove("security group", g.Identity) })
	g.ingress, g.egress = ingress, egress
	g.eachRemote(func(remote *securityGroup) { remote.users.add("security group", g.Identity) })
}

// eachRemote visits the other groups that the rules name.
func (g *securityGroup) eachRemote(visit func(*securityGroup)) {
	for _, rule := range slices.Concat(g.ingress, g.egress) {
		if rule.RemoteType != remoteGroup {
			continue
		}
		remote, found := g.vpc.org.securityGroups.exact(kept(rule.RemoteSecurityGroupIdentity, ""))
		if found && remote != g {
			visit(remote)
		}
	}
}
