package cloud

import "slices"

// shareThatStays is the part of the limit that one write leaves as it is: one of four.
const shareThatStays = 4

// approach returns the next set of targets on the way from the present ones to the chosen ones, and whether it is
// another set than these. The held ones, which are candidates, stay, and come back if they are not present. Some of
// each list of serving ones stay, too, if few of it would. All lists are sorted.
func (r *ranking) approach(seed uint64, limit int, chosen, present []string, serving [][]string,
	held []string) (next []string, postponed bool) {
	kept := Without(held, chosen)
	staying := sorted(common(chosen, sorted(present, held)), kept)
	next = staying
	for _, list := range serving {
		least := min((limit+shareThatStays-1)/shareThatStays, len(list))
		missing := max(0, least-len(common(next, list)))
		next = sorted(next, r.choose(seed, missing, common(Without(present, next), list)))
	}
	if len(kept) == 0 {
		return sorted(chosen, Without(next, chosen)), len(next) > len(staying)
	}
	added := r.choose(seed, max(0, limit-len(next)), Without(chosen, staying))
	return sorted(next, added), true
}

// common returns the machines that are in both lists, in the order of the first one. The others are sorted.
func common(machines, others []string) []string {
	return slices.DeleteFunc(slices.Clone(machines), func(one string) bool { return !contains(others, one) })
}

// Without returns the machines that are not in the other list, which is sorted, in their order.
func Without(machines, others []string) []string {
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
