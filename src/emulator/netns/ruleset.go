//go:build linux

package netns

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic"
)

// Packets pass the router of their VPC once, whoever talks to whom: from machine
// to machine they are forwarded, to a load balancer they are input and from one
// output. On each way the sender's egress rules and then the receiver's ingress
// rules are asked. A chain that lets a packet pass returns.
const hooks = `
	chain forward {
		type filter hook forward priority filter; policy accept;
		ct state established,related accept
		jump from-machine
		jump to-machine
	}
	chain input {
		type filter hook input priority filter; policy accept;
		ct state established,related accept
		ip daddr @balancers4 jump to-balancer
		ip6 daddr @balancers6 jump to-balancer
	}
	chain to-balancer {
		jump from-machine
		jump into-balancer
	}
	chain output {
		type filter hook output priority filter; policy accept;
		icmpv6 type nd-redirect drop
		ct state established,related accept
		icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } accept
		ip saddr @balancers4 jump from-balancer
		ip6 saddr @balancers6 jump from-balancer
	}
	chain from-balancer {
		jump out-of-balancer
		jump to-machine
	}
`

// member is a machine or a load balancer, as seen by filters.
type member struct {
	// name is unique in its VPC and fit for the name of a chain.
	name string
	// mac is empty for load balancers.
	mac       string
	addresses []netip.Addr
	groups    []string
}

// filters writes the rules of a VPC.
type filters struct {
	strings.Builder
	members []member
	groups  map[string]traffic.SecurityGroup
}

// ruleset is the content of the table of a VPC's router.
func ruleset(vpc traffic.VPC) string {
	f := &filters{groups: map[string]traffic.SecurityGroup{}}
	for _, g := range vpc.SecurityGroups {
		f.groups[g.Identity] = g
	}
	for i, m := range vpc.Machines {
		if m.MAC != "" {
			f.members = append(f.members, member{fmt.Sprintf("machine-%d", i), m.MAC, m.Addresses, m.SecurityGroups})
		}
	}
	for i, lb := range vpc.LoadBalancers {
		f.members = append(f.members, member{fmt.Sprintf("balancer-%d", i), "", lb.Addresses, lb.SecurityGroups})
	}
	for _, m := range f.members {
		if len(m.groups) > 0 {
			f.chain(m, "out", f.egress)
			f.chain(m, "in", f.ingress)
		}
	}
	f.dispatch()
	f.WriteString(hooks)
	return f.String()
}

// dispatch writes the chains that find the chains of senders and receivers.
func (f *filters) dispatch() {
	balancers := f.those(func(m member) bool { return m.mac == "" })
	f.balancers("balancers4", "ipv4_addr", balancers, true)
	f.balancers("balancers6", "ipv6_addr", balancers, false)
	balancers = slices.DeleteFunc(balancers, func(m member) bool { return len(m.groups) == 0 })
	machines := f.those(func(m member) bool { return m.mac != "" && len(m.groups) > 0 })

	var senders []string
	for _, m := range machines {
		senders = append(senders, m.mac+" : jump out-"+m.name)
	}
	f.block("chain from-machine", vmap("ether saddr", senders))
	// The next hop, because what is for pods goes through machines, too.
	f.block("chain to-machine", vmap("rt ip nexthop", verdicts(machines, true, "in")),
		vmap("rt ip6 nexthop", verdicts(machines, false, "in")))
	f.block("chain into-balancer", vmap("ip daddr", verdicts(balancers, true, "in")),
		vmap("ip6 daddr", verdicts(balancers, false, "in")))
	f.block("chain out-of-balancer", vmap("ip saddr", verdicts(balancers, true, "out")),
		vmap("ip6 saddr", verdicts(balancers, false, "out")))
}

func (f *filters) those(fit func(member) bool) []member {
	return slices.DeleteFunc(slices.Clone(f.members), func(m member) bool { return !fit(m) })
}

// balancers writes a set of the addresses of all load balancers.
func (f *filters) balancers(name, kind string, members []member, v4 bool) {
	lines := []string{"type " + kind}
	var all []string
	for _, m := range members {
		all = append(all, family(m.addresses, v4)...)
	}
	if len(all) > 0 {
		lines = append(lines, "elements = { "+strings.Join(all, ", ")+" }")
	}
	f.block("set "+name, lines...)
}

// family are the addresses of one family.
func family(addresses []netip.Addr, v4 bool) []string {
	var out []string
	for _, addr := range addresses {
		if addr.Is4() == v4 {
			out = append(out, addr.String())
		}
	}
	return out
}

// verdicts send what belongs to a member's addresses to its chain.
func verdicts(members []member, v4 bool, direction string) []string {
	var out []string
	for _, m := range members {
		for _, addr := range family(m.addresses, v4) {
			out = append(out, addr+" : jump "+direction+"-"+m.name)
		}
	}
	return out
}

