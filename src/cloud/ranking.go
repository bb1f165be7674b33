package cloud

import (
	"cmp"
	"hash/fnv"
	"slices"
	"time"
)

// ranking is what Subset has to know of machines. It is computed once for all Services. All values depend only on
// names, so that another process gets the same ones.
type ranking struct {
	machines   []string // sorted
	hashes     []uint64 // of the machines
	zones      []int    // of the machines: indexes of zoneHashes
	notReady   []bool   // of the machines: whether the Node is not ready
	zoneHashes []uint64
	all        pool // of all machines
	usual      pool // of the candidates of most Services: the machines that are not joining, missing or unknown
	// readySince is the time since which the Nodes of machines have been ready and have had a network.
	readySince map[string]time.Time
}

// pool is candidates of a Service: indexes of machines in the ranking, by zone, all of them, and divided into those
// whose Node is ready and the others.
type pool struct {
	candidates             []string
	zones, ready, notReady [][]int32
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
	r := &ranking{machines: machines, zoneHashes: make([]uint64, max(1, len(names)))}
	for i, name := range names {
		r.zoneHashes[i] = hashOf(name)
	}
	slices.Sort(notReady)
	r.hashes, r.zones, r.notReady = make([]uint64, len(machines)), make([]int, len(machines)), make([]bool,
		len(machines))
	for i, machine := range machines {
		r.hashes[i], r.notReady[i] = hashOf(machine), contains(notReady, machine)
		if zone, known := slices.BinarySearch(names, zoneOf[machine]); known {
			r.zones[i] = zone
			continue
		}
		r.zones[i] = ordered(r.zoneHashes, r.hashes[i])[0]
	}
	r.all = r.newPool(machines)
	return r
}

// withUsual returns the ranking for other candidates of most Services, which are machines of the ranking.
func (r *ranking) withUsual(candidates []string) *ranking {
	if r == nil {
		return nil
	}
	prepared := *r
	prepared.usual = r.poolOf(candidates)
	return &prepared
}

// withReady returns the ranking as if the Nodes of these machines were ready.
func (r *ranking) withReady(machines []string) *ranking {
	if r == nil {
		return nil
	}
	changed := *r
	changed.notReady = slices.Clone(r.notReady)
	for _, machine := range machines {
		if at, is := slices.BinarySearch(r.machines, machine); is {
			changed.notReady[at] = false
		}
	}
	changed.all, changed.usual = changed.newPool(r.machines), pool{}
	return &changed
}

// poolOf returns the pool of the candidates, which do not change.
func (r *ranking) poolOf(candidates []string) pool {
	switch {
	case len(candidates) == len(r.machines):
		return r.all
	case sameSlice(candidates, r.usual.candidates):
		return r.usual
	}
	return r.newPool(candidates)
}

// sameSlice reports whether the lists are the same one in memory.
func sameSlice(a, b []string) bool { return len(a) == len(b) && len(a) > 0 && &a[0] == &b[0] }

// newPool returns the pool of candidates, which are sorted, without those that are not in the ranking.
func (r *ranking) newPool(candidates []string) pool {
	p := pool{candidates, r.perZone(), r.perZone(), r.perZone()}
	found := 0
	for at, machine := range r.machines {
		for found < len(candidates) && candidates[found] < machine {
			found++ // it is not in the ranking
		}
		if found == len(candidates) || machine != candidates[found] {
			continue
		}
		part := p.ready
		if r.notReady[at] {
			part = p.notReady
		}
		zone, position := r.zones[at], int32(at) //nolint:gosec // a cluster has fewer nodes
		p.zones[zone], part[zone] = append(p.zones[zone], position), append(part[zone], position)
	}
	return p
}

func (r *ranking) perZone() [][]int32 { return make([][]int32, len(r.zoneHashes)) }

// observedNotReady returns the indexes of those machines whose Node is not ready, by zone, and whether there are any.
func (r *ranking) observedNotReady(observed []string) (positions [][]int32, found bool) {
	positions = r.perZone()
	for _, machine := range observed {
		if at, is := slices.BinarySearch(r.machines, machine); is && r.notReady[at] {
			zone := r.zones[at]
			positions[zone] = append(positions[zone], int32(at)) //nolint:gosec // a cluster has fewer nodes
			found = true
		}
	}
	return positions, found
}

// serving returns the machines whose Nodes are ready, and have been so since then; a zero time means now.
func (r *ranking) serving(machines []string, since time.Time) []string {
	return slices.DeleteFunc(machines, func(machine string) bool {
		at, is := slices.BinarySearch(r.machines, machine)
		return is && r.notReady[at] || !since.IsZero() && r.readySince[machine].After(since)
	})
}

// chooseReady returns limit of the candidates, or all if there are fewer. Candidates that are neither ready nor
// observed are chosen last. All lists are sorted; the candidates are machines of the ranking.
func (r *ranking) chooseReady(seed uint64, limit int, candidates, observed []string) []string {
	members := r.poolOf(candidates)
	first, last := members.ready, members.notReady
	if staying, found := r.observedNotReady(common(observed, candidates)); found {
		first, last = slices.Clone(first), slices.Clone(last)
		for zone, positions := range staying {
			first[zone] = slices.Concat(first[zone], positions)
			last[zone] = withoutPositions(last[zone], positions)
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
	return r.pick(seed, limit, r.poolOf(candidates).zones)
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
