package charttest

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
)

// standing validates a values file as an editor does: by the schema alone, without the defaults that Helm merges it
// with.
func standing(t *testing.T) func(values map[string]any) error {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(readFile(t,
		filepath.Join(chartDir(t), "values.schema.json"))))
	if err != nil {
		t.Fatal(err)
	}
	if err := compiler.AddResource("values.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("values.json")
	if err != nil {
		t.Fatal(err)
	}
	return func(values map[string]any) error {
		data, err := json.Marshal(values)
		if err != nil {
			t.Fatal(err)
		}
		file, err := jsonschema.UnmarshalJSON(strings.NewReader(string(data)))
		if err != nil {
			t.Fatal(err)
		}
		return schema.Validate(file)
	}
}

// TestValuesFilesAreValidAsTheyStand: an editor marks nothing in a file that says only what differs from the defaults.
func TestValuesFilesAreValidAsTheyStand(t *testing.T) {
	validate := standing(t)
	files := map[string]map[string]any{
		"empty": {}, "one value": {"logVerbosity": 4}, "one of a section": {"image": map[string]any{"tag": "9.9.9"}},
		"sections that are commented out": {"resources": nil, "metrics": nil, "scrape": map[string]any{"labels": nil}},
	}
	for name, path := range valuesFiles(t) {
		files[name] = readValues(t, path)
	}
	for name, values := range files {
		if err := validate(values); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, values := range map[string]map[string]any{
		"a misspelt value": {"logverbosity": 4}, "a text for a number": {"logVerbosity": "much"},
		"no section": {"image": nil},
	} {
		if validate(values) == nil {
			t.Errorf("%s is valid", name)
		}
	}
}

// notNull are the values that may not be null.
func notNull() []string {
	return []string{"bindAddress", "cloud", "cloudConfig", "credentials", "image", "image.pullPolicy",
		"image.repository", "logVerbosity", "profile",
		"rbac", "replicas", "securePort", "serviceAccount", "terminationGracePeriodSeconds"}
}

// TestNullGivesTheSameMessage: the schema takes null where the chart takes it, and where not, it says so in a
// sentence.
func TestNullGivesTheSameMessage(t *testing.T) {
	validate := standing(t)
	for _, path := range slices.Concat(documented(t), sections(t)) {
		invalid, needed := validate(nest(path, nil)), slices.Contains(notNull(), path)
		if (invalid != nil) != needed {
			t.Errorf("%s=null: the schema says %v, and null is refused: %v", path, invalid, needed)
		}
	}
	for _, path := range notNull() {
		want := []string{path + " is null: set a value, or leave it out to use the default"}
		if got := sentences(t, refusal(t, minimal(t, path+"=null"))); !slices.Equal(got, want) {
			t.Errorf("%s=null: the chart says %q, want %q", path, got, want)
		}
	}
}

// TestScalarsInPlaceOfSections: a value of another type is refused in words, or rendered whole.
func TestScalarsInPlaceOfSections(t *testing.T) {
	checked, opened := seen{}, Open(t, chartDir(t))
	for i, path := range slices.Concat(documented(t), sections(t)) {
		all := []any{"x", 7, true, []any{"x"}}
		for _, value := range tier.Pick(all[i%len(all):][:1], all) {
			values := minimal(t)
			Remove(values, path)
			merged := merge(values, nest(path, value))
			text, notes, err := opened.Render(t.Context(), release(merged))
			what := fmt.Sprintf("%s=%v", path, value)
			switch {
			case err != nil && !inWords(err):
				t.Errorf("%s: %v", what, err)
			case err == nil:
				checked.wantWhole(t, what, text, notes)
			}
		}
	}
}

// merge puts the values of over on top of those of base.
func merge(base, over map[string]any) map[string]any {
	for key, value := range over {
		inner, isMap := value.(map[string]any)
		below, isSection := base[key].(map[string]any)
		if isMap && isSection {
			value = merge(below, inner)
		}
		base[key] = value
	}
	return base
}

// TestKeysAreNamedWhereTheyAre: an error about a key of a mapping names the mapping and the key.
func TestKeysAreNamedWhereTheyAre(t *testing.T) {
	const other = "additional properties '--v' not allowed"
	for path, want := range map[string]string{
		"extraArgs":                         "at '/extraArgs': additional properties '--v' not allowed",
		"cloudConfig.additionalLabels":      "at '/cloudConfig/additionalLabels': " + other,
		"cloudConfig.loadBalancer.defaults": "at '/cloudConfig/loadBalancer/defaults': " + other,
	} {
		if got := refusal(t, merge(minimal(t), nest(path, map[string]any{"--v": "4"}))); !strings.Contains(got, want) {
			t.Errorf("%s: error %q, want one with %q", path, got, want)
		}
	}
	reserved := nest("cloudConfig.additionalLabels", map[string]any{"k8s.thalassa.cloud/cluster": "a"})
	want := "cloudConfig.additionalLabels contains k8s.thalassa.cloud/cluster: "
	if got := refusal(t, merge(minimal(t), reserved)); !strings.Contains(got, want) {
		t.Errorf("error %q, want one with %q", got, want)
	}
}
