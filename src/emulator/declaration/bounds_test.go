package declaration

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/openapi"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/openapi/openapitest"
)

// bound is a limit of the document for a part of a body, with values for that part.
type bound struct {
	at      []any
	keyword string
	// outside must be refused; removed stands for no value. inside is nil if no value is the nearest one inside.
	outside, inside any
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
	more, ok := other.inside.(float64)
	return ok && b.keyword == "minimum" && other.keyword == "minimum" && b.place() == other.place() &&
		more > b.inside.(float64)
}

// bounds are all limits that a schema has for the parts of a body.
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
	if object, ok := body.(map[string]any); ok {
		for _, name := range s.Required {
			all = append(all, bound{at: inner(at, name), keyword: "required", outside: removed{}})
		}
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			if value, sent := object[name]; sent {
				all = append(all, bounds(document, s.Properties[name], value, inner(at, name)...)...)
			}
		}
	}
	if list, ok := body.([]any); ok && len(list) > 0 {
		all = append(all, bounds(document, s.Items, list[0], inner(at, 0)...)...)
	}
	return all
}

// inner is the place of a part of what is at a place.
func inner(at []any, key any) []any { return append(slices.Clone(at), key) }

// limits are those of a schema itself.
func limits(s *openapi.Schema, at []any) []bound {
	var all []bound
	add := func(keyword string, outside, inside any) { all = append(all, bound{at, keyword, outside, inside}) }
	if s.MinLength != nil {
		add("minLength", strings.Repeat("a", *s.MinLength-1), strings.Repeat("a", *s.MinLength))
	}
	if s.MaxLength != nil {
		add("maxLength", strings.Repeat("a", *s.MaxLength+1), strings.Repeat("a", *s.MaxLength))
	}
	if s.Minimum != nil {
		add("minimum", *s.Minimum-1, *s.Minimum)
	}
	if s.Maximum != nil {
		add("maximum", *s.Maximum+1, *s.Maximum)
	}
	if s.Enum != nil {
		add("enum", "outside", s.Enum[len(s.Enum)-1])
	}
	if s.Format != "" {
		add("format", "outside", nil)
	}
	if s.Pattern != "" {
		candidates := []string{"outside", "out side!", "-"}
		i := slices.IndexFunc(candidates, func(text string) bool {
			return !regexp.MustCompile(s.Pattern).MatchString(text)
		})
		add("pattern", candidates[i], nil)
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

// What the document says about bodies is what is refused: a body with a value just outside a limit is, and one with a
// value just inside is not because of that field.
func TestLimitsAreThoseOfTheDocument(t *testing.T) {
	document, err := openapi.Read()
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		cloud, err := emulator.New(emulator.Config{Seed: emulator.DualStackSeed(),
			Middleware: openapitest.Middleware(t)})
		if err != nil {
			t.Fatal(err)
		}
		table := newTable(t, "")
		c := &tool{T: t, cloud: cloud, credential: newCredential(t, cloud, ways()[0]),
			known: map[string]string{}}
		c.on("set-up", func(c *tool) { c.setUp(table.Stage) })
		for _, r := range table.Resources {
			d, err := describe(document, r)
			if err != nil {
				t.Fatal(err)
			}
			c.on(r.Path, func(c *tool) { newDrive(c, d).limited(document) })
		}
	})
}

// limited sends bodies at the limits of the document.
func (d *drive) limited(document *openapi.Document) {
	d.Helper()
	if d.Refused != 0 {
		return
	}
	method := http.MethodPost
	if d.single() {
		method = http.MethodPut
	}
	creation := schema(document, d.resource.collection(), method)
	sent := d.sent(false, nil)
	d.refused(method, d.collection, sent, creation)
	if !d.single() {
		d.accepted(method, d.collection, func() map[string]any { return sent }, creation)
	}
	d.created(sent)
	if current := d.settled(); d.change != nil {
		change := schema(document, d.Path, http.MethodPut)
		d.refused(http.MethodPut, d.path, d.sent(true, current), change)
		d.changed(current)
		d.accepted(http.MethodPut, d.path, func() map[string]any { return d.sent(true, d.settled()) }, change)
	}
	d.deleted()
}

// schema is what the document says about the body of an operation.
func schema(document *openapi.Document, pattern, method string) func(body any) []bound {
	o := document.Paths[pattern].Operations()[method]
	return func(body any) []bound {
		return bounds(document, o.RequestBody.Content["application/json"].Schema, body)
	}
}

// refused sends a body once for each limit, with a value outside.
func (d *drive) refused(method, path string, body map[string]any, limits func(any) []bound) {
	d.Helper()
	for _, b := range limits(body) {
		status, answer := d.send(method, path, with(body, b.at, b.outside))
		if status != http.StatusBadRequest {
			d.Errorf("%s %s with %v outside (%v) = %d %v, want 400", method, path, b, b.outside, status, answer)
		}
	}
}

// accepted sends a body once for each limit, with the last value inside. It may be refused because of other fields.
func (d *drive) accepted(method, path string, body func() map[string]any, limits func(any) []bound) {
	d.Helper()
	all := limits(body())
	for _, b := range all {
		if b.inside == nil || slices.ContainsFunc(all, b.looser) {
			continue
		}
		sent := with(with(body(), b.at, b.inside), []any{"deleteProtection"}, removed{})
		status, answer := d.send(method, path, sent)
		text := fmt.Sprint(at(answer, "message"))
		if status >= http.StatusInternalServerError || status >= 400 && strings.Contains(text, b.place()) {
			d.Errorf("%s %s with %v inside (%v) = %d %v", method, path, b, b.inside, status, answer)
		}
		if status < 400 && method == http.MethodPost {
			made, _ := at(answer, "identity").(string)
			d.send(http.MethodDelete, d.sibling(made), nil)
			<-time.After(pause)
		}
	}
}
