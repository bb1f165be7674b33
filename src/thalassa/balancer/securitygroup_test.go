package balancer

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// networks are readable ones, sorted.
func networks(texts ...string) []netip.Prefix {
	var all []netip.Prefix
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return ordered(all)
}

// open is an opening of ports for networks.
func open(protocol string, first, last int32, texts ...string) opening {
	return opening{protocol: protocol, first: first, last: last, sources: networks(texts...)}
}

func TestMerged(t *testing.T) {
	const ten, doc = "10.0.0.0/8", "192.0.2.0/24"
	tests := map[string]struct{ openings, want []opening }{
		"none": {nil, nil},
		"neighbours, in any order": {[]opening{open("tcp", 82, 82, ten), open("tcp", 80, 80, ten),
			open("tcp", 81, 81, ten)},
			[]opening{open("tcp", 80, 82, ten)}},
		"ranges": {[]opening{open("tcp", 80, 82, ten), open("tcp", 83, 90, ten)},
			[]opening{open("tcp", 80, 90, ten)}},
		"with a gap": {[]opening{open("tcp", 80, 80, ten), open("tcp", 82, 82, ten)},
			[]opening{open("tcp", 80, 80, ten), open("tcp", 82, 82, ten)}},
		"of different protocols": {[]opening{open("udp", 81, 81, ten), open("tcp", 80, 80, ten)},
			[]opening{open("tcp", 80, 80, ten), open("udp", 81, 81, ten)}},
		"for different networks": {[]opening{open("tcp", 80, 80, ten), open("tcp", 81, 81, ten, doc)},
			[]opening{open("tcp", 80, 80, ten), open("tcp", 81, 81, ten, doc)}},
		"one of others in between": {[]opening{open("tcp", 80, 80, ten), open("tcp", 81, 81, doc),
			open("tcp", 82, 82, ten)}, []opening{open("tcp", 80, 80, ten), open("tcp", 81, 81, doc),
			open("tcp", 82, 82, ten)}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			before := slices.Clone(tt.openings)
			compare := cmp.Options{cmp.AllowUnexported(opening{}), cmp.Comparer(func(a, b netip.Prefix) bool {
				return a == b
			}), cmpopts.EquateEmpty()}
			if diff := cmp.Diff(tt.want, merged(tt.openings), compare); diff != "" {
				t.Errorf("merged (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, tt.openings, compare); diff != "" {
				t.Errorf("what was merged has changed (-was +is):\n%s", diff)
			}
		})
	}
}

// subnets are as many different networks.
func subnets(count int) []string {
	var texts []string
	for i := range count {
		texts = append(texts, fmt.Sprintf("10.%d.%d.0/24", i/256, i%256))
	}
	return texts
}

// TestIngressHasTheLimitsOfTheAPI: as many rules as fit, and an error, not fewer of them, when more are needed.
func TestIngressHasTheLimitsOfTheAPI(t *testing.T) {
	all := func(openings ...opening) []opening { return openings }
	apart := func(count int) (openings []opening) {
		for i := range int32(count) {
			openings = append(openings, open("tcp", 2*i+1, 2*i+1, "10.0.0.0/8"))
		}
		return openings
	}
	tests := map[string]struct {
		openings []opening
		rules    int
		fails    string
	}{
		"none":         {nil, 0, ""},
		"189 networks": {all(open("tcp", 80, 80, subnets(189)...)), 189, ""},
		"190 networks": {all(open("tcp", 80, 80, subnets(190)...)), 0, "190 rules are needed"},
		"189 ports":    {apart(189), 189, ""},
		"190 ports":    {apart(190), 0, "190 rules are needed"},
		"adjacent ports": {all(open("tcp", 80, 80, subnets(189)...), open("tcp", 81, 81, subnets(189)...)),
			189, ""},
		"ping from 10 networks": {all(open("icmp", 1, 1, subnets(10)...)), 10, ""},
		"ping from 11 networks": {all(open("icmp", 1, 1, subnets(11)...)), 0, "11 rules are needed"},
		"all that fits":         {append(apart(189), open("icmp", 1, 1, subnets(10)...)), 199, ""},
		"the last port":         {all(open("tcp", 65534, 65534, "10.0.0.0/8")), 1, ""},
		"one more":              {all(open("tcp", 65535, 65535, "10.0.0.0/8")), 0, "port 65535"},
		"a range to one more": {all(open("tcp", 65534, 65534, "10.0.0.0/8"),
			open("tcp", 65535, 65535, "10.0.0.0/8")), 0, "port 65535"},
		"both families, everybody": {[]opening{{protocol: "tcp", first: 80, last: 80, sources: everywhere()}}, 2, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			ports, echo := tt.openings, []opening(nil)
			if n := len(ports); n > 0 && ports[n-1].protocol == protocolICMP {
				ports, echo = ports[:n-1], ports[n-1:]
			}
			rules, err := ingressOf(ports, echo)
			if tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) {
					t.Errorf("%d rules, error %v; want an error with %q", len(rules), err, tt.fails)
				}
				return
			}
			if err != nil || len(rules) != tt.rules {
				t.Errorf("%d rules, error %v; want %d", len(rules), err, tt.rules)
			}
			checkRules(t, rules)
		})
	}
}

