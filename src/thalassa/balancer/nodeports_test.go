package balancer

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// nodeRulesOf are those of a Service in a group with such rules.
func nodeRulesOf(uid string, ingress []resource.Rule, wanted ...opening) nodeRules {
	n := nodeRules{group: &resource.SecurityGroup{Ingress: ingress}, NodeRules: NodeRules{Prefix: rulePrefix(uid)}}
	n.Wanted = n.rulesFor(merged(wanted))
	return n
}

// byHand is a rule that somebody made in the nodes' group.
func byHand(name string, priority int32) resource.Rule {
	return resource.Rule{Name: name, IPVersion: "ipv4", Protocol: "tcp", Priority: priority, RemoteType: "address",
		RemoteAddress: "172.16.0.0/12", PortMin: 22, PortMax: 22, Policy: "allow"}
}

// full are as many rules of others.
func full(count int) []resource.Rule {
	var rules []resource.Rule
	for i := range int32(count) {
		rules = append(rules, byHand(fmt.Sprintf("rule-%d", i), i+1))
	}
	return rules
}

// rulesText is a line for each rule.
func rulesText(rules []resource.Rule) []string {
	var texts []string
	for _, rule := range rules {
		texts = append(texts, fmt.Sprintf("%d: %s %d-%d from %s", rule.Priority, rule.Protocol, rule.PortMin,
			rule.PortMax, rule.RemoteAddress))
	}
	return texts
}

// TestWiden adds what is missing at free priorities, and leaves everything else as it is.
func TestWiden(t *testing.T) {
	const subnet, six = "10.1.0.0/24", "2001:db8::/64"
	http := open("tcp", 30080, 30080, subnet)
	ours := func(priority int32) resource.Rule {
		rule := nodeRulesOf("web", nil, http).Wanted[0]
		rule.Priority = priority
		return rule
	}
	tests := map[string]struct {
		present []resource.Rule
		wanted  []opening
		added   []string
		fits    bool
	}{
		"into an empty group": {nil, []opening{http}, []string{"1: tcp 30080-30080 from 10.1.0.0/24"}, true},
		"between others' rules": {[]resource.Rule{byHand("a", 1), byHand("b", 3)},
			[]opening{open("tcp", 30080, 30080, subnet, six)}, []string{"2: tcp 30080-30080 from 10.1.0.0/24",
				"4: tcp 30080-30080 from 2001:db8::/64"}, true},
		"adjacent ports": {nil, []opening{http, open("tcp", 30081, 30081, subnet)},
			[]string{"1: tcp 30080-30081 from 10.1.0.0/24"}, true},
		"what is there": {[]resource.Rule{byHand("a", 1), ours(7)}, []opening{http}, nil, true},
		"one more than what is there": {[]resource.Rule{ours(1)}, []opening{http, open("udp", 30053, 30053, subnet)},
			[]string{"2: udp 30053-30053 from 10.1.0.0/24"}, true},
		"what another has by hand": {[]resource.Rule{{Name: "mine", IPVersion: "ipv4", Protocol: "tcp",
			Priority: 1, RemoteType: "address", RemoteAddress: subnet, PortMin: 30080, PortMax: 30080,
			Policy: "allow"}}, []opening{http}, []string{"2: tcp 30080-30080 from 10.1.0.0/24"}, true},
		"the last free place": {full(198), []opening{http}, []string{"199: tcp 30080-30080 from 10.1.0.0/24"},
			true},
		"a full group": {full(199), []opening{http}, nil, false},
		"two of which one fits": {full(198), []opening{open("tcp", 30080, 30080, subnet, six)},
			[]string{"199: tcp 30080-30080 from 10.1.0.0/24"}, false},
		"a full group, nothing missing": {append(full(198), ours(199)), []opening{http}, nil, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			n := nodeRulesOf("web", tt.present, tt.wanted...)
			got := n.WithMissing(tt.present)
			if len(got) < len(tt.present) || !slices.Equal(got[:len(tt.present)], tt.present) {
				t.Fatalf("rules %v do not begin with those that were there, %v", rulesText(got), rulesText(tt.present))
			}
			if diff := cmp.Diff(tt.added, rulesText(got[len(tt.present):]), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("added (-want +got):\n%s", diff)
			}
			if n.fits() != tt.fits {
				t.Errorf("it fits: %t, want %t", n.fits(), tt.fits)
			}
			if again := n.WithMissing(got); tt.fits && !slices.Equal(again, got) {
				t.Errorf("a second time it adds %v", rulesText(again[len(got):]))
			}
		})
	}
}

