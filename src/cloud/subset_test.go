package cloud

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
)

// withoutRanking compares targets without what only Subset uses.
var withoutRanking = cmpopts.IgnoreUnexported(Targets{})

// zonedNodes are Nodes that are ready, in zones with these numbers of machines.
func zonedNodes(perZone ...int) []*corev1.Node {
	var nodes []*corev1.Node
	for zone, count := range perZone {
		for i := range count {
			nodes = append(nodes, zonedNode(fmt.Sprintf("vm-%d-%04d", zone, i), fmt.Sprintf("zone-%c", 'a'+zone)))
		}
	}
	return nodes
}

func zonedNode(name, zone string) *corev1.Node {
	node := &corev1.Node{}
	node.Name = name
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	if zone != "" {
		node.Labels = map[string]string{corev1.LabelTopologyZone: zone}
	}
	return node
}

// withReady returns copies of the Nodes, of which these are ready.
func withReady(nodes []*corev1.Node, ready func(name string) bool) []*corev1.Node {
	var changed []*corev1.Node
	for _, node := range nodes {
		node = node.DeepCopy()
		if !ready(node.Name) {
			node.Status.Conditions = nil
		}
		changed = append(changed, node)
	}
	return changed
}

func byName(node *corev1.Node) (identity string, ours bool) { return node.Name, true }

func uidOf(service int) string { return fmt.Sprintf("5e41ce00-0000-4000-8000-%012d", service) }

// subsetOf returns the subset of a Service without targets so far.
func subsetOf(nodes []*corev1.Node, service, limit int) []string {
	return ChooseTargets(nodes, byName).Subset(uidOf(service), limit, nil, nil).Identities
}

// perZone counts the machines of zonedNodes by their zone.
func perZone(machines []string, zones int) []int {
	counts := make([]int, zones)
	for _, machine := range machines {
		counts[machine[len("vm-")]-'0']++
	}
	return counts
}

// TestSubsetIsPinned: subsets are the same in each process and in each version.
func TestSubsetIsPinned(t *testing.T) {
	t.Parallel()
	nodes := append(zonedNodes(4, 4, 4), zonedNode("vm-x", ""))
	for service, want := range []string{
		"[vm-0-0003 vm-1-0002 vm-2-0002 vm-x]", "[vm-0-0003 vm-1-0001 vm-1-0002 vm-2-0003]",
	} {
		got := subsetOf(nodes, service, 4)
		slices.Reverse(nodes)
		if fmt.Sprint(got) != want || !slices.Equal(got, subsetOf(nodes, service, 4)) {
			t.Errorf("Service %d has %v, and %v with the Nodes in another order, want %s", service, got,
				subsetOf(nodes, service, 4), want)
		}
	}
}

// TestSubsetProperties with random clusters: the number of targets, the zones, and that a larger subset contains a
// smaller one.
func TestSubsetProperties(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for service := range 300 {
		sizes := make([]int, 1+random.IntN(5))
		total := 0
		for zone := range sizes {
			sizes[zone] = random.IntN(20)
			total += sizes[zone]
		}
		nodes, limit := zonedNodes(sizes...), 1+random.IntN(40)
		subset := subsetOf(nodes, service, limit)
		if len(subset) != min(limit, total) || !slices.IsSorted(subset) {
			t.Errorf("%d of %v: %v", limit, sizes, subset)
		}
		counts := perZone(subset, len(sizes))
		for zone, count := range counts {
			if most := slices.Max(counts); count < most-1 && count < sizes[zone] {
				t.Errorf("%d of %v: zones have %v", limit, sizes, counts)
			}
		}
		if smaller := subsetOf(nodes, service, limit-1); limit > 1 && anyMissing(smaller, subset) {
			t.Errorf("%d of %v: %v are not all in %v", limit, sizes, smaller, subset)
		}
	}
}

// anyMissing reports whether a machine is not in the other list.
func anyMissing(machines, others []string) bool {
	return slices.ContainsFunc(machines, func(one string) bool { return !slices.Contains(others, one) })
}

