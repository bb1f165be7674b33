package cloud

import "slices"

// shareThatStays is the part of the targets that one write leaves: one of four.
const shareThatStays = 4

// approach returns the next set of targets on the way from the present ones, of which others than these may be removed,
// to the chosen ones, and whether it is another set than these. All lists are sorted.
func (r *ranking) approach(seed uint64, limit int, chosen, present []string, settling bool) (next []string,
	postponed bool) {
	staying := common(chosen, present)
	least := (min(limit, len(present)) + shareThatStays - 1) / shareThatStays
	switch {
	case len(staying) == len(present):
		return chosen, false
	case settling:
		added := r.choose(seed, max(0, limit-len(present)), without(chosen, present))
		return sorted(present, added), true
	case len(staying) < least:
		return sorted(chosen, r.choose(seed, least-len(staying), without(present, chosen))), true
	}
	return chosen, false
}

// common returns the machines that are in both lists, in the order of the first one. The others are sorted.
func common(machines, others []string) []string {
	return slices.DeleteFunc(slices.Clone(machines), func(one string) bool { return !contains(others, one) })
}

// without returns the machines that are not in the other list, which is sorted.
func without(machines, others []string) []string {
	return slices.DeleteFunc(slices.Clone(machines), func(one string) bool { return contains(others, one) })
}

func contains(machines []string, one string) bool {
	_, is := slices.BinarySearch(machines, one)
	return is
}

// sorted returns the machines of both lists, sorted.
func sorted(machines, others []string) []string {
	all := slices.Concat(machines, others)
	slices.Sort(all)
	return all
}
