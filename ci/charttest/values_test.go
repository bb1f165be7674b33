package charttest

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"sigs.k8s.io/yaml"
)

// TestEveryValueHasAnEffect gives each value of each values file its default back, and wants the
// render to change or the chart to refuse.
func TestEveryValueHasAnEffect(t *testing.T) { wantEffects(t, CCM) }

// wantEffects gives each value its default back in each values file, or in the quick tier in one values file.
func wantEffects(t *testing.T, c Chart) {
	t.Helper()
	files, opened, tried := c.ValuesFiles(t), Open(t, c.Dir(t)), map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		text := readFile(t, files[name])
		with, notes, err := render(t, c.Dir(t), c.Release(parseValues(t, text)))
		if err != nil {
			t.Fatal(err)
		}
		for _, value := range Documented(t, c.Dir(t)) {
			values := parseValues(t, text)
			if tried[value] && !tier.Full() || !Remove(values, value) {
				continue
			}
			tried[value] = true
			got, gotNotes, err := opened.Render(t.Context(), c.Release(values))
			if err == nil && got == with && gotNotes == notes {
				t.Errorf("%s: the default of %s changes nothing", name, value)
			}
		}
	}
}

// parseValues returns what the text of a values file says.
func parseValues(t *testing.T, text string) map[string]any {
	t.Helper()
	values, err := chartutil.ReadValues([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return values
}

// exhausting returns those of values files to which many changes are made: all, or in the quick tier the one that sets
// nearly all values.
func exhausting(files map[string]string) map[string]string {
	return tier.Pick(map[string]string{"full": files["full"]}, files)
}

// documented returns the paths of the values in the README's table.
func documented(t *testing.T) []string {
	t.Helper()
	return Documented(t, chartDir(t))
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

// TestEveryValueMayBeNull sets values and sections to null, on top of each values file, as --set x=null does,
// and as values that an older chart kept (--reuse-values) lack new ones: the chart renders something whole, or says
// what is wrong.
func TestEveryValueMayBeNull(t *testing.T) {
	for name, path := range exhausting(valuesFiles(t)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantNulls(t, chartDir(t), path, tier.Full() && name == "full", release)
		})
	}
}

// wantNulls tries every null on top of a values file of the chart in dir: each of them alone, or several at once, and
// fewer if they are refused. With several, it leaves out those that must be refused, which have tests of their own.
func wantNulls(t *testing.T, dir, path string, alone bool, of func(values map[string]any) chart.Release) {
	t.Helper()
	checked, text, opened := seen{}, readFile(t, path), Open(t, dir)
	var try func(paths []string)
	try = func(paths []string) {
		values := parseValues(t, text)
		for _, path := range paths {
			Remove(values, path)
			values = chartutil.CoalesceTables(nest(path, nil), values)
		}
		what := strings.Join(paths, ", ") + "=null"
		text, notes, err := opened.Render(t.Context(), of(values))
		switch half := len(paths) / 2; {
		case err == nil:
			checked.wantWhole(t, what, text, notes)
		case half > 0:
			try(paths[:half])
			try(paths[half:])
		case !inWords(err):
			t.Errorf("%s: %v", what, err)
		}
	}
	leaves, refused := Documented(t, dir), notNullIn(t, dir)
	byDepth := map[int][]string{} // none of the same depth contains another
	for _, path := range slices.Concat(leaves, Sections(leaves)) {
		if !alone && slices.Contains(refused, path) {
			continue
		}
		depth := strings.Count(path, ".")
		byDepth[depth] = append(byDepth[depth], path)
	}
	together := 16
	if alone {
		together = 1
	}
	for _, paths := range byDepth {
		for some := range slices.Chunk(paths, together) {
			try(some)
		}
	}
}

// seen are rendered documents and notes that are checked. Most values change few of them.
type seen map[string]bool

// wantWhole wants rendered objects and notes to have no holes where a value should be.
func (s seen) wantWhole(t *testing.T, what, text, notes string) {
	t.Helper()
	for _, document := range Documents(text) {
		if s.first(document) {
			wantNoHole(t, what, document)
			if _, err := Decode(document); err != nil {
				t.Errorf("%s: %v", what, err)
			}
			for _, key := range emptyKeys(t, document) {
				t.Errorf("%s: %s has no value", what, key)
			}
		}
	}
	if s.first(notes) {
		wantNoHole(t, what, notes)
		if hole := regexp.MustCompile(`(?m).*(\S {2,}\S| [.,]$| [,;]|=$).*`).FindString(notes); hole != "" {
			t.Errorf("%s: the notes have a hole: %q", what, hole)
		}
	}
}

// first reports whether a text is new.
func (s seen) first(text string) bool {
	old := s[text]
	s[text] = true
	return !old
}

func wantNoHole(t *testing.T, what, text string) {
	t.Helper()
	if hole := regexp.MustCompile(`.*(<nil>|<no value>|%!|=null|(?m:: null$)).*`).FindString(text); hole != "" {
		t.Errorf("%s: the render has a hole: %s", what, hole)
	}
}

// emptyKeys returns the paths of rendered keys without a value.
func emptyKeys(t *testing.T, manifest string) []string {
	t.Helper()
	var found []string
	var walk func(path string, value any)
	walk = func(path string, value any) {
		switch content := value.(type) {
		case nil:
			found = append(found, path)
		case map[string]any:
			for key, inner := range content {
				walk(path+"."+key, inner)
			}
		case []any:
			for i, inner := range content {
				walk(fmt.Sprintf("%s[%d]", path, i), inner)
			}
		}
	}
	for _, document := range Documents(manifest) {
		var content map[string]any
		if err := yaml.Unmarshal([]byte(document), &content); err != nil {
			t.Fatal(err)
		}
		walk(fmt.Sprint(content["kind"]), content)
	}
	return found
}

// inWords reports whether an error is what the schema or the chart says about values, and not what the template engine
// stumbled over.
func inWords(err error) bool {
	said := err.Error()
	return strings.Contains(said, "meet the specifications of the schema") ||
		strings.Contains(said, "validate.yaml:1:4): ")
}

// sections returns the paths of the values that have others below them.
func sections(t *testing.T) []string {
	t.Helper()
	return Sections(documented(t))
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
	wantComplete(t, chartDir(t), files)
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
