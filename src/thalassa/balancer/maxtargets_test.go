package balancer

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// zoned are ready targets, in zones with these numbers of machines.
func zoned(perZone ...int) []cloud.Target {
	var targets []cloud.Target
	for zone, count := range perZone {
		for i := range count {
			machine := fmt.Sprintf("vm-%d-%04d", zone, i)
			targets = append(targets, cloud.Target{Machine: machine, Node: machine, Ready: true,
				Zone: fmt.Sprintf("zone-%c", 'a'+zone)})
		}
	}
	return targets
}

func uidOf(service int) string { return fmt.Sprintf("5e41ce00-0000-4000-8000-%012d", service) }

// chosen returns the machines that a Service gets, sorted.
func chosen(c Candidates, service, limit int) []string {
	return sorted(c.Choose(uidOf(service), limit))
}

func candidatesOf(serving []cloud.Target) Candidates {
	return NewCandidates(cloud.Targets{Serving: serving})
}

// unready returns the targets, of which these are not ready.
func unready(targets []cloud.Target, machines ...string) []cloud.Target {
	changed := slices.Clone(targets)
	for i := range changed {
		changed[i].Ready = changed[i].Ready && !slices.Contains(machines, changed[i].Machine)
	}
	return changed
}

// counts counts the machines of zoned by their zone.
func counts(machines []string, zones int) []int {
	counts := make([]int, zones)
	for _, machine := range machines {
		counts[machine[len("vm-")]-'0']++
	}
	return counts
}

// TestChoiceIsPinned: the targets are the same in each process and in each version.
func TestChoiceIsPinned(t *testing.T) {
	targets := append(zoned(4, 4, 4), cloud.Target{Machine: "vm-x", Ready: true})
	for service, want := range []string{
		"[vm-0-0003 vm-1-0002 vm-2-0002 vm-x]", "[vm-0-0003 vm-1-0001 vm-1-0002 vm-2-0003]",
	} {
		if got := fmt.Sprint(chosen(candidatesOf(targets), service, 4)); got != want {
			t.Errorf("Service %d has %s, want %s", service, got, want)
		}
	}
}

// TestChoice with random clusters: the number of targets, the zones, that ready machines come first, and that the
// choice of a smaller number is the beginning of that of a larger one.
func TestChoice(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for service := range 300 {
		var sizes []int
		for range 1 + random.IntN(5) {
			sizes = append(sizes, random.IntN(20))
		}
		targets, limit := zoned(sizes...), 1+random.IntN(40)
		c := candidatesOf(targets)
		order := c.Choose(uidOf(service), limit)
		if len(order) != min(limit, len(targets)) || len(sorted(slices.Clone(order))) != len(order) {
			t.Errorf("%d of %v: %v", limit, sizes, order)
		}
		perZone := counts(order, len(sizes))
		for zone, count := range perZone {
			if count < slices.Max(perZone)-1 && count < sizes[zone] {
				t.Errorf("%d of %v: zones have %v", limit, sizes, perZone)
			}
		}
		if fewer := c.Choose(uidOf(service), limit-1); !slices.Equal(fewer, order[:min(limit-1, len(order))]) {
			t.Errorf("%d of %v: %v is not the beginning of %v", limit, sizes, fewer, order)
		}
		gone := order[:random.IntN(1+len(order))]
		without := candidatesOf(unready(targets, gone...)).Choose(uidOf(service), limit)
		for i, one := range without {
			if slices.Contains(gone, one) && i < len(targets)-len(gone) {
				t.Errorf("%d of %v: %s is not ready and comes before one that is: %v", limit, sizes, one, without)
			}
		}
	}
}

// TestChoiceChangesLittle: a node that joins or leaves changes the share of all choices that the limit promises, each
// by one machine, and machines are chosen equally often.
func TestChoiceChangesLittle(t *testing.T) {
	const services, limit, machines = 5000, 25, 500
	targets := zoned(167, 167, 167)
	all, less := candidatesOf(targets), candidatesOf(targets[:len(targets)-1])
	changed, uses := 0, map[string]int{}
	for service := range services {
		before, after := chosen(less, service, limit), chosen(all, service, limit)
		if !slices.Equal(before, after) {
			changed++
		}
		if both := sorted(slices.Concat(before, after)); len(both) > limit+1 {
			t.Errorf("%v became %v", before, after)
		}
		for _, machine := range after {
			uses[machine]++
		}
	}
	if most := 1.1 * services * limit / machines; float64(changed) > most || changed == 0 {
		t.Errorf("of %d choices, %d changed, want at most %.0f", services, changed, most)
	}
	for machine, used := range uses {
		if used < 190 || used > 310 {
			t.Errorf("%s is chosen %d times, want about 250", machine, used)
		}
	}
}

// limited returns what a Service with a limit wants.
func limited(targets cloud.Targets, limit int, settled bool) desired {
	d := desired{limit: limit, candidates: NewCandidates(targets), settled: settled}
	d.Owner.UID = "web"
	d.preferred = d.candidates.Choose("web", limit)
	d.machines = sorted(slices.Clone(d.preferred))
	return d
}

