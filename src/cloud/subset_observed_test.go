package cloud

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestSubsetDependsOnObserved: with random clusters and targets in the cloud, Subset chooses other targets because of
// these only if DependOn says so, or if it postpones others.
func TestSubsetDependsOnObserved(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(5, 6))
	depending, other := 0, 0
	for service := range 2000 {
		nodes := randomNodes(random)
		targets := ChooseTargets(nodes, byName)
		machines := targets.Machines()
		existing := slices.DeleteFunc(slices.Clone(machines), func(string) bool { return random.IntN(10) == 0 })
		usable := targets.Only(existing, Without(machines, existing)[:random.IntN(1+len(machines)-len(existing))])
		observed := slices.DeleteFunc(append(slices.Clone(machines), "vm-9"), func(string) bool {
			return random.IntN(3) > 0
		})
		limit := 1 + random.IntN(6)
		alone := usable.Subset(uidOf(service), limit, nil, nil)
		found := usable.Subset(uidOf(service), limit, observed, nil)
		differ := fmt.Sprint(alone.Identities) != fmt.Sprint(found.Identities)
		switch depends := usable.DependOn(observed); {
		case depends:
			depending++
		case differ && !found.Postponed:
			t.Errorf("%v instead of %v because of %v, which DependOn denies", found, alone, observed)
		}
		if differ && !found.Postponed {
			other++
		}
	}
	if depending < 200 || other < 50 {
		t.Errorf("%d of 2000 depend on the observed targets, and %d differ: too few for a proof", depending, other)
	}
}

// TestSubsetStaysLarge: while no machine of the subset can serve, the targets that can do not become fewer with each
// step.
func TestSubsetStaysLarge(t *testing.T) {
	t.Parallel()
	const limit = 25
	all := zonedNodes(40, 40)
	first := subsetOf(all, 1, limit)
	isFirst := func(node *corev1.Node) bool { return contains(first, node.Name) }
	for name, tt := range map[string]struct {
		change  func(*corev1.Node) *corev1.Node // of each node of the subset
		present []string
		want    int // targets that serve
	}{
		"the subset has lost its network": {withoutNetwork, first, limit},
		"it is not ready, and a limit is set": {func(node *corev1.Node) *corev1.Node {
			return withReady([]*corev1.Node{node}, func(string) bool { return false })[0]
		}, ChooseTargets(all, byName).Identities, 7},
	} {
		for _, checked := range []bool{true, false} {
			nodes, present, held := slices.Clone(all), tt.present, []string(nil)
			for i, node := range nodes {
				if isFirst(node) {
					nodes[i] = tt.change(node)
				}
			}
			targets := ChooseTargets(nodes, byName)
			for step := range 8 {
				next := targets.Subset(uidOf(1), limit, present, held).Over(present)
				if serving := len(Without(next, first)); serving != tt.want {
					t.Errorf("%s: %d targets serve after step %d, want %d", name, serving, step, tt.want)
				}
				held = nil
				if checked && !slices.Equal(next, present) {
					held = next
				}
				present = next
			}
		}
	}
}

// TestSubsetIsNeverEmpty: if all targets have lost their network, others are added, also while the cloud may not use
// the latest targets yet.
func TestSubsetIsNeverEmpty(t *testing.T) {
	t.Parallel()
	for service := range 100 {
		nodes := zonedNodes(3)
		two := subsetOf(nodes, service, 2)
		for i, node := range nodes {
			if contains(two, node.Name) {
				nodes[i] = withoutNetwork(node)
			}
		}
		for _, held := range [][]string{nil, two} {
			got := ChooseTargets(nodes, byName).Subset(uidOf(service), 1, two, held)
			if len(got.Identities) != 1 {
				t.Errorf("%v have no network, %v are held: the targets are %v, want another one besides", two, held,
					got.Over(two))
			}
		}
	}
}

// TestMachinesAreOneList: Services with the same nodes get one list of machines, also while a node is joining, and
// those that lack some get another one.
func TestMachinesAreOneList(t *testing.T) {
	t.Parallel()
	nodes := zonedNodes(4)
	nodes[1] = withoutNetwork(nodes[1])
	targets := ChooseTargets(nodes, byName)
	all := targets.Machines()
	if again := targets.Machines(); len(all) != 4 || &again[0] != &all[0] {
		t.Errorf("%v and %v, want one list of 4", all, again)
	}
	fewer := targets.Only(all[1:], nil)
	if left := fewer.Machines(); !slices.Equal(left, all[1:]) {
		t.Errorf("%v without %s are %v", all, all[0], left)
	}
	if two := targets.Subset("web", 2, nil, nil).Machines(); len(two) != 2 {
		t.Errorf("two of %v are %v", all, two)
	}
}