// TestSubsetChangesLittle: a machine that joins takes the place of at most one other, in its own zone; one that leaves
// is replaced by one of its zone; other subsets do not change.
func TestSubsetChangesLittle(t *testing.T) {
	t.Parallel()
	nodes := zonedNodes(30, 31, 40)
	targets, changed := ChooseTargets(nodes, byName), 0
	for _, zone := range []int{0, 1, 2} {
		joins := zonedNode(fmt.Sprintf("vm-%d-new", zone), fmt.Sprintf("zone-%c", 'a'+zone))
		joined := ChooseTargets(append(slices.Clone(nodes), joins), byName)
		for service := range 1000 {
			before := targets.Subset(uidOf(service), 10, nil, nil).Identities
			after := joined.Subset(uidOf(service), 10, nil, nil).Identities
			switch same := slices.Equal(before, after); {
			case same:
				continue
			case !slices.Contains(after, joins.Name),
				!slices.Equal(perZone(before, 3), perZone(after, 3)),
				len(slices.Compact(slices.Sorted(slices.Values(slices.Concat(before, after))))) != 11:
				t.Errorf("%s joins: %v becomes %v", joins.Name, before, after)
			}
			changed++
		}
	}
	// 10 of 101 machines, so that 3.3 of 30, 31 and 40 are targets.
	want := 1000 * (10. / 3) * (1./31 + 1./32 + 1./41)
	if float64(changed) < 0.85*want || float64(changed) > 1.15*want {
		t.Errorf("%d subsets changed, want %.0f", changed, want)
	}
}

// TestSubsetsOfALargeCluster: a node that joins or leaves changes the share of all subsets that its cluster's limit
// promises, and nodes are in equally many subsets.
func TestSubsetsOfALargeCluster(t *testing.T) {
	t.Parallel()
	const services, limit, machines = 5000, 25, 500
	nodes := zonedNodes(167, 167, 167)
	before, after := ChooseTargets(nodes[1:], byName), ChooseTargets(nodes[:len(nodes)-1], byName)
	without := ChooseTargets(nodes[1:len(nodes)-1], byName)
	left, joined := 0, 0
	uses := map[string]int{}
	for service := range services {
		base := without.Subset(uidOf(service), limit, nil, nil).Identities
		if !slices.Equal(base, before.Subset(uidOf(service), limit, nil, nil).Identities) {
			left++
		}
		if !slices.Equal(base, after.Subset(uidOf(service), limit, nil, nil).Identities) {
			joined++
		}
		for _, machine := range base {
			uses[machine]++
		}
	}
	if most := 1.1 * services * limit / machines; float64(left) > most || float64(joined) > most {
		t.Errorf("of %d subsets, %d changed when a node left, and %d when one joined, want at most %.0f", services,
			left, joined, most)
	}
	for machine, used := range uses {
		if used < 190 || used > 310 {
			t.Errorf("%s is in %d subsets, want about 250", machine, used)
		}
	}
	if len(uses) != machines-1 {
		t.Errorf("%d machines are used, want all %d", len(uses), machines-1)
	}
}