// checkRules: the API refuses what is otherwise.
func checkRules(t *testing.T, rules []resource.Rule) {
	t.Helper()
	priorities, names := map[int32]bool{}, map[string]bool{}
	for _, rule := range rules {
		first, last := int32(1), int32(189)
		if rule.Protocol == "icmp" {
			first, last = 190, 199
		}
		if rule.Priority < first || rule.Priority > last || priorities[rule.Priority] || names[rule.Name] {
			t.Errorf("rule %s has the priority %d; want names and priorities that no other has, of %d to %d", rule.Name,
				rule.Priority, first, last)
		}
		priorities[rule.Priority], names[rule.Name] = true, true
		network, err := netip.ParsePrefix(rule.RemoteAddress)
		family := map[bool]string{true: "ipv4", false: "ipv6"}[network.Addr().Is4()]
		if err != nil || rule.IPVersion != family || rule.RemoteType != "address" || rule.Policy != "allow" ||
			rule.PortMin < 1 || rule.PortMax > 65534 {
			t.Errorf("rule %+v, error %v; want one that allows an %s network, with ports from 1 to 65534", rule, err,
				family)
		}
	}
}

// TestSameRules: what lets the same through is the same, so that nothing is written that changes nothing.
func TestSameRules(t *testing.T) {
	web, err := ingressOf([]opening{open("tcp", 80, 80, "10.0.0.0/8", "2001:db8::/32"),
		open("udp", 53, 53, "10.0.0.0/8")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	dropping := slices.Clone(web)
	dropping[0].Policy = "drop"
	with := func(rules []resource.Rule, change func([]resource.Rule)) []resource.Rule {
		changed := slices.Clone(rules)
		change(changed)
		return changed
	}
	tests := map[string]struct {
		a, b []resource.Rule
		same bool
	}{
		"the same":         {web, slices.Clone(web), true},
		"none":             {nil, []resource.Rule{}, true},
		"in another order": {web, with(web, slices.Reverse), true},
		"with other names and priorities, as the existing CCM's": {web, with(web, func(rules []resource.Rule) {
			for i := range rules {
				rules[i].Name, rules[i].Priority = "tcp", 100
			}
		}), true},
		"a network in another spelling": {web, with(web, func(rules []resource.Rule) {
			rules[0].RemoteAddress = "10.7.0.0/8"
		}), true},
		"twice the same": {web, append(slices.Clone(web), web[0]), true},
		"all protocols on ports 0, as the existing CCM's": {egress(), with(egress(), func(rules []resource.Rule) {
			for i := range rules {
				rules[i].PortMin, rules[i].PortMax, rules[i].Name, rules[i].Priority = 0, 0, "egress", 100
			}
		}), true},
		"one less": {web, web[1:], false},
		"another network": {web, with(web, func(rules []resource.Rule) {
			rules[0].RemoteAddress = "10.0.0.0/9"
		}), false},
		"another port":     {web, with(web, func(rules []resource.Rule) { rules[0].PortMax = 81 }), false},
		"another protocol": {web, with(web, func(rules []resource.Rule) { rules[0].Protocol = "udp" }), false},
		"a group": {web, with(web, func(rules []resource.Rule) {
			rules[0].RemoteType, rules[0].RemoteAddress, rules[0].RemoteGroup = "securityGroup", "", "sg-1"
		}), false},
		"dropped": {web, dropping, false},
		"dropped elsewhere": {dropping, with(dropping, func(rules []resource.Rule) {
			rules[0].Priority = 180
		}), false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := sameRules(tt.a, tt.b); got != tt.same || sameRules(tt.b, tt.a) != got {
				t.Errorf("the same: %t, want %t", got, tt.same)
			}
		})
	}
}
