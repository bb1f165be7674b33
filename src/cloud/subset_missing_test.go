package cloud

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestIfAllExisted: with random clusters, missing machines take the places that they would have if they existed and
// their Nodes were ready.
func TestIfAllExisted(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(7, 8))
	selected, others := 0, 0
	for service := range 2000 {
		nodes := randomNodes(random)
		targets := ChooseTargets(nodes, byName)
		some := func(one int) []string {
			return slices.DeleteFunc(slices.Clone(targets.Machines()), func(string) bool {
				return random.IntN(one) > 0
			})
		}
		missing, observed, limit := some(4), some(3), 1+random.IntN(6)
		usable := targets.Only(Without(targets.Machines(), missing), missing[:random.IntN(1+len(missing))])
		whole, _ := usable.IfAllExisted()
		got := whole.Subset(uidOf(service), limit, observed, nil)

		for i, node := range nodes {
			if contains(missing, node.Name) && len(node.Status.Conditions) == 0 {
				nodes[i] = zonedNode(node.Name, node.Labels[corev1.LabelTopologyZone])
			}
		}
		want := ChooseTargets(nodes, byName).Subset(uidOf(service), limit, observed, nil)
		if fmt.Sprint(got.Identities, got.Names, got.Staying) != fmt.Sprint(want.Identities, want.Names, want.Staying) {
			t.Errorf("%d of %v without %v, observed %v: %v and %v, want %v and %v", limit, targets.Machines(), missing,
				observed, got.Identities, got.Staying, want.Identities, want.Staying)
		}
		for _, machine := range missing {
			if contains(want.Identities, machine) {
				selected++
			} else {
				others++
			}
		}
	}
	if selected < 500 || others < 500 {
		t.Errorf("%d missing machines have a place, and %d have none: too few for a proof", selected, others)
	}
}

// TestIfAllExistedWithTwoNodesOnOneMachine: while one of them has no network, a missing machine is noticed, and no
// other one.
func TestIfAllExistedWithTwoNodesOnOneMachine(t *testing.T) {
	t.Parallel()
	nodes := zonedNodes(3)
	twin := withoutNetwork(nodes[0])
	twin.Name = "twin"
	identify := func(node *corev1.Node) (string, bool) {
		if node.Name == "twin" {
			return nodes[0].Name, true
		}
		return node.Name, true
	}
	targets := ChooseTargets(append(nodes, twin), identify)
	for existing, want := range map[int]bool{3: false, 2: true} {
		usable := targets.Only(targets.Machines()[:existing], nil)
		if _, missing := usable.IfAllExisted(); missing != want || len(usable.Identities) != existing {
			t.Errorf("%d of 3 machines exist: usable are %v, some are missing: %t", existing, usable.Identities,
				missing)
		}
	}
}