func vmap(what string, elements []string) string {
	if len(elements) == 0 {
		return ""
	}
	return what + " vmap { " + strings.Join(elements, ", ") + " }"
}

// block writes a chain or set with lines, of which some may be empty.
func (f *filters) block(head string, lines ...string) {
	fmt.Fprintf(f, "\n\t%s {\n", head)
	for _, line := range lines {
		if line != "" {
			fmt.Fprintf(f, "\t\t%s\n", line)
		}
	}
	f.WriteString("\t}\n")
}

// chain writes what a member may send or receive: the rules of all its groups in
// the order of their priorities, and then nothing else.
func (f *filters) chain(m member, direction string, side func(traffic.SecurityGroup) (remote, []traffic.Rule)) {
	var lines []string
	var rules []traffic.Rule
	var at remote
	for _, identity := range m.groups {
		g := f.groups[identity]
		var own []traffic.Rule
		at, own = side(g)
		rules = append(rules, own...)
		if g.SameGroupTraffic {
			for _, v6 := range []bool{false, true} {
				lines = append(lines, f.lines(at, traffic.Rule{IPv6: v6, Protocol: "all", RemoteGroup: identity})...)
			}
		}
	}
	slices.SortStableFunc(rules, func(a, b traffic.Rule) int { return cmp.Compare(a.Priority, b.Priority) })
	for _, rule := range rules {
		lines = append(lines, f.lines(at, rule)...)
	}
	f.block("chain "+direction+"-"+m.name, append(lines, "drop")...)
}

// remote is how the other side of a connection is matched.
type remote struct {
	// address is saddr or daddr.
	address string
	// machine matches a machine, by its hardware's address or as the next hop.
	machine func(m member, v4 bool) (match string, values []string)
}

func (f *filters) ingress(g traffic.SecurityGroup) (remote, []traffic.Rule) {
	return remote{"saddr", func(m member, _ bool) (string, []string) {
		return "ether saddr", []string{m.mac}
	}}, g.Ingress
}

func (f *filters) egress(g traffic.SecurityGroup) (remote, []traffic.Rule) {
	return remote{"daddr", func(m member, v4 bool) (string, []string) {
		return "rt " + protocolName(v4) + " nexthop", family(m.addresses, v4)
	}}, g.Egress
}

func protocolName(v4 bool) string {
	if v4 {
		return "ip"
	}
	return "ip6"
}

// lines are the lines that a rule makes.
func (f *filters) lines(at remote, rule traffic.Rule) []string {
	verdict := "return"
	if rule.Drop {
		verdict = "drop"
	}
	var out []string
	for _, match := range f.remotes(at, rule) {
		line := strings.Join([]string{match, service(rule), verdict}, " ")
		out = append(out, strings.Join(strings.Fields(line), " "))
	}
	return out
}

// remotes match the other side of a rule; none when its group has no members.
func (f *filters) remotes(at remote, rule traffic.Rule) []string {
	v4 := !rule.IPv6
	only := "meta nfproto ipv" + map[bool]string{true: "4", false: "6"}[v4]
	if rule.RemoteGroup == "" {
		if rule.Remote.Bits() == 0 {
			return []string{only}
		}
		return []string{protocolName(v4) + " " + at.address + " " + rule.Remote.String()}
	}
	matches := map[string][]string{}
	for _, m := range f.members {
		if !slices.Contains(m.groups, rule.RemoteGroup) {
			continue
		}
		by := protocolName(v4) + " " + at.address
		matches[by] = append(matches[by], family(m.addresses, v4)...)
		if m.mac != "" {
			match, values := at.machine(m, v4)
			matches[match] = append(matches[match], values...)
		}
	}
	var out []string
	for match, values := range matches {
		if len(values) > 0 {
			out = append(out, only+" "+match+" { "+strings.Join(values, ", ")+" }")
		}
	}
	slices.Sort(out)
	return out
}

// service matches the protocol and the ports of a rule.
func service(rule traffic.Rule) string {
	switch rule.Protocol {
	case "tcp", "udp":
		if rule.FirstPort == 0 && rule.LastPort == 0 {
			return "meta l4proto " + rule.Protocol
		}
		return fmt.Sprintf("%s dport %d-%d", rule.Protocol, rule.FirstPort, rule.LastPort)
	case "icmp":
		name := "icmp"
		if rule.IPv6 {
			name = "icmpv6"
		}
		if rule.FirstPort == 1 && rule.LastPort == 1 {
			return name + " type echo-request"
		}
		return "meta l4proto " + map[bool]string{false: "icmp", true: "ipv6-icmp"}[rule.IPv6]
	}
	return ""
}
