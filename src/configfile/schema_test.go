package configfile

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNewSchema(t *testing.T) {
	keys := sampleKeys()
	keys[0].Environment = ""
	text, err := NewSchema("sample", sampleDefaults(), keys, Schema{"not": Schema{"required": []string{"x"}}})
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	either := func(kind string) []any { return []any{kind, "null"} }
	for _, tt := range []struct {
		keys []string
		want map[string]any
	}{
		{[]string{"endpoint"}, map[string]any{"type": "string", "minLength": 1.0, "pattern": "^(?:https://[a-z.]+)$",
			"default":  "https://default",
			"examples": []any{"https://x"}, "description": "Where it is. Allowed: a URL like https://x. Since 1.0.0."}},
		{[]string{"insecure"}, map[string]any{"type": either("boolean"), "default": false,
			"examples": []any{true}, "description": "Trusts anybody. Allowed: true or false. Since 1.0.0."}},
		{[]string{"labels"}, map[string]any{"type": either("object"), "examples": []any{map[string]any{"a": "b"}},
			"patternProperties": map[string]any{"^(?:[a-z./]+)$": map[string]any{"type": "string",
				"pattern": "^(?:[a-z]+)$"}, `^ours\.example/`: false},
			"additionalProperties": false,
			"description":          "Labels. Allowed: lower-case letters. Since 1.1.0."}},
		{[]string{"nested", "interval"}, map[string]any{"type": either("integer"), "minimum": 1.0, "maximum": 60.0,
			"default":     5.0,
			"examples":    []any{7.0},
			"description": "How often. Allowed: a whole number of seconds from 1 to 60. Since 1.0.0."}},
	} {
		if diff := cmp.Diff(tt.want, properties(t, got, tt.keys...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", strings.Join(tt.keys, "."), diff)
		}
	}
	delete(got, "properties")
	want := map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "sample", "type": "object",
		"additionalProperties": false, "required": []any{"endpoint"},
		"allOf": []any{map[string]any{"not": map[string]any{"required": []any{"x"}}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("root (-want +got):\n%s", diff)
	}
}

// TestSchemaLeavesRoomForTheEnvironment: what a variable can give is neither required nor refused when it is empty.
func TestSchemaLeavesRoomForTheEnvironment(t *testing.T) {
	text, err := NewSchema("sample", sampleDefaults(), sampleKeys())
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if got["required"] != nil {
		t.Errorf("required are %v, want none", got["required"])
	}
	endpoint := properties(t, got, "endpoint")
	if pattern := endpoint["pattern"]; pattern != "^(?:|https://[a-z.]+)$" {
		t.Errorf("pattern %v refuses empty text", pattern)
	}
	if description := endpoint["description"].(string); !strings.Contains(description,
		"the environment variable ENDPOINT") {
		t.Errorf("description %q does not name the variable", description)
	}
}

func TestSchemaNeedsExamples(t *testing.T) {
	keys := sampleKeys()
	keys[0].Example = "[broken"
	if _, err := NewSchema("sample", sampleDefaults(), keys); err == nil || !strings.Contains(err.Error(), "endpoint") {
		t.Errorf("error %v, want one that names the key", err)
	}
}
