package object

import (
	"maps"
	"net/url"
	"slices"
	"strings"
)

// allLabels stands for every label filter in Switches.IgnoredFilters.
const allLabels = "matchLabels"

// Filter is what a list request selects: every key and every label must match.
type Filter struct {
	keys   map[string]string
	Labels map[string]string
}

// ParseFilter reads a query. Values that are blank do not filter, and of a
// repeated key the last value counts, as the clients expect.
func ParseFilter(query url.Values, ignored []string) Filter {
	f := Filter{keys: map[string]string{}, Labels: map[string]string{}}
	for key, values := range query {
		value := values[len(values)-1]
		label, isLabel := labelKey(key)
		switch {
		case isLabel && !slices.Contains(ignored, allLabels):
			f.Labels[label] = value
		case !isLabel && strings.TrimSpace(value) != "" && !slices.Contains(ignored, key):
			f.keys[key] = value
		}
	}
	return f
}

func labelKey(key string) (string, bool) {
	rest, found := strings.CutPrefix(key, allLabels+"[")
	if !found {
		return "", false
	}
	return strings.CutSuffix(rest, "]")
}

// Traits are an object's values by filter key. A reference has two: the
// identity and the slug of what it refers to. Keys that a resource does not
// have are ignored by its lists.
type Traits []trait

// trait keeps up to two values in place: a filtered list makes a dozen of them
// for each of ten thousand objects.
type trait struct {
	key    string
	values int
	few    [2]string
	many   []string
}

// Traits are the values of the object that filters of lists can name.
func (m *Record) Traits() Traits { return Named(m.Identity, m.Slug, m.Name) }

// Named are the traits that everything has.
func Named(identity, slug, name string) Traits {
	// Room for what most resources add.
	return append(make(Traits, 0, 10), trait{key: "identity", values: 1, few: [2]string{identity}}).
		With("slug", slug).With("name", name)
}

// With adds a key with its values.
func (t Traits) With(key string, values ...string) Traits {
	added := trait{key: key, values: len(values)}
	if copy(added.few[:], values) < len(values) {
		added.many = slices.Clone(values)
	}
	return append(t, added)
}

// allows reports whether an object with these traits passes a filter.
func (t Traits) allows(key, value string) bool {
	known := false
	for i := range t {
		if t[i].key != key {
			continue
		}
		known = true
		if slices.Contains(t[i].many, value) || slices.Contains(t[i].few[:min(t[i].values, 2)], value) {
			return true
		}
	}
	return !known
}

// Reference adds a key whose values are the identity and the slug of another object.
func (t Traits) Reference(key string, to *Record) Traits {
	return t.With(key, to.Identity, to.Slug)
}

// Matches takes the traits as a function, because most lists are not filtered.
func (f Filter) Matches(labels map[string]string, of func() Traits) bool {
	for key, value := range f.Labels {
		if got, found := labels[key]; !found || got != value {
			return false
		}
	}
	if len(f.keys) == 0 {
		return true
	}
	has := of()
	for key, value := range f.keys {
		if !has.allows(key, value) {
			return false
		}
	}
	return true
}

// Subset reports whether labels contain everything of selector, which must not be
// empty.
func Subset(selector, labels map[string]string) bool {
	if len(selector) == 0 {
		return false
	}
	for key := range maps.Keys(selector) {
		if got, found := labels[key]; !found || got != selector[key] {
			return false
		}
	}
	return true
}
