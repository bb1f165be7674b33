package repository

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// boundary keeps the test module's packages below keep away from those below away.
func boundary(tests bool) Boundary {
	return Boundary{
		Why:    "they are kept apart",
		From:   []string{ours + "src"},
		Except: []string{ours + "src/allowed"},
		Never:  []string{ours + "src/away"},
		Tests:  tests,
	}
}

func TestCrossings(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"go.mod":                "module " + ours + "src\n\ngo 1.26.0\n",
		"away/away.go":          "package away\n",
		"awayward/awayward.go":  "package awayward\n",
		"middle/middle.go":      "package middle\n\nimport _ \"" + ours + "src/away\"\n",
		"far/far.go":            "package far\n\nimport _ \"" + ours + "src/middle\"\n",
		"allowed/allowed.go":    "package allowed\n\nimport _ \"" + ours + "src/away\"\n",
		"clean/clean.go":        "package clean\n\nimport _ \"" + ours + "src/awayward\"\n",
		"tested/tested.go":      "package tested\n",
		"tested/tested_test.go": "package tested_test\n\nimport _ \"" + ours + "src/away\"\n",
	})
	code := []string{
		"src/far: imports " + ours + "src/middle, which imports " + ours + "src/away: they are kept apart",
		"src/middle: imports " + ours + "src/away: they are kept apart",
	}
	tests := map[string]struct {
		boundary Boundary
		want     []string
	}{
		"code only":  {boundary(false), code},
		"with tests": {boundary(true), append(code[:2:2], "src/tested: imports "+ours+"src/away: they are kept apart")},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			found, err := Crossings(t.Context(), dir, []Boundary{tt.boundary}, "./...")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, strs(found)); diff != "" {
				t.Errorf("crossings differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCrossingsOfNothing(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"go.mod": gomod()})
	if _, err := Crossings(t.Context(), dir, []Boundary{boundary(false)}, "./..."); err == nil {
		t.Error("got no error, want one: a rule that checks nothing must not pass")
	}
}

func TestBelow(t *testing.T) {
	tests := map[string]struct {
		path string
		want bool
	}{
		"itself":             {"a/b", true},
		"inside":             {"a/b/c", true},
		"same beginning":     {"a/bc", false},
		"above":              {"a", false},
		"second of prefixes": {"x/y", true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := below(tt.path, []string{"a/b", "x"}); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}
