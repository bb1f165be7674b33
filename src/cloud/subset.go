package cloud

import (
	"cmp"
	"hash/fnv"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// ranking is what Subset has to know of machines. It is computed once for all Services. All values depend only on
// names, so that another process gets the same ones.
type ranking struct {
	machines   []string  // sorted
	hashes     []uint64  // of the machines
	zones      []int     // of the machines: indexes of zoneHashes
	all        [][]int32 // the indexes of the machines, by zone
	usual      []string  // the machines that are not joining: the candidates of most Services
	usualZones [][]int32 // the indexes of these, by zone
	zoneHashes []uint64
	notReady   []string // the machines of Nodes that are not ready, sorted
}

// newRanking returns the ranking of machines in zones. A machine without a zone belongs to one of the other zones,
// which its identity decides: as a zone of its own it would be a target of all Services.
func newRanking(machines []string, zoneOf map[string]string, notReady []string) *ranking {
	var names []string
	for _, machine := range machines {
		if zone := zoneOf[machine]; zone != "" {
			names = append(names, zone)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	slices.Sort(notReady)
	r := &ranking{machines: machines, zoneHashes: make([]uint64, max(1, len(names))), notReady: notReady}
	for i, name := range names {
		r.zoneHashes[i] = hashOf(name)
	}
	r.hashes, r.zones = make([]uint64, len(machines)), make([]int, len(machines))
	for i, machine := range machines {
		r.hashes[i] = hashOf(machine)
		if zone, known := slices.BinarySearch(names, zoneOf[machine]); known {
			r.zones[i] = zone
			continue
		}
		r.zones[i] = ordered(r.zoneHashes, r.hashes[i])[0]
	}
	r.all = r.byZone(machines)
	return r
}

// addZone adds the zone of a machine. If two Nodes on it have different ones, the order of the Nodes does not matter.
func addZone(zoneOf map[string]string, machine string, node *corev1.Node) {
	if zone := node.Labels[corev1.LabelTopologyZone]; zone != "" {
		zoneOf[machine] = min(cmp.Or(zoneOf[machine], zone), zone)
	}
}

// Subset returns at most limit of the targets of a Service, which the UID of the Service decides by rendezvous hashing:
// in each zone, those with the highest hash of UID and machine. The zones have equally many, or one more, as far as
// they have enough. So Services have different targets, each process chooses the same ones, and a machine that joins or
// leaves changes only the subsets that it is in, or takes the place of another one in. A limit of 0 is none.
//
// A machine takes no place of another one before it can receive traffic. Machines that are joining or unknown, or whose
// Node is not ready, count if they are in the observed set of targets in the cloud. Other machines whose Node is not
// ready fill places that would be empty. If no machine of the subset can be added, the limit is exceeded.
//
// Machines are added before others are removed: if few of the observed targets would stay, some more stay until the new
// ones are in use, and the limit is exceeded for that time. Settling means that the cloud may not use all observed
// targets yet. Then no other machine takes the place of one of them. In both cases Postponed is set.
func (t Targets) Subset(uid string, limit int, observed []string, settling bool) Targets {
	candidates := t.Over(observed)
	if limit == 0 || len(t.Identities) == 0 || len(candidates) <= limit {
		return t
	}
	ranking := t.ranking
	if ranking == nil {
		ranking = newRanking(candidates, nil, nil)
	}
	seed := hashOf(uid)
	chosen := ranking.chooseReady(seed, limit, candidates, observed)
	chosen, t.Postponed = ranking.approach(seed, limit, chosen, common(observed, candidates), settling)
	all, names := t.Identities, t.Names
	t.machines = nil
	t.Identities, t.Names = matching(chosen, all, names)
	t.Joining, t.JoiningNames = matching(chosen, t.Joining, t.JoiningNames)
	t.Unknown, t.UnknownNames = matching(chosen, t.Unknown, t.UnknownNames)
	if len(t.Identities) == 0 {
		t.Identities, t.Names = matching(ranking.chooseReady(seed, limit, all, nil), all, names)
	}
	return t
}

// DependOn reports whether Subset would choose other targets if these were not those in the cloud, apart from targets
// that it postpones. The observed ones are sorted.
func (t Targets) DependOn(observed []string) bool {
	if len(common(t.Joining, observed)) > 0 || len(common(t.Unknown, observed)) > 0 {
		return true
	}
	return t.ranking != nil && len(t.ranking.notReady) > 0 && len(common(observed, t.ranking.notReady)) > 0
}

// matching returns the machines that were chosen, with their names. All lists are sorted by machine.
func matching(chosen, machines, names []string) (found, foundNames []string) {
	for _, machine := range chosen {
		if at, is := slices.BinarySearch(machines, machine); is {
			found, foundNames = append(found, machine), append(foundNames, names[at])
		}
	}
	return found, foundNames
}

// chooseReady returns limit of the candidates, or all if there are fewer. Candidates that are neither ready nor
// observed are chosen last. All lists are sorted; the candidates are machines of the ranking.
func (r *ranking) chooseReady(seed uint64, limit int, candidates, observed []string) []string {
	members := r.members(candidates)
	var others []string
	for _, machine := range r.notReady {
		if contains(candidates, machine) && !contains(observed, machine) {
			others = append(others, machine)
		}
	}
	if len(others) == 0 {
		return r.pick(seed, limit, members)
	}
	last := make([][]int32, len(members))
	for _, machine := range others {
		at, _ := slices.BinarySearch(r.machines, machine)
		last[r.zones[at]] = append(last[r.zones[at]], int32(at)) //nolint:gosec // a cluster has fewer nodes
	}
	first := slices.Clone(members)
	for zone, positions := range last {
		if len(positions) > 0 {
			first[zone] = withoutPositions(members[zone], positions)
		}
	}
	chosen := r.pick(seed, limit, first)
	if missing := limit - len(chosen); missing > 0 {
		chosen = sorted(chosen, r.pick(seed, missing, last))
	}
	return chosen
}

// withoutPositions returns the positions that are not in the other list. Both are sorted.
func withoutPositions(positions, others []int32) []int32 {
	left := make([]int32, 0, len(positions))
	for _, one := range positions {
		if len(others) > 0 && one == others[0] {
			others = others[1:]
			continue
		}
		left = append(left, one)
	}
	return left
}

// choose returns limit of the candidates, or all if there are fewer. Both lists are sorted; the candidates are machines
// of the ranking.
func (r *ranking) choose(seed uint64, limit int, candidates []string) []string {
	return r.pick(seed, limit, r.members(candidates))
}

// setUsual prepares the candidates that most Services have, which are machines of the ranking.
func (r *ranking) setUsual(candidates []string) {
	r.usual, r.usualZones = candidates, r.members(candidates)
}

// members returns the indexes of the candidates, by zone, which do not change.
func (r *ranking) members(candidates []string) [][]int32 {
	switch {
	case len(candidates) == len(r.machines):
		return r.all
	case len(r.usual) > 0 && len(candidates) == len(r.usual) && &candidates[0] == &r.usual[0]:
		return r.usualZones
	}
	return r.byZone(candidates)
}

// pick returns limit of the machines with these indexes, which are by zone, or all if there are fewer.
func (r *ranking) pick(seed uint64, limit int, members [][]int32) []string {
	sizes := make([]int, len(members))
	for zone, positions := range members {
		sizes[zone] = len(positions)
	}
	places := shares(sizes, limit, ordered(r.zoneHashes, seed))
	chosen := make([]string, 0, limit)
	for zone, positions := range members {
		for _, one := range r.best(seed, places[zone], positions) {
			chosen = append(chosen, r.machines[one.position])
		}
	}
	slices.Sort(chosen)
	return chosen
}

// byZone returns the indexes of machines in the ranking, by zone, without those that are not in it. The machines are
// sorted.
func (r *ranking) byZone(machines []string) [][]int32 {
	members, found := make([][]int32, len(r.zoneHashes)), 0
	for at, machine := range r.machines {
		for found < len(machines) && machines[found] < machine {
			found++ // it is not in the ranking
		}
		if found < len(machines) && machine == machines[found] {
			zone := r.zones[at]
			members[zone] = append(members[zone], int32(at)) //nolint:gosec // a cluster has fewer nodes
		}
	}
	return members
}

// best returns limit of the machines with these indexes, or all if there are fewer.
func (r *ranking) best(seed uint64, limit int, positions []int32) []ranked {
	best := make([]ranked, 0, limit)
	for _, position := range positions {
		one := ranked{mix(r.hashes[position] ^ seed), position}
		if len(best) < limit || limit > 0 && one.rank > best[limit-1].rank {
			best = insert(best, limit, one)
		}
	}
	return best
}

// ranked is the index of a machine, and its rank for one Service.
type ranked struct {
	rank     uint64
	position int32
}

func compareRanks(a, b ranked) int {
	return cmp.Or(cmp.Compare(b.rank, a.rank), cmp.Compare(a.position, b.position))
}

// insert adds a machine to the best ones, which are sorted when there are limit of them. A worse one leaves.
func insert(best []ranked, limit int, one ranked) []ranked {
	if len(best) < limit {
		if best = append(best, one); len(best) == limit {
			slices.SortFunc(best, compareRanks)
		}
		return best
	}
	at, _ := slices.BinarySearchFunc(best, one, compareRanks)
	copy(best[at+1:], best[at:limit-1])
	best[at] = one
	return best
}

// shares divides limit among zones with that many candidates: equally, as far as they have enough. The first zones in
// the order get one more if it cannot be divided.
func shares(sizes []int, limit int, order []int) []int {
	places := make([]int, len(sizes))
	for limit > 0 {
		open := slices.DeleteFunc(slices.Clone(order), func(zone int) bool { return places[zone] == sizes[zone] })
		if len(open) == 0 {
			break
		}
		each := max(1, limit/len(open))
		for _, zone := range open[:min(limit, len(open))] {
			more := min(each, sizes[zone]-places[zone])
			places[zone], limit = places[zone]+more, limit-more
		}
	}
	return places
}

// ordered returns the indexes of the hashes, in the order of the ranks that they have with this seed.
func ordered(hashes []uint64, seed uint64) []int {
	order := make([]int, len(hashes))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(mix(hashes[b]^seed), mix(hashes[a]^seed)), cmp.Compare(a, b))
	})
	return order
}

// hashOf returns a hash that is the same in each process and version. Subsets must not change with an update: changes
// of this function move the targets of all load balancers that have a subset.
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
