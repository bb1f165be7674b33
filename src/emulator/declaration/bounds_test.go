//go:build !race

package declaration

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/openapi"
)

// bound is a limit of the document for a part of a body, with values for that part.
type bound struct {
	at      []any
	keyword string
	schema  *openapi.Schema
	// outside must be refused; removed stands for no value. inside are the nearest values that need not be.
	outside any
	inside  []any
}

// removed is the value of a part that is left out.
type removed struct{}

// String is how failures name a bound.
func (b bound) String() string { return b.place() + ": " + b.keyword }

// place is how answers name the part.
func (b bound) place() string {
	var place strings.Builder
	for i, key := range b.at {
		switch {
		case i == 0:
			fmt.Fprint(&place, key)
		case key == 0:
			place.WriteString("[0]")
		default:
			fmt.Fprintf(&place, ".%v", key)
		}
	}
	return "\"" + place.String() + "\""
}

// looser reports whether another limit of the same part leaves less.
func (b bound) looser(other bound) bool {
	return b.keyword == "minimum" && other.keyword == "minimum" && b.place() == other.place() &&
		other.inside[0].(float64) > b.inside[0].(float64)
}

// bounds are all limits that a schema has for the parts of a body, and for parts with a closed set of values that are
// not in it.
func bounds(document *openapi.Document, s *openapi.Schema, body any, at ...any) []bound {
	if s == nil {
		return nil
	}
	all := limits(s, at)
	if s.Ref != "" {
		all = append(all, bounds(document, document.Components.Schemas[openapi.Named(s.Ref)], body, at...)...)
	}
	for _, part := range slices.Concat(s.AllOf, s.AnyOf) {
		all = append(all, bounds(document, part, body, at...)...)
	}
	if s.If != nil {
		all = append(all, bounds(document, branch(s, body), body, at...)...)
	}
	if object, ok := body.(map[string]any); ok {
		all = append(all, entries(s, at)...)
		for _, name := range s.Required {
			all = append(all, bound{at: inner(at, name), keyword: "required", outside: removed{}})
		}
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			if value, sent := object[name]; sent || s.Properties[name].Enum != nil {
				all = append(all, bounds(document, s.Properties[name], value, inner(at, name)...)...)
			}
		}
	}
	if list, ok := body.([]any); ok && len(list) > 0 {
		all = append(all, lengths(s, list, at)...)
		all = append(all, bounds(document, s.Items, list[0], inner(at, 0)...)...)
	}
	return all
}

// inner is the place of a part of what is at a place.
func inner(at []any, key any) []any { return append(slices.Clone(at), key) }

// limits are those of a schema itself.
func limits(s *openapi.Schema, at []any) []bound {
	var all []bound
	add := func(keyword string, outside any, inside ...any) {
		all = append(all, bound{at, keyword, s, outside, inside})
	}
	if s.MinLength != nil {
		add("minLength", strings.Repeat("a", *s.MinLength-1), strings.Repeat("a", *s.MinLength))
	}
	if s.MaxLength != nil {
		add("maxLength", strings.Repeat("a", *s.MaxLength+1), strings.Repeat("a", *s.MaxLength))
	}
	if s.MinItems != nil {
		add("minItems", make([]any, *s.MinItems-1))
	}
	if s.MinProperties != nil {
		add("minProperties", map[string]any{})
	}
	if s.Minimum != nil {
		add("minimum", *s.Minimum-1, *s.Minimum)
	}
	if s.Maximum != nil {
		add("maximum", *s.Maximum+1, *s.Maximum)
	}
	if s.Enum != nil {
		add("enum", "outside", s.Enum...)
	}
	if s.Format != "" {
		add("format", "outside")
	}
	if s.Pattern != "" {
		pattern := regexp.MustCompile(s.Pattern)
		for _, text := range []string{"outside", "out side!", "-", "-1h", "1", ""} {
			if !pattern.MatchString(text) {
				add("pattern", text)
			}
		}
	}
	return all
}

// with is a copy of a body with another value at a place.
func with(body any, at []any, value any) any {
	if len(at) == 0 {
		return value
	}
	switch key := at[0].(type) {
	case string:
		object := maps.Clone(body.(map[string]any))
		if _, gone := value.(removed); gone && len(at) == 1 {
			delete(object, key)
		} else {
			object[key] = with(object[key], at[1:], value)
		}
		return object
	case int:
		list := slices.Clone(body.([]any))
		list[key] = with(list[key], at[1:], value)
		return list
	}
	return body
}

// blamed is whether an answer names the field.
func (b bound) blamed(answer any) bool {
	name := ""
	for _, key := range b.at {
		if text, ok := key.(string); ok {
			name = text
		}
	}
	return strings.Contains(fmt.Sprint(answer), name+"\"")
}

// unknown is whether an answer quotes a value that is long enough: it is refused because of its meaning, as a text
// that names no object, and not because of its length.
func (b bound) unknown(value, answer any) bool {
	message, _ := at(answer, "message").(string)
	return b.keyword == "minLength" && strings.Contains(message, fmt.Sprintf("%q", value)) &&
		!strings.Contains(message, "characters")
}
