package chartvalues

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const example = `# About the whole file; nobody's comment.

# Values that charts share.
# @schema {additionalProperties: true}
global:
  # Registry.
  registry: ""

# Required. Name of the thing, e.g. web. It never changes.
# @schema {pattern: "^[a-z]*$"}
name: ""

# Which kind: one|two. null: of the profile.
# @schema {enum: [null, one, two]}
# @default of the profile
kind: null

# One of two.
# @schema {enum: [one, two]}
either: one

section:
  # Interval between two checks, in seconds.
  interval: 5
  # Skips the check.
  skip: false
  # Where it is.
  # @notnull
  endpoint: https://example.com

# Names of friends.
# @schema {items: {type: string}}
friends: []

# Labels.
# @schema {additionalProperties: {type: string}}
labels: {}

# What the container gets.
# @schema {additionalProperties: true}
resources:
  requests:
    cpu: 50m
`

func parse(t *testing.T, text string) *Value {
	t.Helper()
	values, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return values
}

func TestParse(t *testing.T) {
	var got []Value
	for _, leaf := range parse(t, example).Leaves() {
		got = append(got, *leaf)
	}
	want := []Value{
		{Path: "global.registry", Key: "registry", Comment: "Registry.", Default: ""},
		{Path: "name", Key: "name", Comment: "Name of the thing, e.g. web. It never changes.", Required: true,
			Default: "",
			Rules:   map[string]any{"pattern": "^[a-z]*$"}},
		{Path: "kind", Key: "kind", Comment: "Which kind: one|two. null: of the profile.", Words: "of the profile",
			Rules: map[string]any{"enum": []any{nil, "one", "two"}}},
		{Path: "either", Key: "either", Comment: "One of two.", Default: "one",
			Rules: map[string]any{"enum": []any{"one", "two"}}},
		{Path: "section.interval", Key: "interval", Comment: "Interval between two checks, in seconds.", Default: 5},
		{Path: "section.skip", Key: "skip", Comment: "Skips the check.", Default: false},
		{Path: "section.endpoint", Key: "endpoint", Comment: "Where it is.", NotNull: true,
			Default: "https://example.com"},
		{Path: "friends", Key: "friends", Comment: "Names of friends.", Default: []any{},
			Rules: map[string]any{"items": map[string]any{"type": "string"}}},
		{Path: "labels", Key: "labels", Comment: "Labels.", Default: map[string]any{},
			Rules: map[string]any{"additionalProperties": map[string]any{"type": "string"}}},
		{Path: "resources", Key: "resources", Comment: "What the container gets.",
			Rules:   map[string]any{"additionalProperties": true},
			Default: map[string]any{"requests": map[string]any{"cpu": "50m"}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("leaves (-want +got):\n%s", diff)
	}
}

func TestParseRefuses(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"no YAML":                 {"{", "parsing values"},
		"a value without comment": {"# A.\na: 1\nb: 2\n", "describing b: there is no comment above it"},
		"one in a section":        {"s:\n  # A.\n  a: 1\n  b: 2\n", "describing s.b: there is no comment above it"},
		"rules that are no YAML":  {"# A.\n# @schema {\na: 1\n", "reading @schema of a"},
		"a misspelt word for us": {"# A.\n# @shcema {}\na: 1\n",
			"describing a: there is no @shcema; use @schema, @default or @notnull"},
		"a section without any":    {"# A.\na: 1\ns:\n  b: 2\n", "describing s: there is no comment above it"},
		"more than one at a time":  {"# A.\na: 1\nb: 2\nc: 3\n", "describing c"},
		"a comment that says none": {"# A.\na: 1\n#\nb: 2\n", "describing b"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Parse([]byte(test.text)); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}
