package openapi

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func TestPartsAreJoined(t *testing.T) {
	parts, err := read(fstest.MapFS{
		"a.yaml": {Data: []byte("x-all: &all {a: 1}\ntags: [{name: A}]\npaths: {/a: *all}\n" +
			"components: {schemas: {A: {}}}")},
		"b.yaml": {Data: []byte("openapi: 3.1.1\ntags: [{name: B}]\npaths: {/b: {}}\n" +
			"components: {schemas: {B: {}}}")},
	})
	if err != nil {
		t.Fatal(err)
	}
	whole, err := join(parts)
	if err != nil {
		t.Fatal(err)
	}
	if got := slices.Sorted(maps.Keys(whole)); strings.Join(got, " ") != "components openapi paths tags" {
		t.Errorf("the document has %s", got)
	}
	schemas := whole["components"].(map[string]any)["schemas"].(map[string]any)
	if len(whole["tags"].([]any)) != 2 || len(whole["paths"].(map[string]any)) != 2 || len(schemas) != 2 {
		t.Errorf("joined %v, want what both parts have", whole)
	}
}

func TestPartsMustNotRepeat(t *testing.T) {
	for name, texts := range map[string][2]string{
		"paths./a":             {"paths: {/a: {}}", "paths: {/a: {}}"},
		"components.schemas.A": {"components: {schemas: {A: {}}}", "components: {schemas: {A: {}}}"},
		"openapi":              {"openapi: 3.1.1", "openapi: 3.1.1"},
	} {
		parts, err := read(fstest.MapFS{"a.yaml": {Data: []byte(texts[0])}, "b.yaml": {Data: []byte(texts[1])}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := join(parts); err == nil || !strings.Contains(err.Error(), name+" is in two parts") {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if _, err := read(fstest.MapFS{"a.yaml": {Data: []byte("{")}}); err == nil ||
		!strings.Contains(err.Error(), "a.yaml") {
		t.Errorf("error %v, want one about a.yaml", err)
	}
}

// document is the whole document.
func document(t *testing.T) *Document {
	t.Helper()
	d, err := Read()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Objects of answers have no fields but those that are described.
func TestAnswersAreClosed(t *testing.T) {
	d := document(t)
	seen := map[*Schema]bool{}
	var check func(at string, s *Schema)
	check = func(at string, s *Schema) {
		if s == nil || seen[s] {
			return
		}
		seen[s] = true
		if s.Ref != "" {
			check(Named(s.Ref), d.Components.Schemas[Named(s.Ref)])
			return
		}
		if s.Type == "object" && s.AdditionalProperties == nil && s.UnevaluatedProperties == nil {
			t.Errorf("%s may have any fields: add additionalProperties or unevaluatedProperties", at)
		}
		check(at+".items", s.Items)
		for name, property := range s.Properties {
			check(at+"."+name, property)
		}
		for _, one := range s.AnyOf {
			check(at, one)
		}
	}
	for name, response := range d.Components.Responses {
		// The description itself has a standard of its own.
		if schema := response.Content["application/json"].Schema; name != "Description" && name != "PageFile" {
			check(name, schema)
		}
	}
}

// Pages have no empty cells.
func TestEverythingHasAMeaning(t *testing.T) {
	d := document(t)
	for path, item := range d.Paths {
		for method, o := range item.Operations() {
			if o.Summary == "" || len(o.Tags) != 1 || o.Responses == nil {
				t.Errorf("%s %s has no summary, not one tag, or no answers", method, path)
			}
			if o.RequestBody != nil && (method == http.MethodGet || method == http.MethodDelete) {
				t.Errorf("%s %s has a body", method, path)
			}
		}
	}
	for name, parameter := range d.Components.Parameters {
		if parameter.Description == "" || parameter.Required != (parameter.In == "path") {
			t.Errorf("parameter %s has no description, or is required without being in the path", name)
		}
	}
	for name, response := range d.Components.Responses {
		if response.Description == "" {
			t.Errorf("response %s has no description", name)
		}
	}
	for name, schema := range d.Components.Schemas {
		if schema.Description == "" {
			t.Errorf("schema %s has no description", name)
		}
		for field, property := range schema.Properties {
			if property.Description == "" {
				t.Errorf("%s.%s has no description", name, field)
			}
		}
	}
}
