// Package spelling finds the word somebody probably meant, for error messages that end in "did you mean …?". It is a
// copy of the package in the module src, because this module needs no other one of this repository.
package spelling

import "slices"

// Closest returns the candidate with the smallest edit distance to word.
// It reports false when even the closest one differs in more than a third of its letters (at least two edits are always
// allowed), because a far-fetched suggestion is worse than none. Ties go to the candidate that comes first.
func Closest(word string, candidates []string) (string, bool) {
	best, bestDistance := "", -1
	for _, candidate := range candidates {
		if d := distance(word, candidate); bestDistance < 0 || d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	if bestDistance < 0 || bestDistance > max(2, len(best)/3) || bestDistance >= len(best) {
		return "", false
	}
	return best, true
}

// distance is the Levenshtein distance: the insertions, deletions and replacements that turn a into b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		previous := slices.Clone(row)
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(previous[j+1]+1, row[j]+1, previous[j]+cost)
		}
	}
	return row[len(b)]
}
