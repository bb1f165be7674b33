package charttest

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chartutil"
)

// TestEveryValueHasAnEffect sets each value of the full values file alone, and
// wants the render to change.
func TestEveryValueHasAnEffect(t *testing.T) {
	// Without a name, serviceAccount.create cannot be false.
	const named = "serviceAccount.name=named"
	plain := manifest(t, release(minimal(t, named)))
	// The required values are in the plain render, too; the other two are there
	// for charts that include this one.
	without := append(required(), "enabled", "global")
	for path, value := range leaves(readValues(t, valuesFiles(t)["full"])) {
		if slices.Contains(without, path) {
			continue
		}
		t.Run(path, func(t *testing.T) {
			values := chartutil.CoalesceTables(nest(path, value), minimal(t, named))
			if manifest(t, release(values)) == plain {
				t.Errorf("%v changes nothing", value)
			}
		})
	}
}

func TestRequiredValuesHaveAnEffect(t *testing.T) {
	plain := manifest(t, release(minimal(t)))
	for _, path := range required() {
		t.Run(path, func(t *testing.T) {
			if got := manifest(t, release(minimal(t, path+"=other"))); got == plain {
				t.Error("another value changes nothing")
			}
		})
	}
}

// TestFullValuesAreComplete wants every value of values.yaml in the full values
// file, and not as its default.
func TestFullValuesAreComplete(t *testing.T) {
	full := readValues(t, valuesFiles(t)["full"])
	for path, value := range leaves(defaults(t)) {
		got, found := lookUp(full, path)
		switch {
		case !found:
			t.Errorf("ci/full-values.yaml lacks %s", path)
		case cmp.Equal(got, value):
			t.Errorf("ci/full-values.yaml gives %s its default", path)
		}
	}
}

// lookUp finds the value at a dotted path, or the null that replaces one of the
// maps on the way.
func lookUp(values map[string]any, path string) (any, bool) {
	key, rest, more := strings.Cut(path, ".")
	value, found := values[key]
	nested, isMap := value.(map[string]any)
	if !more || !found || value == nil || !isMap {
		return value, found && (!more || value == nil)
	}
	return lookUp(nested, rest)
}

// row is a line of the README's table of values.
type row struct{ value, deflt string }

// readmeRows returns the table of values in the chart's README.
func readmeRows(t *testing.T) []row {
	t.Helper()
	_, table, found := strings.Cut(readFile(t, filepath.Join(chartDir, "README.md")), "|---|---|---|\n")
	if !found {
		t.Fatal("the README has no table")
	}
	var rows []row
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 {
			t.Fatalf("%q has %d cells, want 5", line, len(cells))
		}
		rows = append(rows, row{strings.Trim(cells[1], " `"), strings.TrimSpace(cells[2])})
	}
	return rows
}

func TestReadmeListsEveryValue(t *testing.T) {
	var listed []string
	for _, row := range readmeRows(t) {
		listed = append(listed, row.value)
	}
	slices.Sort(listed)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(leaves(defaults(t)))), listed); diff != "" {
		t.Errorf("values.yaml and the README differ (-values +readme):\n%s", diff)
	}
}

func TestReadmeDefaults(t *testing.T) {
	values := leaves(defaults(t))
	inWords := map[string]string{
		"affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms": "control-plane nodes",
		"tolerations": "all taints",
	}
	for _, path := range required() {
		inWords[path] = "required"
	}
	for _, row := range readmeRows(t) {
		want, special := inWords[row.value]
		if !special {
			want = "`" + literal(t, values[row.value]) + "`"
		}
		if row.deflt != want {
			t.Errorf("%s has the default %s in the README, want %s", row.value, row.deflt, want)
		}
	}
}

// literal writes a value as YAML would on one line; only the empty string needs quotes.
func literal(t *testing.T, value any) string {
	t.Helper()
	if text, isText := value.(string); isText && text != "" {
		return text
	}
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
