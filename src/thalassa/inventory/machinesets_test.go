package inventory

import (
	"slices"
	"testing"
)

// TestGroupsWithTheSameMachinesShareThem: a thousand groups with a thousand machines are a thousand texts, not a
// million.
func TestGroupsWithTheSameMachinesShareThem(t *testing.T) {
	sets := machineSets{names: map[string]string{}}
	one, other := sets.share([]string{"vm-1", "vm-2"}), sets.share([]string{"vm-1", "vm-2"})
	if len(one) != 2 || &one[0] != &other[0] {
		t.Errorf("%q and %q are two sets", one, other)
	}
	if different := sets.share([]string{"vm-2", "vm-3"}); !slices.Equal(different, []string{"vm-2", "vm-3"}) {
		t.Errorf("another set is %q", different)
	}
	if sets.share(nil) != nil {
		t.Error("a group without machines has some")
	}
}
