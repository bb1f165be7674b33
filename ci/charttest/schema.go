package charttest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// schema is the part of a JSON schema the chart uses.
type schema struct {
	Type                 any                `json:"type"`
	Properties           map[string]*schema `json:"properties"`
	AdditionalProperties any                `json:"additionalProperties"`
	PatternProperties    map[string]any     `json:"patternProperties"`
	Items                *schema            `json:"items"`
	Minimum              float64            `json:"minimum"`
	Maximum              float64            `json:"maximum"`
}

func readSchema(tb testing.TB, dir string) *schema {
	tb.Helper()
	root := new(schema)
	text, err := os.ReadFile(filepath.Join(dir, "values.schema.json"))
	if err != nil {
		tb.Fatal(err)
	}
	if err := json.Unmarshal(text, root); err != nil {
		tb.Fatal(err)
	}
	return root
}

// isObject reports whether the schema is that of an object, or of an object or null.
func (s *schema) isObject() bool {
	types, several := s.Type.([]any)
	return s.Type == "object" || several && slices.Contains(types, any("object"))
}

// walk calls visit for s and everything inside it. The path is that of values:
// keys with dots between them, and [0] for an item of a list.
func (s *schema) walk(path string, visit func(path string, s *schema)) {
	visit(path, s)
	for key, property := range s.Properties {
		property.walk(strings.TrimPrefix(path+"."+key, "."), visit)
	}
	if s.Items != nil {
		s.Items.walk(path+"[0]", visit)
	}
}

// ClosedObjects returns the sorted paths of the values of a chart that are objects with known keys only.
func ClosedObjects(tb testing.TB, dir string) []string {
	tb.Helper()
	return objectPaths(tb, dir, true)
}

// objectPaths returns the sorted paths of all objects that are closed, or of all
// that are not.
func objectPaths(tb testing.TB, dir string, closed bool) []string {
	tb.Helper()
	var paths []string
	readSchema(tb, dir).walk("", func(path string, s *schema) {
		if s.isObject() && (s.AdditionalProperties == false && s.PatternProperties == nil) == closed {
			paths = append(paths, path)
		}
	})
	slices.Sort(paths)
	return paths
}
