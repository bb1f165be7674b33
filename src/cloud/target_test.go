package cloud

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cloud-provider/api"
)

// identify returns the id in a provider ID "test://id". "test://" names no machine.
func identify(node *corev1.Node) (string, bool) {
	id, ours := strings.CutPrefix(node.Spec.ProviderID, "test://")
	if !ours {
		return "", node.Spec.ProviderID == ""
	}
	return id, true
}

// on returns targets, of which each is "machine:node", or the name of both.
func on(all ...string) []Target {
	var targets []Target
	for _, one := range all {
		machine, node, named := strings.Cut(one, ":")
		if !named {
			node = machine
		}
		targets = append(targets, Target{Machine: machine, Node: node})
	}
	return targets
}

func node(name string, change ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{ProviderID: "test://" + name}}
	for _, c := range change {
		c(n)
	}
	return n
}

func TestChooseTargets(t *testing.T) {
	excluded := func(n *corev1.Node) { n.Labels = map[string]string{corev1.LabelNodeExcludeBalancers: ""} }
	included := func(n *corev1.Node) { n.Labels = map[string]string{corev1.LabelNodeExcludeBalancers: "false"} }
	otherCloud := func(n *corev1.Node) { n.Spec.ProviderID = "other://x" }
	unmanaged := func(n *corev1.Node) { n.Spec.ProviderID = "" }
	unknown := func(n *corev1.Node) {
		n.Spec.ProviderID, n.Spec.Taints = "", []corev1.Taint{{Key: api.TaintExternalCloudProvider}}
	}
	invalid := func(n *corev1.Node) { n.Spec.ProviderID = "test://" }
	deleting := func(n *corev1.Node) { n.DeletionTimestamp = &metav1.Time{} }
	scalingDown := func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: TaintToBeDeleted}} }
	notReady := func(n *corev1.Node) {
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse}}
	}
	noNetwork := func(n *corev1.Node) {
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeNetworkUnavailable,
			Status: corev1.ConditionTrue}}
	}
	tests := []struct {
		name  string
		nodes []*corev1.Node
		want  Targets
	}{
		{"none", nil, Targets{}},
		{"sorted, once each", []*corev1.Node{node("b"), node("a"), node("b")}, Targets{Serving: on("a", "b")}},
		{"not ready stays", []*corev1.Node{node("a", notReady)}, Targets{Serving: on("a")}},
		{"excluded by label", []*corev1.Node{node("a", excluded), node("b")},
			Targets{Serving: on("b"), Excluded: on("a")}},
		{"marked by the autoscaler", []*corev1.Node{node("a", scalingDown), node("b")},
			Targets{Serving: on("b"), Excluded: on("a")}},
		{"being deleted", []*corev1.Node{node("a", deleting), node("b")},
			Targets{Serving: on("b"), Excluded: on("a")}},
		{"without network is joining", []*corev1.Node{node("b", noNetwork), node("a")},
			Targets{Serving: on("a"), Joining: on("b")}},
		{"label says not excluded", []*corev1.Node{node("a", included)}, Targets{Serving: on("a")}},
		{"not yet identified", []*corev1.Node{node("a", unknown), node("b")},
			Targets{Serving: on("b"), Unidentified: []string{"a"}}},
		{"without a valid provider ID", []*corev1.Node{node("a", invalid), node("b")},
			Targets{Serving: on("b"), Unidentified: []string{"a"}}},
		{"of another cloud", []*corev1.Node{node("b", otherCloud), node("a", otherCloud, excluded),
			node("c", otherCloud, noNetwork)}, Targets{}},
		{"of another cloud, beside ours", []*corev1.Node{node("b"), node("a", otherCloud)},
			Targets{Serving: on("b")}},
		{"unmanaged, beside ours", []*corev1.Node{node("a", unmanaged), node("b")},
			Targets{Serving: on("b")}},
		{"unmanaged, beside one that is not identified", []*corev1.Node{node("a", unmanaged), node("b", unknown)},
			Targets{Unidentified: []string{"b"}}},
		{"only unmanaged", []*corev1.Node{node("b", unmanaged), node("a", unmanaged), node("c", otherCloud)},
			Targets{Unidentified: []string{"a", "b"}}},
		{"excluded, without network", []*corev1.Node{node("a", noNetwork, excluded)}, Targets{}},
		{"excluded and unidentified is no gap", []*corev1.Node{node("a", unknown, excluded)}, Targets{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, ChooseTargets(tt.nodes, identify)); diff != "" {
				t.Errorf("targets (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTargetsOn: with the policy Local, only nodes with a ready endpoint are targets. Without any, the set is not
// known, unless there is no node.
func TestTargetsOn(t *testing.T) {
	all := Targets{Serving: on("id-1:a", "id-2:b"),
		Unidentified: []string{"c"}}
	withExcluded := Targets{Serving: on("id-1:a", "id-2:b"), Joining: on("id-3:j"),
		Excluded: on("id-7:x", "id-8:y")}
	tests := []struct {
		name  string
		nodes Targets
		ready []string
		want  Targets
	}{
		{"one of two", all, []string{"b"}, Targets{Serving: on("id-2:b")}},
		{"one is not identified", all, []string{"b", "c"}, Targets{Serving: on("id-2:b"),
			Unidentified: []string{"c"}}},
		{"no endpoint", all, nil, Targets{NotKnown: NoEndpointReady}},
		{"one that names no node", all, []string{""}, Targets{NotKnown: EndpointsNameless}},
		{"one that names no node, and one on a node that is not there", all, []string{"", "x"},
			Targets{NotKnown: EndpointsNameless}},
		{"one that names no node, and one on a node", all, []string{"", "b"}, Targets{Serving: on("id-2:b")}},
		{"all on nodes that are not there", all, []string{"x"}, Targets{NotKnown: EndpointsElsewhere}},
		{"one on a node that is excluded", withExcluded, []string{"b", "x"}, Targets{Serving: on("id-2:b")}},
		{"all on nodes that are excluded", withExcluded, []string{"x", "z"},
			Targets{Serving: on("id-7:x"), LastResort: true}},
		{"on one that is excluded, and one that is joining", withExcluded, []string{"x", "j"},
			Targets{Serving: on("id-7:x"), Joining: on("id-3:j"), LastResort: true}},
		{"every node is excluded", Targets{Excluded: on("id-7:x")}, []string{"x"},
			Targets{Serving: on("id-7:x"), LastResort: true}},
		{"every node is excluded, and the endpoint is on none", Targets{Excluded: on("id-7:x")}, []string{"y"},
			Targets{}},
		{"only nodes match that are excluded", Targets{NotKnown: NoNodeMatches, Excluded: on("id-7:x")}, []string{"x"},
			Targets{Serving: on("id-7:x"), LastResort: true}},
		{"no endpoint and no node", Targets{}, nil, Targets{}},
		{"no node", Targets{}, []string{"x"}, Targets{}},
		{"the nodes are unknown", Targets{NotKnown: NodesNotRead}, []string{"x"}, Targets{NotKnown: NodesNotRead}},
		{"no node matches", Targets{NotKnown: NoNodeMatches}, []string{"x"},
			Targets{NotKnown: NoNodeMatches}},
		{"no node matches, and no endpoint", Targets{NotKnown: NoNodeMatches}, nil,
			Targets{NotKnown: NoNodeMatches}},
		{"one is joining", Targets{Serving: on("id-1:a"),
			Joining: on("id-2:b", "id-3:c")}, []string{"a", "c"},
			Targets{Serving: on("id-1:a"), Joining: on("id-3:c")}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tt.nodes.On(inSet(tt.ready), nil)); diff != "" {
				t.Errorf("targets (-want +got):\n%s", diff)
			}
		})
	}
}

// inSet returns the set of the names.
func inSet(names []string) map[string]bool {
	set := map[string]bool{}
	for _, name := range names {
		set[name] = true
	}
	return set
}

// TestTargetsOnDraining: with the policy Local, draining nodes stay where they are targets, and are added nowhere.
func TestTargetsOnDraining(t *testing.T) {
	all := Targets{Serving: on("id-1:a", "id-2:b", "id-3:c"),
		Joining: on("id-4:j"), Excluded: on("id-7:x")}
	tests := map[string]struct{ ready, draining, observed, want []string }{
		"one that is a target":           {[]string{"b"}, []string{"a"}, []string{"id-1"}, []string{"id-1", "id-2"}},
		"one that is none":               {[]string{"b"}, []string{"a"}, []string{"id-2"}, []string{"id-2"}},
		"one that has drained":           {[]string{"b"}, nil, []string{"id-1", "id-2"}, []string{"id-2"}},
		"one that does not exist":        {[]string{"b"}, []string{"z"}, []string{"id-1", "id-2"}, []string{"id-2"}},
		"one without a network":          {[]string{"b"}, []string{"j"}, []string{"id-4"}, []string{"id-2", "id-4"}},
		"one that is excluded":           {[]string{"b"}, []string{"x"}, []string{"id-7"}, []string{"id-2", "id-7"}},
		"one of them is ready":           {[]string{"a"}, []string{"a"}, []string{"id-1"}, []string{"id-1"}},
		"and the ready one only joins":   {[]string{"j"}, []string{"a"}, []string{"id-1"}, []string{"id-1"}},
		"and the ready one is excluded":  {[]string{"x"}, []string{"a"}, []string{"id-1"}, []string{"id-1", "id-7"}},
		"all that there are":             {nil, []string{"a"}, []string{"id-1", "id-3"}, []string{"id-1", "id-3"}},
		"and the ready one is elsewhere": {[]string{"z"}, []string{"a"}, []string{"id-1"}, []string{"id-1"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := all.On(inSet(tt.ready), inSet(tt.draining)).Over(tt.observed)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("targets (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTargetsOutside: if a selector matches no node, the targets do not change, unless there is no node at all.
func TestTargetsOutside(t *testing.T) {
	one := Targets{Serving: on("id-1:a")}
	unmatched := Targets{NotKnown: NoNodeMatches}
	tests := []struct {
		name              string
		chosen, all, want Targets
	}{
		{"one matches", one, one, one},
		{"none matches", Targets{}, one, unmatched},
		{"none matches, and one is joining", Targets{}, Targets{Joining: on("id-1:a")}, unmatched},
		{"none matches, and one is not identified", Targets{}, Targets{Unidentified: []string{"a"}},
			unmatched},
		{"one that is not identified matches", Targets{Unidentified: []string{"a"}}, one,
			Targets{Unidentified: []string{"a"}}},
		{"there is none", Targets{}, Targets{}, Targets{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tt.chosen.Outside(tt.all)); diff != "" {
				t.Errorf("targets (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTargetsOnly(t *testing.T) {
	all := Targets{Serving: on("id-1:b", "id-2:a")}
	if diff := cmp.Diff(all, all.Only([]string{"id-1", "id-2"}, nil)); diff != "" {
		t.Errorf("all are there (-want +got):\n%s", diff)
	}
	want := Targets{Serving: on("id-2:a"), Missing: on("id-1:b")}
	if diff := cmp.Diff(want, all.Only([]string{"id-2"}, nil)); diff != "" {
		t.Errorf("one is missing (-want +got):\n%s", diff)
	}
	joining := Targets{Serving: on("b"), Joining: on("a", "c")}
	if diff := cmp.Diff([]string{"a", "b", "c"}, MachinesOf(joining.Serving, joining.Joining)); diff != "" {
		t.Errorf("all machines (-want +got):\n%s", diff)
	}
	want = Targets{Serving: on("b"), Joining: on("c"), Missing: on("a")}
	if diff := cmp.Diff(want, joining.Only([]string{"b", "c"}, nil)); diff != "" {
		t.Errorf("one that joins is missing (-want +got):\n%s", diff)
	}
	unsure := all.Only([]string{"id-2"}, []string{"id-1"})
	want = Targets{Serving: on("id-2:a"), Unknown: on("id-1:b")}
	if diff := cmp.Diff(want, unsure); diff != "" {
		t.Errorf("one is not known (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"id-1", "id-2"}, unsure.Over([]string{"id-1", "id-3"})); diff != "" {
		t.Errorf("one that is not known left its place (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"id-2"}, unsure.Over([]string{"id-3"})); diff != "" {
		t.Errorf("one that is not known was added (-want +got):\n%s", diff)
	}
}

// TestTwoNodesOnOneMachine: they are one target, in any order of the nodes. It is ready if one of them is, and not
// joining if one of them has a network.
func TestTwoNodesOnOneMachine(t *testing.T) {
	second := node("b")
	second.Spec.ProviderID = "test://a"
	second.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	third := node("c")
	third.Spec.ProviderID = "test://a"
	third.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeNetworkUnavailable,
		Status: corev1.ConditionTrue}}
	want := Targets{Serving: []Target{{Machine: "a", Node: "a", Ready: true}}}
	for _, nodes := range [][]*corev1.Node{{node("a"), second, third}, {third, second, node("a")}} {
		if diff := cmp.Diff(want, ChooseTargets(nodes, identify)); diff != "" {
			t.Errorf("targets (-want +got):\n%s", diff)
		}
	}
}

func TestTargetsOver(t *testing.T) {
	observed := []string{"a", "b"}
	tests := []struct {
		name   string
		chosen Targets
		want   []string
	}{
		{"chosen set wins", Targets{Serving: on("c")}, []string{"c"}},
		{"incomplete but not empty wins", Targets{Serving: on("c"), Unidentified: []string{"b"}}, []string{"c"}},
		{"empty because nothing is known keeps the observed", Targets{NotKnown: NodesNotRead}, observed},
		{"no Node is identified", Targets{Unidentified: []string{"c"}}, observed},
		{"no machine exists", Targets{Missing: on("c")}, observed},
		{"no machine certainly exists", Targets{Unknown: on("c")}, observed},
		{"truly none empties", Targets{}, nil},
		{"who is joining and there stays", Targets{Serving: on("c"), Joining: on("b")},
			[]string{"b", "c"}},
		{"who is joining and not there is not added", Targets{Serving: on("a"), Joining: on("z")},
			[]string{"a"}},
		{"all are joining", Targets{Joining: on("z")}, observed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.chosen.Over(observed); !slices.Equal(got, tt.want) {
				t.Errorf("Over = %v, want %v", got, tt.want)
			}
		})
	}
}
