package cloud

import (
	"fmt"
	"slices"
	"testing"
)

// nodesWithAndWithoutZone are 30 Nodes in each of the zones a and b, 30 without a zone, and these others.
func nodesWithAndWithoutZone(others ...string) Targets {
	nodes := zonedNodes(30, 30)
	for i := range 30 {
		nodes = append(nodes, zonedNode(fmt.Sprintf("vm-x-%04d", i), ""))
	}
	for _, zone := range others {
		nodes = append(nodes, zonedNode("new", zone))
	}
	return ChooseTargets(nodes, byName)
}

// TestSubsetOfMachinesWithoutZoneWhenOneJoins: a machine of an existing zone takes the place of at most one other, also
// of one without a zone, and that one gets it back.
func TestSubsetOfMachinesWithoutZoneWhenOneJoins(t *testing.T) {
	t.Parallel()
	before, after, replaced := nodesWithAndWithoutZone(), nodesWithAndWithoutZone("zone-a"), 0
	for service := range 500 {
		old := before.Subset(uidOf(service), 10, nil, nil).Identities
		joined := after.Subset(uidOf(service), 10, old, nil).Identities
		lost, added := Without(old, joined), Without(joined, old)
		if len(joined) != 10 || len(lost) > 1 || len(added) != len(lost) || anyMissing(added, []string{"new"}) {
			t.Errorf("a machine joins: %v becomes %v", old, joined)
		}
		if left := before.Subset(uidOf(service), 10, joined, nil).Identities; !slices.Equal(left, old) {
			t.Errorf("it leaves: %v becomes %v, want %v", joined, left, old)
		}
		replaced += len(added)
	}
	if replaced < 25 || replaced > 80 { // 500 times 5 of about 46 machines of the zone: 54
		t.Errorf("it is in %d of 500 subsets, want about 54", replaced)
	}
}

// TestSubsetWhenAZoneAppears: machines without a zone stay in theirs or count in the new one. Subsets keep their size,
// and are spread evenly. When the zone disappears, they are what they were.
func TestSubsetWhenAZoneAppears(t *testing.T) {
	t.Parallel()
	before, after := nodesWithAndWithoutZone(), nodesWithAndWithoutZone("zone-c")
	zones, moved := zonesOf(after), 0
	for machine, zone := range zonesOf(before) {
		if zones[machine] != zone {
			moved++
			if zones[machine] != 2 || machine[:len("vm-x")] != "vm-x" {
				t.Errorf("%s was in zone %d, and is in %d", machine, zone, zones[machine])
			}
		}
	}
	if moved < 5 || moved > 15 { // a third of 30
		t.Errorf("%d machines without a zone count in the new one, want about 10", moved)
	}
	for service := range 500 {
		old := before.Subset(uidOf(service), 10, nil, nil).Identities
		appeared := after.Subset(uidOf(service), 10, old, nil).Identities
		counts := make([]int, 3)
		for _, machine := range appeared {
			counts[zones[machine]]++
		}
		if len(appeared) != 10 || slices.Max(counts)-slices.Min(counts) > 1 {
			t.Errorf("the zone appears: %v becomes %v, with %v per zone", old, appeared, counts)
		}
		if gone := before.Subset(uidOf(service), 10, appeared, nil).Identities; !slices.Equal(gone, old) {
			t.Errorf("the zone disappears: %v becomes %v, want %v", appeared, gone, old)
		}
	}
}

// zonesOf returns the zones that machines count in.
func zonesOf(targets Targets) map[string]int {
	zones := map[string]int{}
	for at, machine := range targets.ranking.machines {
		zones[machine] = targets.ranking.zones[at]
	}
	return zones
}
