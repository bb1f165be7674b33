package state

import (
	"fmt"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/behaviour"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// Limits of security groups. The strict ones are documented, and the vendor's
// own tools exceed them.
const (
	maxStrictGroupName = 16
	maxPriority        = 199
	maxStrictRulePort  = object.MaxPort - 1
)

// The remote sides of a rule.
const (
	remoteAddress = "address"
	remoteGroup   = "securityGroup"
)

// CheckGroupName applies what strict validation requires of a name.
func CheckGroupName(s behaviour.Switches, name string) error {
	if !s.StrictSecurityGroups {
		return nil
	}
	foreign := func(r rune) bool { return r > unicode.MaxASCII }
	if n := utf8.RuneCountInString(name); n > maxStrictGroupName || slices.ContainsFunc([]rune(name), foreign) {
		return apierror.Invalid("field \"name\" must have 1 to %d ASCII characters, not %q", maxStrictGroupName, name)
	}
	return nil
}

// RuleSets checks the rules of both directions.
func RuleSets(s behaviour.Switches, g *SecurityGroup, ingress,
	egress []wire.SecurityGroupRule) (in, out []wire.SecurityGroupRule, err error) {
	if in, err = CheckRules(s, "ingressRules", g, ingress); err != nil {
		return nil, nil, err
	}
	if out, err = CheckRules(s, "egressRules", g, egress); err != nil {
		return nil, nil, err
	}
	return in, out, nil
}

// CheckRules are the rules that a request may give to a group.
func CheckRules(s behaviour.Switches, field string, g *SecurityGroup,
	rules []wire.SecurityGroupRule) ([]wire.SecurityGroupRule, error) {
	return checkRules(s, func(i int) string { return fmt.Sprintf("%s[%d]", field, i) }, g, rules)
}

// checkRules is CheckRules for rules at places of a list, or of two.
func checkRules(s behaviour.Switches, place func(int) string, g *SecurityGroup,
	rules []wire.SecurityGroupRule) ([]wire.SecurityGroupRule, error) {
	priorities := map[int32]int{}
	checked := make([]wire.SecurityGroupRule, 0, len(rules))
	for i, rule := range rules {
		at := place(i)
		if rule.Policy == "" && !s.StrictSecurityGroups {
			rule.Policy = "allow"
		}
		if err := checkRule(s, at, g, rule); err != nil {
			return nil, err
		}
		if first, taken := priorities[rule.Priority]; taken && (s.UniqueRulePriorities || s.StrictSecurityGroups) {
			return nil, apierror.Invalid("field \"%s.priority\": %d is the priority of %s, too", at, rule.Priority,
				place(first))
		}
		priorities[rule.Priority] = i
		checked = append(checked, rule)
	}
	return checked, nil
}

func checkRule(s behaviour.Switches, at string, g *SecurityGroup, rule wire.SecurityGroupRule) error {
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
			return apierror.Invalid("field \"%s.%s\" must be one of %v, not %q", at, choice.field, choice.known,
				choice.value)
		}
	}
	if rule.Priority < 1 || rule.Priority > maxPriority {
		return apierror.Invalid("field \"%s.priority\" must be 1 to %d, not %d", at, maxPriority, rule.Priority)
	}
	if err := checkRange(s, at, rule.PortRangeMin, rule.PortRangeMax); err != nil {
		return err
	}
	if rule.RemoteType == remoteGroup {
		return g.checkRemoteGroup(at, object.Kept(rule.RemoteSecurityGroupIdentity, ""))
	}
	return checkRemoteAddress(at, object.Kept(rule.RemoteAddress, ""), rule.IPVersion)
}

// checkRange checks the ports of a rule.
func checkRange(s behaviour.Switches, at string, from, to int32) error {
	lowest, highest := int32(0), int32(object.MaxPort)
	if s.StrictSecurityGroups {
		lowest, highest = 1, maxStrictRulePort
	}
	switch {
	case from < lowest || from > highest:
		return apierror.Invalid("field \"%s.portRangeMin\" must be %d to %d, not %d", at, lowest, highest, from)
	case to < lowest || to > highest:
		return apierror.Invalid("field \"%s.portRangeMax\" must be %d to %d, not %d", at, lowest, highest, to)
	case from > to:
		return apierror.Invalid("field %q: the first port, %d, is after the last, %d", at, from, to)
	}
	return nil
}

func checkRemoteAddress(at, remote, version string) error {
	prefix, err := ParseSource(remote)
	if err != nil {
		return apierror.Invalid("field \"%s.remoteAddress\": %q is neither a CIDR nor an IP address", at, remote)
	}
	if prefix.Addr().Is4() != (version == "ipv4") {
		return apierror.Invalid("field \"%s.remoteAddress\": %q is not %s", at, remote, version)
	}
	return nil
}

func (g *SecurityGroup) checkRemoteGroup(at, identity string) error {
	remote, found := g.VPC.Org.SecurityGroups.Exact(identity)
	if !found || !remote.Active() || remote.VPC != g.VPC {
		return apierror.Invalid("field \"%s.remoteSecurityGroupIdentity\": security group %q not found in the VPC", at,
			identity)
	}
	return nil
}

// SetRules gives checked rules to a group, and updates the references of the groups that they name.
func (g *SecurityGroup) SetRules(ingress, egress []wire.SecurityGroupRule) {
	g.eachRemote(func(remote *SecurityGroup) { remote.Users.Remove("security group", g.Identity) })
	g.Ingress, g.Egress = ingress, egress
	g.eachRemote(func(remote *SecurityGroup) { remote.Users.Add("security group", g.Identity) })
}

// eachRemote visits the other groups that the rules name.
func (g *SecurityGroup) eachRemote(visit func(*SecurityGroup)) {
	for _, rule := range slices.Concat(g.Ingress, g.Egress) {
		if rule.RemoteType != remoteGroup {
			continue
		}
		remote, found := g.VPC.Org.SecurityGroups.Exact(object.Kept(rule.RemoteSecurityGroupIdentity, ""))
		if found && remote != g {
			visit(remote)
		}
	}
}