// TestTargetsOfAGroup: how a target group comes to the targets that were chosen.
func TestTargetsOfAGroup(t *testing.T) {
	all := zoned(10)
	order := candidatesOf(all).Choose("web", 10) // the preferred ones first
	first, others := order[:4], sorted(slices.Clone(order[6:]))
	without := func(gone ...string) []cloud.Target {
		return slices.DeleteFunc(slices.Clone(all), func(one cloud.Target) bool {
			return slices.Contains(gone, one.Machine)
		})
	}
	only := func(machines ...string) []cloud.Target {
		return slices.DeleteFunc(slices.Clone(all), func(one cloud.Target) bool {
			return !slices.Contains(machines, one.Machine)
		})
	}
	for name, tt := range map[string]struct {
		targets cloud.Targets
		settled bool
		present []string
		want    []string
		excess  bool
	}{
		"those that were chosen":      {cloud.Targets{Serving: all}, false, first, first, false},
		"none":                        {cloud.Targets{Serving: all}, false, nil, first, false},
		"one joins that is preferred": {cloud.Targets{Serving: all}, false, order[1:5], order[:5], true},
		"and it is settled":           {cloud.Targets{Serving: all}, true, order[:5], first, false},
		"others, and a change":        {cloud.Targets{Serving: all}, false, others, slices.Concat(first, others), true},
		"others, and it is settled": {cloud.Targets{Serving: all}, true, others,
			slices.Concat(first, others[2:]), true},
		"many, and it is settled": {cloud.Targets{Serving: all}, true, order,
			slices.Concat(first, sorted(slices.Clone(order[4:]))[5:]), true},
		"the place of a machine is taken": {cloud.Targets{Serving: without(order[0])}, false, first, order[1:5], false},
		"one is not ready": {cloud.Targets{Serving: unready(all, order[0])}, false,
			first, order[:5], true},
		"and it leaves": {cloud.Targets{Serving: unready(all, order[0])}, true, order[:5], order[1:5],
			false},
		"all targets are not ready": {cloud.Targets{Serving: unready(all, first...)}, false, first, order[:8],
			true},
		"most Nodes are not ready": {cloud.Targets{Serving: unready(all, order[:6]...)}, true, first, first, false},
		"and one machine is gone": {cloud.Targets{Serving: unready(without(order[0]), order[:6]...)}, true, first,
			slices.Concat(order[1:4], order[6:7]), false},
		"and there are too many": {cloud.Targets{Serving: unready(all, order[:6]...)}, true, order, order, false},
		"one has no network": {cloud.Targets{Serving: without(order[0]), Joining: only(order[0])}, false, first,
			order[:5], true},
		"no target has a network": {cloud.Targets{Serving: without(first...), Joining: only(first...)}, false, first,
			order[:8], true},
		"one that has no network is not added": {cloud.Targets{Serving: without(order[0]), Joining: only(order[0])},
			false, nil, order[1:5], false},
		"one may not exist": {cloud.Targets{Serving: without(order[0]), Unknown: only(order[0])}, false, first, first,
			false},
		"nothing is known":  {cloud.Targets{NotKnown: cloud.NodesNotRead}, true, others, others, false},
		"there is no Node":  {cloud.Targets{}, true, others, nil, false},
		"all have no place": {cloud.Targets{Joining: all}, true, nil, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			want := sorted(slices.Clone(tt.want))
			got, excess := limited(tt.targets, 4, tt.settled).targets(sorted(slices.Clone(tt.present)))
			if !slices.Equal(got, want) || excess != tt.excess {
				t.Errorf("%v became %v, some leave later: %t; want %v, %t", tt.present, got, excess, want, tt.excess)
			}
		})
	}
}

// TestTargetsConverge: with random targets, a settled Service has exactly the chosen ones after a few looks, and at
// most half of the targets leave in each.
func TestTargetsConverge(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		all := zoned(1+random.IntN(30), 1+random.IntN(30))
		var present []string
		for _, one := range all {
			if random.IntN(2) == 0 {
				present = append(present, one.Machine)
			}
		}
		d := limited(cloud.Targets{Serving: all}, 1+random.IntN(20), true)
		for range 8 {
			next, _ := d.targets(present)
			left := slices.DeleteFunc(slices.Clone(present), func(one string) bool { return contains(next, one) })
			if len(left) > len(present)/2 {
				t.Errorf("%d of %d leave", len(left), len(present))
			}
			present = next
		}
		if !slices.Equal(present, d.machines) {
			t.Errorf("%v is not %v in the end", present, d.machines)
		}
	}
}

// TestLeftOutWithALimit: a node whose machine does not exist is reported for the Services that it would be a target of.
func TestLeftOutWithALimit(t *testing.T) {
	all := zoned(10)
	order := candidatesOf(all).Choose("web", 10)
	for i, machine := range order {
		targets := cloud.Targets{Unidentified: []string{"new"}}
		for _, one := range all {
			if one.Machine == machine {
				one.Ready = false
				targets.Missing = append(targets.Missing, one)
				continue
			}
			targets.Serving = append(targets.Serving, one)
		}
		out := limited(targets, 4, false).leavesOut()
		if reported := len(out.Missing) == 1; reported != (i < 4) || len(out.Unidentified) > 0 {
			t.Errorf("machine %d is missing: reported %t, and Nodes %v", i, reported, out.Unidentified)
		}
	}
}