// TestNarrow takes away what the Service had and does not want, and nothing of another Service or of a person.
func TestNarrow(t *testing.T) {
	const subnet = "10.1.0.0/24"
	http, dns := open("tcp", 30080, 30080, subnet), open("udp", 30053, 30053, subnet)
	present := nodeRulesOf("other", nil, http, dns).WithMissing([]resource.Rule{byHand("a", 2),
		byHand("k8s-by-hand", 5)})
	others := slices.Clone(present)
	present = nodeRulesOf("web", nil, http, dns).WithMissing(present)
	tests := map[string]struct {
		wanted []opening
		left   int // of the Service's rules
	}{"all are wanted": {[]opening{http, dns}, 2}, "one is wanted": {[]opening{dns}, 1}, "none is wanted": {nil, 0},
		"another is wanted": {[]opening{open("tcp", 31000, 31000, subnet)}, 0}}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			n := nodeRulesOf("web", present, tt.wanted...)
			got := n.WithoutSurplus(present)
			if len(n.ofService(got)) != tt.left || len(n.surplus(present)) != 2-tt.left || len(n.surplus(got)) != 0 {
				t.Errorf("left are %v, want %d of the Service's", rulesText(n.ofService(got)), tt.left)
			}
			foreign := slices.DeleteFunc(slices.Clone(got), func(rule resource.Rule) bool {
				return slices.Contains(n.ofService(got), rule)
			})
			if diff := cmp.Diff(others, foreign); diff != "" {
				t.Errorf("others' rules (-were +are):\n%s", diff)
			}
		})
	}
}

// TestNodeRulesOfAService: for each node port and the subnet's networks, if the Service asks for them and it is known
// where they go.
func TestNodeRulesOfAService(t *testing.T) {
	group := &resource.SecurityGroup{ID: "sg-nodes"}
	tests := map[string]struct {
		asked  string
		local  int32
		source []string
		want   []string
	}{
		"asked for": {"true", 0, []string{"10.1.0.0/24"},
			[]string{"tcp 30080-30081 from 10.1.0.0/24"}},
		"asked for, both families": {"true", 0, []string{"10.1.0.0/24", "2001:db8::/64"},
			[]string{"tcp 30080-30081 from 10.1.0.0/24", "tcp 30080-30081 from 2001:db8::/64"}},
		"with policy Local": {"true", 32000, []string{"10.1.0.0/24"},
			[]string{"tcp 30080-30081 from 10.1.0.0/24", "tcp 32000-32000 from 10.1.0.0/24"}},
		"not wanted":                      {"false", 0, []string{"10.1.0.0/24"}, nil},
		"cannot be read":                  {"perhaps", 0, []string{"10.1.0.0/24"}, nil},
		"from a subnet that is not known": {"true", 0, nil, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			web := service("web", 80, 81)
			annotated("open-node-ports", tt.asked)(web)
			d := desired{labels: resource.Labels{}, resolved: resolved{nodeGroup: group,
				nodeSources: networks(tt.source...)}}
			d.settings, _ = newAnnotations().read(web)
			d.Desired = cloud.Desire(cloud.OwnerOf("k8s-test", web), web, cloud.Targets{})
			d.HealthCheckNodePort = tt.local
			var got []string
			for _, text := range rulesText(d.newNodeRules(Observed{}).Wanted) {
				_, rule, _ := strings.Cut(text, ": ")
				got = append(got, rule)
			}
			if diff := cmp.Diff(tt.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("rules (-want +got):\n%s", diff)
			}
		})
	}
}
