package chartvalues

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"sigs.k8s.io/yaml"
)

// compiled is the schema of the example, with a rule of the caller.
func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := parse(t, example).Schema("Example", map[string]map[string]any{
		"":                 {"required": []string{"name"}},
		"section.interval": {"minimum": 1},
		"name":             {"pattern": "overruled by the comment", "maxLength": 5},
	})
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("values.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("values.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func TestSchema(t *testing.T) {
	schema := compiled(t)
	for values, accepted := range map[string]bool{
		example:                                    true,
		"name: web":                                true,
		"{name: web, enabled: false}":              true,
		"{name: null}":                             true,
		"{}":                                       false, // a rule of the caller
		"{name: web, typo: 1}":                     false,
		"{name: WEB}":                              false, // the comment's pattern
		"{name: webweb}":                           false, // a rule of the caller beside it
		"{name: web, kind: one}":                   true,
		"{name: web, kind: null}":                  true,
		"{name: web, kind: three}":                 false,
		"{name: web, section: {interval: 1}}":      true,
		"{name: web, section: {interval: 0}}":      false,
		"{name: web, section: {typo: 1}}":          false,
		"{name: web, section: {skip: maybe}}":      false,
		"{name: web, section: {endpoint: null}}":   false, // @notnull
		"{name: web, section: {interval: null}}":   true,
		"{name: web, section: null}":               true,
		"{name: web, friends: null, labels: null}": true,
		"{name: web, either: null}":                true, // a choice whose comment does not list null
		"{name: web, either: three}":               false,
		"{name: web, global: {anything: 1}}":       true,
		"{name: web, global: {registry: 1}}":       false,
		"{name: web, friends: [a]}":                true,
		"{name: web, friends: [1]}":                false,
		"{name: web, labels: {a: b}}":              true,
		"{name: web, labels: {a: 1}}":              false,
		"{name: web, resources: {limits: {a: 1}}}": true,
		"{name: web, resources: none}":             false,
	} {
		data, err := yaml.YAMLToJSON([]byte(values))
		if err != nil {
			t.Fatal(err)
		}
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(document); (err == nil) != accepted {
			t.Errorf("%s: accepted %v, want %v: %v", values, err == nil, accepted, err)
		}
	}
}

// TestSchemaForEditors wants descriptions and defaults, which editors show.
func TestSchemaForEditors(t *testing.T) {
	text, err := parse(t, example).Schema("Example", nil)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Schema, Title string
		Properties    map[string]map[string]any
	}
	if err := json.Unmarshal(bytes.Replace(text, []byte("$schema"), []byte("schema"), 1), &got); err != nil {
		t.Fatal(err)
	}
	if got.Schema != "http://json-schema.org/draft-07/schema#" || got.Title != "Example" {
		t.Errorf("schema %q, title %q", got.Schema, got.Title)
	}
	want := map[string]any{"type": []any{"string", "null"}, "default": "", "pattern": "^[a-z]*$",
		"description": "Name of the thing, e.g. web. It never changes."}
	if diff := cmp.Diff(want, got.Properties["name"]); diff != "" {
		t.Errorf("name (-want +got):\n%s", diff)
	}
}

func TestSchemaRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"# A.\na: null\n":       "making the schema of a: the default <nil> has no type",
		"# A.\na: {}\n":         "making the schema of a: its comment does not say what the mapping takes",
		"# A.\na:\n  b: 1\n":    "making the schema of a: its comment does not say what the mapping takes",
		"s:\n  # A.\n  a: {}\n": "making the schema of s.a",
		"# A.\na: 2026-01-01\n": "making the schema of a",
	} {
		if _, err := parse(t, text).Schema("Example", nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gives the error %v, want one with %q", text, err, want)
		}
	}
}

func TestRemovedValuesPass(t *testing.T) {
	for removed, want := range map[string]string{
		"old":            "",
		"section.old":    "",
		"gone.away":      "its section is not there any more",
		"section":        "it is in values.yaml",
		"section.skip":   "it is in values.yaml",
		"section.skip.a": "its section is not there any more",
	} {
		values := parse(t, example)
		values.Removed = map[string]string{removed: "set name instead"}
		text, err := values.Schema("Example", nil)
		if want == "" && (err != nil ||
			!strings.Contains(string(text), `"description": "No value of this chart: set name instead."`)) {
			t.Errorf("%s: error %v, schema %s", removed, err, text)
		}
		if want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: error %v, want one with %q", removed, err, want)
		}
	}
}