// TestSubsetWithUncertainTargets: a machine that is a target keeps its place while it is joining or unknown; another
// one takes no place before it can receive traffic; if no machine can be added, nothing changes.
func TestSubsetWithUncertainTargets(t *testing.T) {
	t.Parallel()
	nodes := zonedNodes(6)
	all := ChooseTargets(nodes, byName)
	observed := all.Subset("web", 2, nil, nil).Identities
	setNetwork := func(missing ...string) []*corev1.Node {
		changed := make([]*corev1.Node, len(nodes))
		for i, node := range nodes {
			changed[i] = node.DeepCopy()
			if slices.Contains(missing, node.Name) {
				changed[i].Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeNetworkUnavailable,
					Status: corev1.ConditionTrue}}
			}
		}
		return changed
	}
	without := func(gone string) []string {
		return slices.DeleteFunc(slices.Clone(all.Identities), func(one string) bool { return one == gone })
	}
	names := all.Identities
	withoutThem := ChooseTargets(slices.DeleteFunc(slices.Clone(nodes), func(n *corev1.Node) bool {
		return slices.Contains(observed, n.Name)
	}), byName).Subset("web", 2, nil, nil).Identities
	for name, tt := range map[string]struct {
		targets  Targets
		observed []string
		want     []string
	}{
		"no network, and a target": {ChooseTargets(setNetwork(observed[0]), byName), observed, observed},
		"no network, and none": {ChooseTargets(setNetwork(observed[0]), byName), nil,
			ChooseTargets(slices.DeleteFunc(slices.Clone(nodes), func(n *corev1.Node) bool {
				return n.Name == observed[0]
			}), byName).Subset("web", 2, nil, nil).Identities},
		"unknown, and a target": {all.Only(without(observed[0]), observed[:1]), observed, observed},
		"no network at all": {ChooseTargets(setNetwork(names...), byName), names[:3],
			names[:3]},
		"no network for any target": {ChooseTargets(setNetwork(observed...), byName), observed,
			slices.Sorted(slices.Values(slices.Concat(observed, withoutThem)))},
		"one machine of two Nodes": {Targets{Identities: names, Names: names, Staying: observed[:1],
			StayingNames: []string{"other"}}, names, observed},
		"nothing known":   {Targets{Incomplete: true}, names, names},
		"without ranking": {Targets{Identities: names, Names: names}, nil, observed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			subset := tt.targets.Subset("web", 2, tt.observed, nil)
			if got := subset.Over(tt.observed); !slices.Equal(got, tt.want) || len(subset.Names) !=
				len(subset.Identities) {
				t.Errorf("%v over %v is %v with the names %v, want %v", tt.targets.Identities, tt.observed, got,
					subset.Names, tt.want)
			}
		})
	}
}

// TestSubsetOfMachinesWithoutZone: they count in one of the zones, so that they are not in all subsets.
func TestSubsetOfMachinesWithoutZone(t *testing.T) {
	t.Parallel()
	nodes := append(zonedNodes(40, 40), zonedNode("vm-0-x", ""))
	found := 0
	for service := range 400 {
		if slices.Contains(subsetOf(nodes, service, 8), "vm-0-x") {
			found++
		}
	}
	if found < 20 || found > 65 { // 4 of 41 targets: 39
		t.Errorf("it is in %d of 400 subsets, want about 39", found)
	}
}

// TestSubsetPrefersReadyNodes: a Node that is not ready takes no place of another one, and none loses its place because
// it is not ready. They are targets where too few others are.
func TestSubsetPrefersReadyNodes(t *testing.T) {
	t.Parallel()
	old, joined := zonedNodes(6), zonedNodes(60)[6:]
	isOld := func(name string) bool { return name <= "vm-0-0005" }
	subset := func(nodes []*corev1.Node, limit int, observed []string) []string {
		return ChooseTargets(nodes, byName).Subset("web", limit, observed, nil).Over(observed)
	}
	before := subset(old, 4, nil)
	all := slices.Concat(old, joined)
	if after := subset(withReady(all, isOld), 4, before); !slices.Equal(after, before) {
		t.Errorf("%v became %v because of Nodes that are not ready", before, after)
	}
	ready := subset(all, 4, before)
	if !anyMissing(ready, before) {
		t.Errorf("%v stay the targets after 54 Nodes became ready", before)
	}
	none := withReady(all, func(string) bool { return false })
	if after := subset(none, 4, ready); !slices.Equal(after, ready) {
		t.Errorf("%v became %v because no Node is ready any more", ready, after)
	}
	if many := subset(withReady(all, isOld), 8, nil); len(many) != 8 || anyMissing(subset(old, 6, nil), many) {
		t.Errorf("%v, want the six ready Nodes and two others", many)
	}
	if created := subset(none, 4, nil); len(created) != 4 {
		t.Errorf("a Service that is new while no Node is ready has %v, want four", created)
	}
}

// TestSubsetInASmallZone: all machines of a zone with fewer machines than its share are targets, and a place that one
// of them leaves or takes is one of another zone.
func TestSubsetInASmallZone(t *testing.T) {
	t.Parallel()
	for service := range 100 {
		small := subsetOf(zonedNodes(40, 40, 2), service, 15)
		larger := subsetOf(zonedNodes(40, 40, 3), service, 15)
		if fmt.Sprint(perZone(small, 3)[2], perZone(larger, 3)[2]) != "2 3" || len(larger) != 15 ||
			len(slices.Compact(slices.Sorted(slices.Values(slices.Concat(small, larger))))) != 16 {
			t.Errorf("%v becomes %v, want one replacement", small, larger)
		}
	}
}

