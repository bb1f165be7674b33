package generate

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/plugin"
)

// resultOf is the schema of a version with a result, whose type has the name Result.
func resultOf(t *testing.T, version string, result any) outputSchema {
	t.Helper()
	made := newOutputSchema(version)
	if err := made.addKind("Result", reflect.TypeOf(result)); err != nil {
		t.Fatal(err)
	}
	return made
}

func firstResult() any {
	type Part struct {
		Name string `json:"name"`
	}
	type Result struct {
		plugin.Header `json:",inline"`
		Parts         []Part `json:"parts"`
		Count         int    `json:"count"`
	}
	return Result{}
}

func resultWithMore() any {
	type Part struct {
		Name  string `json:"name"`
		State string `json:"state,omitempty"`
	}
	type Result struct {
		plugin.Header `json:",inline"`
		Parts         []Part  `json:"parts"`
		Count         int     `json:"count"`
		More          float64 `json:"more"`
	}
	return Result{}
}

func resultWithout() any {
	type Result struct {
		plugin.Header `json:",inline"`
		Count         int `json:"count"`
	}
	return Result{}
}

func resultRenamed() any {
	type Part struct {
		Title string `json:"title"`
	}
	type Result struct {
		plugin.Header `json:",inline"`
		Parts         []Part `json:"parts"`
		Count         int    `json:"count"`
	}
	return Result{}
}

func resultOptional() any {
	type Part struct {
		Name string `json:"name"`
	}
	type Result struct {
		plugin.Header `json:",inline"`
		Parts         []Part `json:"parts"`
		Count         int    `json:"count,omitempty"`
	}
	return Result{}
}

// TestPluginSchemaKeeps: within a version, fields are only added.
func TestPluginSchemaKeeps(t *testing.T) {
	text, err := json.Marshal(resultOf(t, "v1", firstResult()))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "schema.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		version string
		result  any
		want    string
	}{
		"the same":                 {"v1", firstResult(), ""},
		"fields are added":         {"v1", resultWithMore(), ""},
		"a field is removed":       {"v1", resultWithout(), "Result.parts is removed or changed"},
		"a field of a part":        {"v1", resultRenamed(), "Part.name is removed or changed: raise APIVersion"},
		"a field may be absent":    {"v1", resultOptional(), "Result.count is removed or changed"},
		"a field, with a new name": {"v2", resultRenamed(), ""},
	} {
		made := resultOf(t, test.version, test.result)
		if err := made.keeps(file); (err == nil) != (test.want == "") ||
			err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error = %v, want %q", name, err, test.want)
		}
	}
}
