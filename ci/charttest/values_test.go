package charttest

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
	"github.com/thalassa-cloud/thalassa-ccm/tools/chartvalues"
	"helm.sh/helm/v3/pkg/chartutil"
)

// TestEveryValueHasAnEffect gives each value of each values file its default back, and wants the
// render to change or the chart to refuse.
func TestEveryValueHasAnEffect(t *testing.T) {
	for name, path := range valuesFiles(t) {
		for _, value := range documented(t) {
			values := readValues(t, path)
			if !remove(values, value) {
				continue
			}
			t.Run(name+" "+value, func(t *testing.T) {
				with, without := renderAll(t, readValues(t, path)), renderAll(t, values)
				if with == without {
					t.Error("the default changes nothing")
				}
			})
		}
	}
}

// renderAll returns objects and notes, or why there are none.
func renderAll(t *testing.T, values map[string]any) string {
	t.Helper()
	text, notes, err := chart.Render(t.Context(), chartDir, release(values))
	return fmt.Sprint(text, notes, err)
}

// documented returns the paths of the values in the README's table.
func documented(t *testing.T) []string {
	t.Helper()
	values, err := chartvalues.Parse([]byte(readFile(t, filepath.Join(chartDir, chartutil.ValuesfileName))))
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, leaf := range values.Leaves() {
		paths = append(paths, leaf.Path)
	}
	return paths
}

// remove takes the value at a dotted path out of the values, and says whether it was there.
func remove(values map[string]any, path string) bool {
	key, rest, more := strings.Cut(path, ".")
	nested, isMap := values[key].(map[string]any)
	if more {
		return isMap && remove(nested, rest)
	}
	_, found := values[key]
	delete(values, key)
	return found
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

// TestEveryValueMayBeMissing takes each value and each section away from the defaults, as values that an older chart
// kept (--reuse-values) lack new ones: the chart renders something whole, or says what is wrong.
func TestEveryValueMayBeMissing(t *testing.T) {
	for _, name := range []string{"full", "deployment", "managed-hosting"} {
		for _, value := range slices.Concat(documented(t), sections(t)) {
			values := readValues(t, valuesFiles(t)[name])
			remove(values, value)
			text, _, err := chart.Render(t.Context(), chartDir, release(chartutil.CoalesceTables(nest(value, nil), values)))
			if err == nil {
				_, err = Decode(text)
			} else if strings.Contains(err.Error(), "meet the specifications of the schema") || strings.Contains(err.Error(), "validate.yaml:1:4): ") {
				continue // told in words
			}
			if err != nil {
				t.Errorf("%s without %s: %v", name, value, err)
			}
			if hole := regexp.MustCompile(`.*(<nil>|<no value>|%!|=null|(?m:: null$)).*`).FindString(text); hole != "" {
				t.Errorf("%s without %s: the render has a hole: %s", name, value, hole)
			}
		}
	}
}

// sections returns the paths of the values that have others below them.
func sections(t *testing.T) []string {
	t.Helper()
	found := map[string]bool{}
	for _, path := range documented(t) {
		for at := strings.LastIndex(path, "."); at > 0; at = strings.LastIndex(path, ".") {
			path = path[:at]
			found[path] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// nest makes values of one value at a dotted path.
func nest(path string, value any) map[string]any {
	key, rest, more := strings.Cut(path, ".")
	if more {
		return map[string]any{key: nest(rest, value)}
	}
	return map[string]any{key: value}
}

// TestValuesFilesAreComplete wants every value of values.yaml in some values file, and not as its default.
func TestValuesFilesAreComplete(t *testing.T) {
	var files []map[string]any
	for _, path := range valuesFiles(t) {
		files = append(files, readValues(t, path))
	}
	for _, path := range documented(t) {
		deflt, _ := lookUp(defaults(t), path)
		different := func(file map[string]any) bool {
			got, found := lookUp(file, path)
			return found && !cmp.Equal(got, deflt)
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
