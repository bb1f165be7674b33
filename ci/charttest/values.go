package charttest

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/thalassa-cloud/thalassa-ccm/tools/chartvalues"
)

// documentedIn are the results of Documented.
var documentedIn sync.Map //nolint:gochecknoglobals // see Documented

// Documented returns the paths of the values of a chart, which its README lists. The chart is read once per process.
func Documented(tb testing.TB, dir string) []string {
	tb.Helper()
	if found, ok := documentedIn.Load(dir); ok {
		return slices.Clone(found.([]string))
	}
	text, err := os.ReadFile(filepath.Join(dir, chartutil.ValuesfileName))
	if err != nil {
		tb.Fatal(err)
	}
	values, err := chartvalues.Parse(text)
	if err != nil {
		tb.Fatal(err)
	}
	var paths []string
	for _, leaf := range values.Leaves() {
		paths = append(paths, leaf.Path)
	}
	documentedIn.Store(dir, paths)
	return slices.Clone(paths)
}

// Sections returns the paths above those of values.
func Sections(values []string) []string {
	found := map[string]bool{}
	for _, path := range values {
		for at := strings.LastIndex(path, "."); at > 0; at = strings.LastIndex(path, ".") {
			path = path[:at]
			found[path] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// Remove takes the value at a dotted path out of the values, and reports whether it was there.
func Remove(values map[string]any, path string) bool {
	key, rest, more := strings.Cut(path, ".")
	nested, isMap := values[key].(map[string]any)
	if more {
		return isMap && Remove(nested, rest)
	}
	_, found := values[key]
	delete(values, key)
	return found
}
