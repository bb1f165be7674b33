//go:build !race

package declaration

import (
	"regexp"
	"slices"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/openapi"
)

// texts are tried as keys and values of labels and annotations, and of what else is like them.
func texts() []string {
	long := func(n int) string { return strings.Repeat("a", n) }
	return []string{"a", "", "A_b.c-9", "-", "a-", "a b", "é", "\x00", long(63), long(64), "a/b", "A/b", "a_b/c", "/b",
		"a/", "a.b-c/d", "a/b/c", "a/b/c/d", "a//b", "a/b-/c", "a/b/", "a/b/" + long(61), "a/b/" + long(62),
		"a/" + long(64) + "/b", long(253) + "/b", long(254) + "/b", "a/" + long(63), "a/" + long(64)}
}

// entries are the limits for the keys and the values of an object, with one bound for each text that is outside.
func entries(s *openapi.Schema, at []any) []bound {
	var all []bound
	if s.PropertyNames != nil {
		all = tried(s, at, "propertyNames", s.PropertyNames, func(text string) any {
			return map[string]any{text: "a"}
		})
	}
	if values := s.AdditionalProperties; values != nil && values.Schema != nil && values.Pattern != "" {
		all = append(all, tried(s, at, "additionalProperties", values.Schema, func(text string) any {
			return map[string]any{"a": text}
		})...)
	}
	return all
}

// lengths are the limits for the items of a list together.
func lengths(s *openapi.Schema, list, at []any) (all []bound) {
	if s.MaxItems != nil {
		all = append(all, bound{at, "maxItems", s, slices.Repeat(list[:1], *s.MaxItems+1),
			[]any{slices.Repeat(list[:1], *s.MaxItems)}})
	}
	if s.UniqueItems {
		all = append(all, bound{at: at, keyword: "uniqueItems", schema: s, outside: slices.Repeat(list[:1], 2)})
	}
	return all
}

// tried are the bounds of a part of an object, which has a text.
func tried(s *openapi.Schema, at []any, keyword string, part *openapi.Schema, with func(string) any) []bound {
	var inside []any
	var all []bound
	patterns := patternsOf(part)
	for _, text := range texts() {
		if !slices.ContainsFunc(patterns, func(p *regexp.Regexp) bool { return !p.MatchString(text) }) {
			inside = append(inside, with(text))
		} else {
			all = append(all, bound{at: at, keyword: keyword, schema: s, outside: with(text)})
		}
	}
	all[0].inside = inside
	return all
}

// patternsOf are all patterns of a schema.
func patternsOf(s *openapi.Schema) []*regexp.Regexp {
	all := []*regexp.Regexp{regexp.MustCompile(s.Pattern)}
	for _, part := range s.AllOf {
		all = append(all, patternsOf(part)...)
	}
	return all
}
