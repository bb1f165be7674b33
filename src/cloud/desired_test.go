package cloud

import (
	"context"
	"errors"
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
		{"sorted, once each", []*corev1.Node{node("b"), node("a"), node("b")}, Targets{Identities: []string{"a", "b"},
			Names: []string{"a", "b"}}},
		{"not ready stays", []*corev1.Node{node("a", notReady)}, Targets{Identities: []string{"a"},
			Names: []string{"a"}}},
		{"excluded by label", []*corev1.Node{node("a", excluded), node("b")},
			Targets{Identities: []string{"b"}, Names: []string{"b"}, Excluded: []string{"a"},
				ExcludedNames: []string{"a"}}},
		{"marked by the autoscaler", []*corev1.Node{node("a", scalingDown), node("b")},
			Targets{Identities: []string{"b"}, Names: []string{"b"}, Excluded: []string{"a"},
				ExcludedNames: []string{"a"}}},
		{"being deleted", []*corev1.Node{node("a", deleting), node("b")},
			Targets{Identities: []string{"b"}, Names: []string{"b"}, Excluded: []string{"a"},
				ExcludedNames: []string{"a"}}},
		{"without network is joining", []*corev1.Node{node("b", noNetwork), node("a")},
			Targets{Identities: []string{"a"}, Names: []string{"a"}, Staying: []string{"b"},
				StayingNames: []string{"b"}, Incomplete: true}},
		{"label says not excluded", []*corev1.Node{node("a", included)}, Targets{Identities: []string{"a"},
			Names: []string{"a"}}},
		{"not yet identified", []*corev1.Node{node("a", unknown), node("b")}, Targets{Identities: []string{"b"},
			Names: []string{"b"}, Incomplete: true, Unidentified: []string{"a"}}},
		{"without a valid provider ID", []*corev1.Node{node("a", invalid), node("b")},
			Targets{Identities: []string{"b"}, Names: []string{"b"}, Incomplete: true, Unidentified: []string{"a"}}},
		{"of another cloud", []*corev1.Node{node("b", otherCloud), node("a", otherCloud, excluded),
			node("c", otherCloud, noNetwork)}, Targets{}},
		{"of another cloud, beside ours", []*corev1.Node{node("b"), node("a", otherCloud)},
			Targets{Identities: []string{"b"}, Names: []string{"b"}}},
		{"unmanaged, beside ours", []*corev1.Node{node("a", unmanaged), node("b")},
			Targets{Identities: []string{"b"}, Names: []string{"b"}}},
		{"unmanaged, beside one that is not identified", []*corev1.Node{node("a", unmanaged), node("b", unknown)},
			Targets{Incomplete: true, Unidentified: []string{"b"}}},
		{"only unmanaged", []*corev1.Node{node("b", unmanaged), node("a", unmanaged), node("c", otherCloud)},
			Targets{Incomplete: true, Unidentified: []string{"a", "b"}}},
		{"excluded, without network", []*corev1.Node{node("a", noNetwork, excluded)}, Targets{}},
		{"excluded and unidentified is no gap", []*corev1.Node{node("a", unknown, excluded)}, Targets{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, ChooseTargets(tt.nodes, identify), withoutRanking); diff != "" {
				t.Errorf("targets (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTargetsOn: with the policy Local, only nodes with a ready endpoint are targets. Without any, the set is not
// known, unless there is no node.
func TestTargetsOn(t *testing.T) {
	all := Targets{Identities: []string{"id-1", "id-2"}, Names: []string{"a", "b"}, Incomplete: true,
		Unidentified: []string{"c"}}
	withExcluded := Targets{Identities: []string{"id-1", "id-2"}, Names: []string{"a", "b"}, Staying: []string{"id-3"},
		StayingNames: []string{"j"}, Incomplete: true,
		Excluded: []string{"id-7", "id-8"}, ExcludedNames: []string{"x", "y"}}
	tests := []struct {
		name  string
		nodes Targets
		ready []string
		want  Targets
	}{
		{"one of two", all, []string{"b"}, Targets{Identities: []string{"id-2"}, Names: []string{"b"}}},
		{"one is not identified", all, []string{"b", "c"}, Targets{Identities: []string{"id-2"}, Names: []string{"b"},
			Incomplete: true, Unidentified: []string{"c"}}},
		{"no endpoint", all, nil, Targets{Incomplete: true, NoEndpoints: true}},
		{"one that names no node", all, []string{""}, Targets{Incomplete: true, NoEndpoints: true, Nameless: true}},
		{"one that names no node, and one on a node that is not there", all, []string{"", "x"},
			Targets{Incomplete: true, EndpointsElsewhere: true, Nameless: true}},
		{"one that names no node, and one on a node", all, []string{"", "b"}, Targets{Identities: []string{"id-2"},
			Names: []string{"b"}}},
		{"all on nodes that are not there", all, []string{"x"}, Targets{Incomplete: true, EndpointsElsewhere: true}},
		{"one on a node that is excluded", withExcluded, []string{"b", "x"}, Targets{Identities: []string{"id-2"},
			Names: []string{"b"}}},
		{"all on nodes that are excluded", withExcluded, []string{"x", "z"}, Targets{Identities: []string{"id-7"},
			Names: []string{"x"}, LastResort: true}},
		{"on one that is excluded, and one that is joining", withExcluded, []string{"x", "j"},
			Targets{Identities: []string{"id-7"}, Names: []string{"x"}, Staying: []string{"id-3"},
				StayingNames: []string{"j"}, Incomplete: true, LastResort: true}},
		{"every node is excluded", Targets{Excluded: []string{"id-7"}, ExcludedNames: []string{"x"}}, []string{"x"},
			Targets{Identities: []string{"id-7"}, Names: []string{"x"}, LastResort: true}},
		{"every node is excluded, and the endpoint is on none", Targets{Excluded: []string{"id-7"},
			ExcludedNames: []string{"x"}}, []string{"y"}, Targets{}},
		{"only nodes match that are excluded", Targets{Incomplete: true, Unmatched: true, Excluded: []string{"id-7"},
			ExcludedNames: []string{"x"}}, []string{"x"},
			Targets{Identities: []string{"id-7"}, Names: []string{"x"}, LastResort: true}},
		{"no endpoint and no node", Targets{}, nil, Targets{NoEndpoints: true}},
		{"no node", Targets{}, []string{"x"}, Targets{}},
		{"the nodes are unknown", Targets{Incomplete: true}, []string{"x"}, Targets{Incomplete: true}},
		{"no node matches", Targets{Incomplete: true, Unmatched: true}, []string{"x"},
			Targets{Incomplete: true, Unmatched: true}},
		{"no node matches, and no endpoint", Targets{Incomplete: true, Unmatched: true}, nil,
			Targets{Incomplete: true, Unmatched: true, NoEndpoints: true}},
		{"one is joining", Targets{Identities: []string{"id-1"}, Names: []string{"a"},
			Staying: []string{"id-2", "id-3"}, StayingNames: []string{"b", "c"}}, []string{"a", "c"},
			Targets{Identities: []string{"id-1"}, Names: []string{"a"}, Staying: []string{"id-3"},
				StayingNames: []string{"c"}, Incomplete: true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tt.nodes.On(inSet(tt.ready), nil), withoutRanking); diff != "" {
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
	all := Targets{Identities: []string{"id-1", "id-2", "id-3"}, Names: []string{"a", "b", "c"},
		Staying: []string{"id-4"}, StayingNames: []string{"j"}, Excluded: []string{"id-7"},
		ExcludedNames: []string{"x"}}
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
	one := Targets{Identities: []string{"id-1"}, Names: []string{"a"}}
	unmatched := Targets{Incomplete: true, Unmatched: true}
	tests := []struct {
		name              string
		chosen, all, want Targets
	}{
		{"one matches", one, one, one},
		{"none matches", Targets{}, one, unmatched},
		{"none matches, and one is joining", Targets{}, Targets{Staying: []string{"id-1"}, StayingNames: []string{"a"},
			Incomplete: true}, unmatched},
		{"none matches, and one is not identified", Targets{}, Targets{Unidentified: []string{"a"}, Incomplete: true},
			unmatched},
		{"one that is not identified matches", Targets{Unidentified: []string{"a"}, Incomplete: true}, one,
			Targets{Unidentified: []string{"a"}, Incomplete: true}},
		{"there is none", Targets{}, Targets{}, Targets{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tt.chosen.Outside(tt.all), withoutRanking); diff != "" {
				t.Errorf("targets (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTargetsOnly(t *testing.T) {
	all := Targets{Identities: []string{"id-1", "id-2"}, Names: []string{"b", "a"}}
	if diff := cmp.Diff(all, all.Only([]string{"id-1", "id-2"}, nil), withoutRanking); diff != "" {
		t.Errorf("all are there (-want +got):\n%s", diff)
	}
	want := Targets{Identities: []string{"id-2"}, Names: []string{"a"}, Incomplete: true}
	if diff := cmp.Diff(want, all.Only([]string{"id-2"}, nil), withoutRanking); diff != "" {
		t.Errorf("one is missing (-want +got):\n%s", diff)
	}
	joining := Targets{Identities: []string{"b"}, Names: []string{"b"}, Staying: []string{"a", "c"},
		StayingNames: []string{"a", "c"}}
	if diff := cmp.Diff([]string{"a", "b", "c"}, joining.Machines()); diff != "" {
		t.Errorf("all machines (-want +got):\n%s", diff)
	}
	want = Targets{Identities: []string{"b"}, Names: []string{"b"}, Staying: []string{"c"}, StayingNames: []string{"c"},
		Incomplete: true}
	if diff := cmp.Diff(want, joining.Only([]string{"b", "c"}, nil), withoutRanking); diff != "" {
		t.Errorf("one that joins is missing (-want +got):\n%s", diff)
	}
	unsure := all.Only([]string{"id-2"}, []string{"id-1"})
	want = Targets{Identities: []string{"id-2"}, Names: []string{"a"}, Unknown: []string{"id-1"},
		UnknownNames: []string{"b"}, Incomplete: true}
	if diff := cmp.Diff(want, unsure, withoutRanking); diff != "" {
		t.Errorf("one is not known (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"id-1", "id-2"}, unsure.Over([]string{"id-1", "id-3"})); diff != "" {
		t.Errorf("one that is not known left its place (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"id-2"}, unsure.Over([]string{"id-3"})); diff != "" {
		t.Errorf("one that is not known was added (-want +got):\n%s", diff)
	}
}

// TestTwoNodesOnOneMachine: two nodes on one machine are one target, in any order of the nodes.
func TestTwoNodesOnOneMachine(t *testing.T) {
	second := node("b")
	second.Spec.ProviderID = "test://a"
	want := Targets{Identities: []string{"a"}, Names: []string{"a"}}
	for _, nodes := range [][]*corev1.Node{{node("a"), second}, {second, node("a")}} {
		if diff := cmp.Diff(want, ChooseTargets(nodes, identify), withoutRanking); diff != "" {
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
		{"chosen set wins", Targets{Identities: []string{"c"}}, []string{"c"}},
		{"incomplete but not empty wins", Targets{Identities: []string{"c"}, Incomplete: true}, []string{"c"}},
		{"empty because nothing is known keeps the observed", Targets{Incomplete: true}, observed},
		{"truly none empties", Targets{}, nil},
		{"who is joining and there stays", Targets{Identities: []string{"c"}, Staying: []string{"b"}},
			[]string{"b", "c"}},
		{"who is joining and not there is not added", Targets{Identities: []string{"a"}, Staying: []string{"z"}},
			[]string{"a"}},
		{"all are joining", Targets{Staying: []string{"z"}, Incomplete: true}, observed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.chosen.Over(observed); !slices.Equal(got, tt.want) {
				t.Errorf("Over = %v, want %v", got, tt.want)
			}
		})
	}
}

func TestDesire(t *testing.T) {
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u1"},
		Spec: corev1.ServiceSpec{
			HealthCheckNodePort: 32000,
			Ports: []corev1.ServicePort{
				{Name: "quic", Protocol: corev1.ProtocolUDP, Port: 443, NodePort: 30444},
				{Name: "https", Protocol: corev1.ProtocolTCP, Port: 443, NodePort: 30443},
				{Name: "http", Port: 80, NodePort: 30080},
			},
		},
	}
	owner := OwnerOf("k8s-1", service)
	want := Desired{
		Owner: Owner{Cluster: "k8s-1", Namespace: "shop", Name: "web", UID: "u1"},
		Ports: []Port{
			{Key{corev1.ProtocolTCP, 80}, "http", 30080},
			{Key{corev1.ProtocolTCP, 443}, "https", 30443},
			{Key{corev1.ProtocolUDP, 443}, "quic", 30444},
		},
		Targets: Targets{Identities: []string{"a"}},
	}
	got, problems := Desire(owner, service, want.Targets).WithNodePorts()
	if diff := cmp.Diff(want, got, withoutRanking); diff != "" || problems != nil {
		t.Errorf("problems %v, desired (-want +got):\n%s", problems, diff)
	}

	service.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
	if got = Desire(owner, service, Targets{}); got.HealthCheckNodePort != 32000 {
		t.Errorf("health check node port with policy Local = %d, want 32000", got.HealthCheckNodePort)
	}

	service.Spec.Ports[0].NodePort = 0
	_, problems = Desire(owner, service, Targets{}).WithNodePorts()
	if len(problems) != 1 || !strings.Contains(problems[0], "port 443 of Service shop/web") ||
		!strings.Contains(problems[0], "allocateLoadBalancerNodePorts") {
		t.Errorf("problems without node port = %v, want one that names the port, the Service and the field to set",
			problems)
	}
	service.Spec.Ports[1].NodePort = 0
	_, problems = Desire(owner, service, Targets{}).WithNodePorts()
	if len(problems) != 1 || !strings.Contains(problems[0], "ports 443, ") {
		t.Errorf("problems of two ports without node ports = %v, want one", problems)
	}
}

// TestPlanEach: writes are made in order. After an error only those that close something are made, and after a stop
// none.
func TestPlanEach(t *testing.T) {
	failure := errors.New("boom")
	plan := Plan{
		{Verb: Create, Kind: "thing", Name: "a"}, {Verb: Create, Kind: "thing", Name: "b"},
		{Verb: Create, Kind: "thing", Name: "c"},
		{Verb: Delete, Kind: "thing", Name: "d", Closes: true},
	}
	fails := func(name string) error { return map[string]error{"b": failure}[name] }
	ctx, cancel := context.WithCancelCause(t.Context())
	stops := func(string) error { cancel(errors.New("shutting down")); return nil }
	tests := map[string]struct {
		ctx   context.Context
		write func(name string) error
		tried string
		err   string
	}{
		"all succeed":   {t.Context(), func(string) error { return nil }, "a b c d", ""},
		"one fails":     {t.Context(), fails, "a b d", "create thing b: boom"},
		"it is stopped": {ctx, stops, "a", "stopping after 1 of 4 writes: shutting down"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tried, err := plan.Each(tt.ctx, func(ctx context.Context, operation Operation) error {
				err := tt.write(operation.Name)
				if ctx.Err() != nil {
					t.Error("a write must not be cut off by the caller's context")
				}
				return err
			})
			var names []string
			for _, one := range tried {
				names = append(names, one.Name)
				if errors.Is(one.Err, failure) != (one.Name == "b" && tt.err == "create thing b: boom") {
					t.Errorf("write of %s ended with %v", one.Name, one.Err)
				}
			}
			message := ""
			if err != nil {
				message = err.Error()
			}
			if got := strings.Join(names, " "); got != tt.tried || message != tt.err {
				t.Errorf("tried %s with error %v, want %s with %q", got, err, tt.tried, tt.err)
			}
		})
	}
}

func TestPlanString(t *testing.T) {
	plan := Plan{{Verb: Create, Kind: "target group", Name: "web-http"}, {Verb: Update, Kind: "listener",
		Name: "web 80/TCP", Why: "idle timeout 10 becomes 20"}}
	want := "create target group web-http\nupdate listener web 80/TCP: idle timeout 10 becomes 20"
	if got := plan.String(); got != want {
		t.Errorf("String() = %q, want %q", got, want)
	}
}
