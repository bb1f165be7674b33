//go:build !race

package declaration

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/openapi"
)

// field is a part of a body, with all that the document says about it.
type field struct {
	bound
	kinds, keywords []string
}

// unlimitedIn collects the parts that a body has or can have.
func (l *limiter) unlimitedIn(s *openapi.Schema, body any, all map[string]*field, at ...any) {
	if s == nil {
		return
	}
	l.probed[s] = true
	if len(at) > 0 {
		f := all[bound{at: at}.place()]
		if f == nil {
			f = &field{bound: bound{at: at, schema: s}}
			all[f.place()] = f
		}
		f.kinds = append(f.kinds, kinds(s)...)
		f.keywords = append(f.keywords, keywords(s)...)
	}
	if s.Ref != "" {
		l.unlimitedIn(l.document.Components.Schemas[openapi.Named(s.Ref)], body, all, at...)
	}
	parts := slices.Concat(s.AllOf, s.AnyOf)
	if s.If != nil {
		parts = append(parts, branch(s, body))
	}
	for _, part := range parts {
		l.unlimitedIn(part, body, all, at...)
	}
	object, isObject := body.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if isObject {
			l.unlimitedIn(s.Properties[name], object[name], all, inner(at, name)...)
		}
	}
	if list, ok := body.([]any); ok && len(list) > 0 {
		l.unlimitedIn(s.Items, list[0], all, inner(at, 0)...)
	}
}

// kinds are the types that a schema allows.
func kinds(s *openapi.Schema) []string {
	all := strings.Fields(strings.Trim(fmt.Sprint(s.Type), "[]"))
	if s.AdditionalProperties == nil || s.AdditionalProperties.Schema == nil {
		all = slices.DeleteFunc(all, func(kind string) bool { return kind == "object" })
	}
	return all
}

// keywords are those of the limits of a schema.
func keywords(s *openapi.Schema) (all []string) {
	for _, b := range limits(s, nil) {
		all = append(all, b.keyword)
	}
	for _, b := range slices.Concat(entries(s, nil), lengths(s, []any{nil}, nil)) {
		all = append(all, b.keyword)
	}
	return all
}

// probe is a value that a field with one of some keywords refuses.
type probe struct {
	kind, keywords string
	value          any
}

// probes are the values for a field that has a value.
func probes(value any) []probe {
	all := []probe{
		{"string", "maxLength enum format pattern", strings.Repeat("a", 5000)},
		{"integer number", "minimum enum", 0}, {"integer number", "minimum enum", -1},
		{"integer number", "maximum enum", 1 << 30},
		{"array", "minItems", []any{}}, {"object", "minProperties", map[string]any{}},
	}
	if list, ok := value.([]any); ok && len(list) > 0 {
		all = append(all, probe{"array", "maxItems uniqueItems", slices.Repeat(list[:1], 1000)})
	}
	for _, text := range texts() {
		all = append(all, probe{"object", "propertyNames", map[string]any{text: "a"}},
			probe{"object", "additionalProperties", map[string]any{"a": text}})
	}
	return all
}

// probes are values that a field with a limit refuses, and that no limit of the document is about.
func (f *field) probes(value any) (all []any) {
	for _, p := range probes(value) {
		if f.unlimited(p.kind, p.keywords) {
			all = append(all, p.value)
		}
	}
	if f.unlimited("object", "maxProperties") {
		many := map[string]any{}
		for i := range 1000 {
			many[fmt.Sprint("a", i)] = "a"
		}
		all = append(all, many)
	}
	return all
}

// unlimited is whether a field can be of a kind, and has none of the keywords that limit it.
func (f *field) unlimited(kind, keywords string) bool {
	return !intersect(keywords, f.keywords) && intersect(kind, f.kinds)
}

// intersect is whether a list has one of several words.
func intersect(words string, list []string) bool {
	return slices.ContainsFunc(strings.Fields(words), func(word string) bool { return slices.Contains(list, word) })
}

// relative is how a value is refused that names no object, has another format, or does not fit to another value.
var relative = regexp.MustCompile(strings.Join([]string{
	`"a{99,}" (not found|does not exist|is not|is neither)`, `(time zone|cron).*"a{99,}"`,
	`is not in (VPC|region) "a{99,}"`, `exactly one of`, `exists with other scopes`,
	`"maxReplicas" must be .* "minReplicas" and "replicas", not [1-9]`,
	`known in organisation "a{99,}"`, `scope "a{99,}" is unknown`, `is "a{99,}", and no operation`, `is not a JWT`,
	`unable to parse IP`, `id "a{99,}" is taken`, `kind latency does not use it`,
}, "|"))

// excluded are the fields that cannot be sent together with others.
var excluded = map[string]string{
	`"cloudInitRef"`:         "cloudInit",
	`"loadbalancerIdentity"`: "natGatewayIdentity",
}

// probe sends a body once for each value that a limit refuses, and that the document has no limit about.
func (d *drive) probe(method, path string, body func() map[string]any, l *limiter, pattern string, fixed []string) {
	d.Helper()
	all, right := map[string]*field{}, body()
	for _, media := range l.document.Paths[pattern].Operations()[method].RequestBody.Content {
		l.unlimitedIn(media.Schema, right, all)
	}
	for _, place := range slices.Sorted(maps.Keys(all)) {
		f := all[place]
		if slices.Contains(fixed, fmt.Sprint(f.at[0])) {
			continue
		}
		for i, value := range f.probes(part(right, f.at)) {
			if !d.chosen(method, place, i) {
				continue
			}
			sent := with(with(right, f.at, value), []any{"deleteProtection"}, removed{})
			sent = with(sent, []any{excluded[place]}, removed{})
			status, answer := d.send(method, path, sent)
			if status < http.StatusBadRequest {
				right = body()
			}
			if text := fmt.Sprint(answer); status == http.StatusBadRequest && !relative.MatchString(text) {
				d.Errorf("%s %s refuses %.20v as %v, without a limit in the document: %s", method, path, value, place,
					regexp.MustCompile("a{99,}").ReplaceAllString(text, "a..."))
			}
			if made, _ := at(answer, "identity").(string); made != "" && method == http.MethodPost {
				d.send(http.MethodDelete, d.sibling(made), nil)
				<-time.After(pause)
			}
		}
	}
}

// part is what a body has at a place.
func part(body any, at []any) any {
	for _, key := range at {
		switch key := key.(type) {
		case string:
			object, _ := body.(map[string]any)
			body = object[key]
		case int:
			body = body.([]any)[key]
		}
	}
	return body
}
