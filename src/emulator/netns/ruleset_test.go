//go:build linux

package netns

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic"
)

// guarded is a VPC with security groups.
func guarded(groups ...traffic.SecurityGroup) traffic.VPC {
	return traffic.VPC{
		SecurityGroups: groups,
		Machines: []traffic.Machine{
			{Identity: "vm-1", MAC: "52:54:0a:00:00:05", Addresses: addrs("10.0.0.5", "fd00::5"),
				SecurityGroups: []string{"sg-1"}},
			{Identity: "vm-2", MAC: "52:54:0a:00:00:06", Addresses: addrs("10.0.0.6")},
			{Identity: "vm-3", SecurityGroups: []string{"sg-1"}},
		},
		LoadBalancers: []traffic.Endpoint{
			{Identity: "lb-1", Addresses: addrs("198.18.0.2", "2001:db8::2"), SecurityGroups: []string{"sg-1"}},
			{Identity: "lb-2", Addresses: addrs("198.18.0.3")},
		},
	}
}

// part is the content of a chain or set, a line each.
func part(t *testing.T, ruleset, head string) []string {
	t.Helper()
	_, rest, found := strings.Cut(ruleset, "\n\t"+head+" {\n")
	body, _, ended := strings.Cut(rest, "\n\t}")
	if !found || !ended {
		t.Fatalf("no %q in\n%s", head, ruleset)
	}
	lines := strings.Split(body, "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return lines
}

func TestRulesetFindsMembers(t *testing.T) {
	got := ruleset(guarded(traffic.SecurityGroup{Identity: "sg-1"}))
	for head, want := range map[string][]string{
		"chain from-machine": {"ether saddr vmap { 52:54:0a:00:00:05 : jump out-machine-0 }"},
		"chain to-machine": {
			"rt ip nexthop vmap { 10.0.0.5 : jump in-machine-0 }",
			"rt ip6 nexthop vmap { fd00::5 : jump in-machine-0 }",
		},
		"chain into-balancer": {
			"ip daddr vmap { 198.18.0.2 : jump in-balancer-0 }", "ip6 daddr vmap { 2001:db8::2 : jump in-balancer-0 }",
		},
		"chain out-of-balancer": {
			"ip saddr vmap { 198.18.0.2 : jump out-balancer-0 }",
			"ip6 saddr vmap { 2001:db8::2 : jump out-balancer-0 }",
		},
		"set balancers4":      {"type ipv4_addr", "elements = { 198.18.0.2, 198.18.0.3 }"},
		"set balancers6":      {"type ipv6_addr", "elements = { 2001:db8::2 }"},
		"chain in-machine-0":  {"drop"},
		"chain out-machine-0": {"drop"},
	} {
		if diff := cmp.Diff(want, part(t, got, head)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", head, diff)
		}
	}
	if strings.Contains(got, "machine-1") || strings.Contains(got, "balancer-1 ") ||
		strings.Contains(got, "machine-2") {
		t.Errorf("members without groups or interfaces have chains:\n%s", got)
	}
}

func TestRulesetRules(t *testing.T) {
	anywhere, net := netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("198.51.100.0/24")
	for name, tt := range map[string]struct {
		group   traffic.SecurityGroup
		ingress []string
		egress  []string
	}{
		"ports": {
			group: traffic.SecurityGroup{
				Ingress: []traffic.Rule{{Priority: 1, Protocol: "tcp", FirstPort: 80, LastPort: 81, Remote: net}},
				Egress:  []traffic.Rule{{Priority: 1, Protocol: "udp", FirstPort: 53, LastPort: 53, Remote: net}},
			},
			ingress: []string{"ip saddr 198.51.100.0/24 tcp dport 80-81 return"},
			egress:  []string{"ip daddr 198.51.100.0/24 udp dport 53-53 return"},
		},
		"all of it": {
			group: traffic.SecurityGroup{
				Ingress: []traffic.Rule{{Priority: 1, Protocol: "all", Remote: anywhere}, {Priority: 2, Protocol: "tcp",
					Remote: anywhere}},
				Egress: []traffic.Rule{{Priority: 1, Protocol: "all", IPv6: true,
					Remote: netip.MustParsePrefix("::/0")}},
			},
			ingress: []string{"meta nfproto ipv4 return", "meta nfproto ipv4 meta l4proto tcp return"},
			egress:  []string{"meta nfproto ipv6 return"},
		},
		"icmp": {
			group: traffic.SecurityGroup{Ingress: []traffic.Rule{
				{Priority: 1, Protocol: "icmp", FirstPort: 1, LastPort: 1, Remote: net},
				{Priority: 2, Protocol: "icmp", Remote: net, FirstPort: 0, LastPort: 255},
				{Priority: 3, Protocol: "icmp", FirstPort: 1, LastPort: 1, IPv6: true,
					Remote: netip.MustParsePrefix("fd00::/64")},
			}},
			ingress: []string{
				"ip saddr 198.51.100.0/24 icmp type echo-request return",
				"ip saddr 198.51.100.0/24 meta l4proto icmp return",
				"ip6 saddr fd00::/64 icmpv6 type echo-request return",
			},
		},
		"priorities": {
			group: traffic.SecurityGroup{Ingress: []traffic.Rule{
				{Priority: 20, Protocol: "all", Remote: net}, {Priority: 10, Drop: true, Protocol: "all", Remote: net},
				{Priority: 20, Drop: true, Protocol: "all", Remote: anywhere},
			}},
			ingress: []string{"ip saddr 198.51.100.0/24 drop", "ip saddr 198.51.100.0/24 return",
				"meta nfproto ipv4 drop"},
		},
		"a group": {
			group: traffic.SecurityGroup{
				Ingress: []traffic.Rule{{Priority: 1, Protocol: "all", RemoteGroup: "sg-1"},
					{Priority: 2, Protocol: "all", RemoteGroup: "sg-none"}},
				Egress: []traffic.Rule{{Priority: 1, Protocol: "all", IPv6: true, RemoteGroup: "sg-1"}},
			},
			ingress: []string{
				"meta nfproto ipv4 ether saddr { 52:54:0a:00:00:05 } return",
				"meta nfproto ipv4 ip saddr { 10.0.0.5, 198.18.0.2 } return",
			},
			egress: []string{
				"meta nfproto ipv6 ip6 daddr { fd00::5, 2001:db8::2 } return",
				"meta nfproto ipv6 rt ip6 nexthop { fd00::5 } return",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tt.group.Identity = "sg-1"
			got := ruleset(guarded(tt.group))
			for head, want := range map[string][]string{
				"chain in-machine-0": tt.ingress, "chain out-machine-0": tt.egress, "chain in-balancer-0": tt.ingress,
			} {
				if diff := cmp.Diff(append(want, "drop"), part(t, got, head)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", head, diff)
				}
			}
		})
	}
}

// What the tests above want is what nft understands.
func TestRulesetIsAccepted(t *testing.T) {
	rules := []traffic.Rule{
		{Priority: 1, Protocol: "icmp", FirstPort: 1, LastPort: 1, Remote: netip.MustParsePrefix("198.51.100.0/24")},
		{Priority: 1, Protocol: "icmp", FirstPort: 1, LastPort: 1, IPv6: true,
			Remote: netip.MustParsePrefix("fd00::/64")},
		{Priority: 2, Protocol: "icmp", IPv6: true, Remote: netip.MustParsePrefix("::/0")},
		{Priority: 3, Protocol: "udp", FirstPort: 1, LastPort: 65535, IPv6: true, RemoteGroup: "sg-1"},
		{Priority: 3, Protocol: "tcp", Drop: true, RemoteGroup: "sg-1"},
		{Priority: 4, Protocol: "all", Remote: netip.MustParsePrefix("0.0.0.0/0")},
	}
	asRoot(t, func(c *cloud) {
		s := c.plane.hub.client
		var f filter
		if err := f.apply(s,
			ruleset(guarded(traffic.SecurityGroup{Identity: "sg-1", SameGroupTraffic: true, Ingress: rules,
				Egress: rules}))); err != nil {
			t.Error(err)
		}
		before := f.applied
		if err := f.apply(s, "nonsense"); err == nil ||
			!strings.Contains(err.Error(), `filtering in network namespace "`+s.Name()+`": nft: exit status 1`) ||
			f.applied != before {
			t.Errorf("nonsense: %v", err)
		}
	})
}