// TestReadyNodeOnAMachineOfAnotherOne: a machine is ready if one of the Nodes on it is, such as after it was registered
// under another name.
func TestReadyNodeOnAMachineOfAnotherOne(t *testing.T) {
	t.Parallel()
	nodes := zonedNodes(4)
	stale := nodes[0].DeepCopy()
	stale.Labels["machine"], stale.Name, stale.Status.Conditions = nodes[0].Name, "stale", nil
	identify := func(node *corev1.Node) (string, bool) { return cmp.Or(node.Labels["machine"], node.Name), true }
	for service := range 20 {
		want := subsetOf(nodes, service, 2)
		got := ChooseTargets(append(nodes, stale), identify).Subset(uidOf(service), 2, nil, nil).Identities
		if !slices.Equal(got, want) {
			t.Errorf("%v became %v because of a Node that is not ready on the machine of another one", want, got)
		}
	}
}

// randomNodes returns nodes in two zones, of which some have no network, and some are not ready.
func randomNodes(random *rand.Rand) []*corev1.Node {
	nodes := zonedNodes(1+random.IntN(6), 1+random.IntN(6))
	for i, node := range nodes {
		switch random.IntN(4) {
		case 0:
			nodes[i] = withoutNetwork(node)
		case 1:
			nodes[i] = withReady([]*corev1.Node{node}, func(string) bool { return false })[0]
		}
	}
	return nodes
}

// withoutNetwork returns the node with the condition that it has no network.
func withoutNetwork(node *corev1.Node) *corev1.Node {
	node = node.DeepCopy()
	node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{
		Type: corev1.NodeNetworkUnavailable, Status: corev1.ConditionTrue})
	return node
}

// TestReadySince: the later one of both conditions counts, and the earlier one of two Nodes on a machine.
func TestReadySince(t *testing.T) {
	at := func(hour int) metav1.Time { return metav1.Date(2026, 11, 1, hour, 0, 0, 0, time.UTC) }
	node := func(name string, ready, network int) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{
			Conditions: []corev1.NodeCondition{
				{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: at(ready)},
				{Type: corev1.NodeNetworkUnavailable, Status: corev1.ConditionFalse, LastTransitionTime: at(network)},
				{Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse, LastTransitionTime: at(23)},
			}}}
	}
	onOne := func(*corev1.Node) (string, bool) { return "m", true }
	lost := node("b", 1, 1)
	lost.Status.Conditions[1].Status = corev1.ConditionTrue
	for want, nodes := range map[int][]*corev1.Node{
		5: {node("a", 5, 2)}, 6: {node("a", 1, 6)},
		3: {node("a", 3, 1), node("b", 9, 9)}, 4: {node("a", 9, 9), node("b", 1, 4)}, 7: {lost, node("a", 7, 7)},
	} {
		if got := ChooseTargets(nodes, onOne).ranking.readySince["m"]; !got.Equal(at(want).Time) {
			t.Errorf("ready since %s, want %d:00", got, want)
		}
	}
}

// TestApproachKeepsAccepted: of the present targets that were not chosen, those that have served for long stay first,
// and others that serve until a quarter of the limit stays.
func TestApproachKeepsAccepted(t *testing.T) {
	var before, after []string
	for i := range 8 {
		before, after = append(before, fmt.Sprintf("a%d", i)), append(after, fmt.Sprintf("b%d", i))
	}
	r := newRanking(slices.Concat(before, after), nil, nil)
	for seed := range uint64(20) {
		for _, accepted := range [][]string{nil, before[3:4], before[3:6], before} {
			next, postponed := r.approach(seed, 8, after, before, [][]string{accepted, before}, nil)
			stay := common(next, before)
			if !postponed || len(stay) != 2 || len(common(stay, accepted)) != min(2, len(accepted)) ||
				len(common(next, after)) != 8 {
				t.Fatalf("seed %d, accepted %v: the next targets are %v", seed, accepted, next)
			}
		}
	}
}
