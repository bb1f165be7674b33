package emulator

import (
	"maps"
	"net/url"
	"slices"
	"strings"
)

// allLabels stands for every label filter in Switches.IgnoredFilters.
const allLabels = "matchLabels"

// filter is what a list request asks for: every key and every label must match.
type filter struct {
	keys   map[string]string
	labels map[string]string
}

// parseFilter reads a query. Values that are blank do not filter, and of a
// repeated key the last value counts, as the clients expect.
func parseFilter(query url.Values, ignored []string) filter {
	f := filter{keys: map[string]string{}, labels: map[string]string{}}
	for key, values := range query {
		value := values[len(values)-1]
		label, isLabel := labelKey(key)
		switch {
		case isLabel && !slices.Contains(ignored, allLabels):
			f.labels[label] = value
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

// traits are an object's values by filter key. A reference has two: the
// identity and the slug of what it refers to. Keys that a resource does not
// have are ignored by its lists.
type traits []trait

// trait keeps up to two values in place: a filtered list makes a dozen of them
// for each of ten thousand objects.
type trait struct {
	key    string
	values int
	few    [2]string
	many   []string
}

func (m *meta) traits() traits { return named(m.Identity, m.Slug, m.Name) }

// named are the traits that everything has.
func named(identity, slug, name string) traits {
	// Room for what most resources add.
	return append(make(traits, 0, 10), trait{key: "identity", values: 1, few: [2]string{identity}}).
		with("slug", slug).with("name", name)
}

func (t traits) with(key string, values ...string) traits {
	added := trait{key: key, values: len(values)}
	if copy(added.few[:], values) < len(values) {
		added.many = slices.Clone(values)
	}
	return append(t, added)
}

// allows says whether an object with these traits passes a filter.
func (t traits) allows(key, value string) bool {
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

func (t traits) reference(key string, to *meta) traits {
	return t.with(key, to.Identity, to.Slug)
}

// matches takes the traits as a function, because most lists are not filtered.
func (f filter) matches(labels map[string]string, of func() traits) bool {
	for key, value := range f.labels {
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

// subset says whether labels contain everything of selector, which must not be
// empty.
func subset(selector, labels map[string]string) bool {
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
