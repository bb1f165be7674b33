package list

import "testing"

// TestShort writes all of a few names, and the number of those for which there is no room.
func TestShort(t *testing.T) {
	ten := []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}
	for want, names := range map[string][]string{
		"":                             nil,
		"a":                            {"a"},
		"a, b":                         {"a", "b"},
		"a, b, c, d, e, f, g, h, i, j": ten,
		"a, b, c, d, e, f, g, h, i, j and 2 more": append(ten, "k", "l"),
	} {
		if got := Short(names); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
