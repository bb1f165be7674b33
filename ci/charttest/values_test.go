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

// baseFor is what must be set beside a value so that it can have an effect.
func baseFor(path string) []string {
	switch {
	case strings.HasPrefix(path, "credentials.workloadIdentity."):
		return []string{"credentials.existingSecret=null", "credentials.workloadIdentity.enabled=true", "credentials.workloadIdentity.serviceAccountID=sa-1"}
	case strings.HasPrefix(path, "caBundle.existing."):
		return []string{"caBundle.existing.name=some-ca"}
	case path == "serviceAccount.create":
		return []string{"serviceAccount.name=named"}
	}
	return nil
}

// TestEveryValueHasAnEffect sets each value of the values files alone, and wants
// the render to change.
func TestEveryValueHasAnEffect(t *testing.T) {
	// The required values are in the plain render, too, enabled is there for
	// charts that include this one, like global, or in the base of its section.
	without := append(required(), "enabled", "global", "credentials.workloadIdentity.enabled")
	for path, value := range everyValue(t) {
		if slices.Contains(without, path) {
			continue
		}
		t.Run(path, func(t *testing.T) {
			plain := minimal(t, baseFor(path)...)
			changed := chartutil.CoalesceTables(nest(path, value), minimal(t, baseFor(path)...))
			if manifest(t, release(changed)) == manifest(t, release(plain)) {
				t.Errorf("%v changes nothing", value)
			}
		})
	}
}

// everyValue returns the values of all values files together; the last one wins,
// but never over that of the full one.
func everyValue(t *testing.T) map[string]any {
	t.Helper()
	all := map[string]any{}
	for _, path := range valuesFiles(t) {
		maps.Copy(all, leaves(readValues(t, path)))
	}
	maps.Copy(all, leaves(readValues(t, valuesFiles(t)["full"])))
	return all
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

// TestFullValuesAreComplete wants every value of values.yaml in some values
// file, and not as its default. Those that exclude one in the full values file
// are in the other files.
func TestFullValuesAreComplete(t *testing.T) {
	var files []map[string]any
	for _, path := range valuesFiles(t) {
		files = append(files, readValues(t, path))
	}
	for path, value := range leaves(defaults(t)) {
		different := func(file map[string]any) bool {
			got, found := lookUp(file, path)
			return found && !cmp.Equal(got, value)
		}
		if !slices.ContainsFunc(files, different) {
			t.Errorf("no file of ci/ gives %s another value than its default", path)
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
