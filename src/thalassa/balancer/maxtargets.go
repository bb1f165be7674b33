package balancer

import (
	"cmp"
	"hash/fnv"
	"slices"

	"k8s.io/cloud-provider/service/helpers"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// limitTargets sets the targets, of which there are at most as many as the Service or the configuration says. With the
// policy Local there is no limit: only nodes with a ready endpoint are targets then, and each of them has a share of
// the pods.
func (d *desired) limitTargets(r Request, candidates Candidates, settled bool) {
	d.candidates, d.settled, d.machines = candidates, settled, candidates.machines
	setting := r.annotations.maxTargets.From(r.values)
	d.limit, d.limitInvalid = r.config.maxTargets, setting.Invalid
	if setting.Given && !setting.Invalid {
		d.limit = setting.Value
	}
	if helpers.RequestsOnlyLocalTraffic(r.service) {
		d.limit = 0
	}
	if d.limit > 0 {
		d.preferred = candidates.Choose(string(r.service.UID), d.limit)
		d.machines = slices.Sorted(slices.Values(d.preferred))
	}
}

// targets returns the machines that a target group gets, given those that it has, and whether some of these leave
// later. Both lists are sorted.
func (d desired) targets(present []string) (next []string, excess bool) {
	if d.limit == 0 {
		return d.candidates.over(present), false
	}
	chosen, preferred := d.machines, d.preferred
	if staying := d.candidates.staying(present); len(staying) > 0 {
		preferred = d.candidates.plus(staying).Choose(string(d.Owner.UID), d.limit)
		chosen = slices.Sorted(slices.Values(preferred))
	}
	if len(chosen) == 0 && d.candidates.Incomplete() {
		return present, false
	}
	var stay, replaced, added []string
	for _, one := range present {
		switch {
		case contains(chosen, one):
			stay = append(stay, one)
		case d.candidates.usable(one):
			replaced = append(replaced, one)
		}
	}
	for _, one := range preferred {
		if !contains(present, one) {
			added = append(added, one)
		}
	}
	switch {
	case d.candidates.frozen || d.limitInvalid: // too many are no failure, too few may be one
		places := max(0, d.limit-len(stay)-len(replaced))
		return sorted(slices.Concat(stay, replaced, added[:min(places, len(added))])), false
	case d.settled:
		replaced = replaced[min(len(replaced), len(present)/2):]
	}
	return sorted(slices.Concat(stay, replaced, added)), len(replaced) > 0
}

// exceeds reports whether the only difference is that target groups have more targets than the limit: the plan removes
// some that others have replaced, or they leave later.
func (d desired) exceeds(o Observed, plan cloud.Plan) bool {
	if len(plan) == 0 {
		return slices.ContainsFunc(o.Groups, func(group resource.TargetGroup) bool {
			_, excess := d.targets(group.Machines)
			return excess
		})
	}
	return d.limit > 0 && !slices.ContainsFunc(plan, func(operation cloud.Operation) bool {
		write, is := operation.Object.(SetMachines)
		present := write.TargetGroup.Machines
		return !is || len(present) <= d.limit || slices.ContainsFunc(write.Machines, func(one string) bool {
			return !contains(present, one)
		}) || slices.ContainsFunc(present, func(one string) bool {
			return !contains(write.Machines, one) && !d.candidates.usable(one)
		})
	})
}

// zone is the machines in one zone.
type zone struct {
	hash          uint64
	ready, others []candidate
}

// candidate is a machine, with its hash, or its rank for one Service.
type candidate struct {
	machine string
	rank    uint64
}

// add adds a machine to its zone. One without a zone counts in another zone, which its identity decides: as a zone of
// its own it would be a target of all Services.
func (c *Candidates) add(one cloud.Target) {
	hash, zoneHash := hashOf(one.Machine), hashOf(one.Zone)
	at := slices.IndexFunc(c.zones, func(z zone) bool { return one.Zone != "" && z.hash == zoneHash })
	if at < 0 {
		at = c.inTurn(hash)[0]
	}
	list := &c.zones[at].others
	if one.Ready {
		list = &c.zones[at].ready
	}
	*list = append(*list, candidate{one.Machine, hash})
}

// plus returns the candidates and these machines.
func (c Candidates) plus(more []cloud.Target) Candidates {
	c.zones = slices.Clone(c.zones)
	for i := range c.zones {
		c.zones[i].ready, c.zones[i].others = slices.Clip(c.zones[i].ready), slices.Clip(c.zones[i].others)
	}
	for _, one := range more {
		c.add(one)
	}
	return c
}

// Choose returns limit of the machines, or all if there are fewer, the preferred ones first. The UID of the Service
// decides by rendezvous hashing: ready ones first, from the zones in turn, in each zone those with the highest hash of
// UID and machine. So Services have different targets, each process chooses the same ones, and a machine that joins or
// leaves changes only few of them.
func (c Candidates) Choose(uid string, limit int) []string {
	seed := hashOf(uid)
	order := c.inTurn(seed)
	ready, others := make([][]candidate, len(order)), make([][]candidate, len(order))
	for i, at := range order {
		ready[i], others[i] = c.zones[at].ready, c.zones[at].others
	}
	chosen := pick(seed, limit, ready)
	return append(chosen, pick(seed, limit-len(chosen), others)...)
}

// inTurn returns the indexes of the zones in the order that the seed decides.
func (c Candidates) inTurn(seed uint64) []int {
	order := make([]int, len(c.zones))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Compare(mix(c.zones[b].hash^seed), mix(c.zones[a].hash^seed))
	})
	return order
}

// pick returns limit of the machines in lists, or all if there are fewer: from the lists in turn, the best ones first.
func pick(seed uint64, limit int, lists [][]candidate) []string {
	places, left := make([]int, len(lists)), limit
	for open := true; open && left > 0; {
		open = false
		for i, list := range lists {
			if left > 0 && places[i] < len(list) {
				places[i], left, open = places[i]+1, left-1, true
			}
		}
	}
	for i, list := range lists {
		lists[i] = best(seed, places[i], list)
	}
	chosen := make([]string, 0, max(0, limit))
	for turn := 0; len(chosen) < limit-left; turn++ {
		for _, list := range lists {
			if turn < len(list) {
				chosen = append(chosen, list[turn].machine)
			}
		}
	}
	return chosen
}

// best returns the machines with the highest ranks, so many of them.
func best(seed uint64, count int, list []candidate) []candidate {
	found := make([]candidate, 0, count+1)
	for _, one := range list {
		one.rank = mix(one.rank ^ seed)
		if len(found) == count && (count == 0 || one.rank <= found[count-1].rank) {
			continue
		}
		at, _ := slices.BinarySearchFunc(found, one, func(a, b candidate) int { return cmp.Compare(b.rank, a.rank) })
		found = slices.Insert(found, at, one)
		found = found[:min(count, len(found))]
	}
	return found
}

// hashOf returns a hash that is the same in each process and version: changes of this function move the targets of all
// load balancers whose number of targets is limited.
func hashOf(text string) uint64 {
	hash := fnv.New64a()
	hash.Write([]byte(text))
	return mix(hash.Sum64())
}

// mix distributes the bits of a number, as SplitMix64 does.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