// TestSubsetWithoutLimit: 0 is no limit.
func TestSubsetWithoutLimit(t *testing.T) {
	t.Parallel()
	if all := subsetOf(zonedNodes(3), 1, 0); len(all) != 3 {
		t.Errorf("%v, want all three", all)
	}
}

// TestChooseLeavesOutUnknownMachines: a candidate that the ranking does not contain hides no other one.
func TestChooseLeavesOutUnknownMachines(t *testing.T) {
	r := newRanking([]string{"b", "c", "d"}, nil, nil)
	if got := r.choose(1, 3, []string{"a", "c"}); !slices.Equal(got, []string{"c"}) {
		t.Errorf("chosen %v, want c", got)
	}
}

// TestSubsetAddsBeforeItRemoves: with random clusters that change completely or in part, a quarter of the targets stays
// in each step, no target loses its place while the cloud may not use the latest ones, and the end is the subset
// without any earlier targets.
func TestSubsetAddsBeforeItRemoves(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	exceeded := 0
	for service := range 300 {
		limit, nodes := 1+random.IntN(30), zonedNodes(1+random.IntN(20), 1+random.IntN(20))
		present := subsetOf(nodes, service, limit)
		for i := range random.IntN(300) {
			nodes = append(nodes, zonedNode(fmt.Sprintf("vm-2-%04d", i), "zone-c"))
		}
		targets, want := ChooseTargets(nodes, byName), subsetOf(nodes, service, limit)
		for step := 0; ; step++ {
			waiting := targets.Subset(uidOf(service), limit, present, present)
			if anyMissing(present, waiting.Identities) || len(waiting.Identities) > max(limit, len(present)) {
				t.Errorf("%d of %v: %v became %v although the cloud may not use them", limit, nodes, present, waiting)
			}
			next := targets.Subset(uidOf(service), limit, present, nil)
			stay := len(common(present, next.Identities))
			if least := min((limit+3)/4, len(present)); stay < least {
				t.Errorf("%d of %d of %d targets stay, want %d", stay, len(present), limit, least)
			}
			if next.Postponed == slices.Equal(next.Identities, want) ||
				waiting.Postponed == !anyMissing(present, want) {
				t.Errorf("%v became %v on the way to %v", present, next, want)
			}
			if len(next.Identities) > limit {
				exceeded++
			}
			if present = next.Identities; !next.Postponed {
				break
			}
			if step == 1 {
				t.Fatalf("limit %d: %v is not %v after two steps", limit, present, want)
			}
		}
	}
	if exceeded == 0 {
		t.Error("no step was needed")
	}
}

// TestSubsetKeepsServingTargets: those of the present targets that stay receive traffic, if any does.
func TestSubsetKeepsServingTargets(t *testing.T) {
	t.Parallel()
	for name, condition := range map[string]corev1.NodeCondition{
		"not ready":  {Type: corev1.NodeReady, Status: corev1.ConditionFalse},
		"no network": {Type: corev1.NodeNetworkUnavailable, Status: corev1.ConditionTrue},
	} {
		for service := range 300 {
			const limit, idle = 8, 4
			var nodes []*corev1.Node
			var present, serving []string
			for i := range limit + 80 {
				node := zonedNode(fmt.Sprintf("vm-%d-%04d", service, i), fmt.Sprint("zone-", i%3))
				if i < idle {
					node.Status.Conditions = []corev1.NodeCondition{condition}
				} else if i < limit {
					serving = append(serving, node.Name)
				}
				if i < limit {
					present = append(present, node.Name)
				}
				nodes = append(nodes, node)
			}
			next := ChooseTargets(nodes, byName).Subset(uidOf(service), limit, present, nil)
			if len(common(next.Over(present), serving)) == 0 {
				t.Errorf("%s: %v became %v, and none of %v stays", name, present, next.Identities, serving)
			}
		}
	}
}
