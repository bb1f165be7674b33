package rules

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
)

// TestRules applies every rule to this repository.
func TestRules(t *testing.T) {
	dir := checkout.Path(t, checkout.Everything)
	tree, err := Read(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	rules := Rules()
	rules["imports"] = func(*Tree) []string {
		crossings, err := Crossings(t.Context(), dir, Boundaries(), "./src/...", "./src/emulator/...")
		if err != nil {
			t.Error(err)
		}
		return crossings
	}
	for name, rule := range rules {
		t.Run(name, func(t *testing.T) {
			for _, found := range rule(tree) {
				t.Error(found)
			}
		})
	}
}

// check compares what a rule finds in a small tree.
func check(t *testing.T, rule Rule, content map[string]string, want ...string) {
	t.Helper()
	repository := fstest.MapFS{}
	for p, text := range content {
		repository[p] = &fstest.MapFile{Data: []byte(text)}
	}
	tree, err := Read(repository)
	if err != nil {
		t.Fatal(err)
	}
	got := rule(tree)
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("findings differ (-want +got):\n%s", diff)
	}
}

// TestCrossings: packages of a module that must not reach one of them, also not by another one.
func TestCrossings(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":                "module " + ours + "src\n\ngo 1.26.0\n",
		"away/away.go":          "package away\n",
		"awayward/awayward.go":  "package awayward\n",
		"middle/middle.go":      "package middle\n\nimport _ \"" + ours + "src/away\"\n",
		"far/far.go":            "package far\n\nimport _ \"" + ours + "src/middle\"\n",
		"allowed/allowed.go":    "package allowed\n\nimport _ \"" + ours + "src/away\"\n",
		"clean/clean.go":        "package clean\n\nimport _ \"" + ours + "src/awayward\"\n",
		"tested/tested.go":      "package tested\n",
		"tested/tested_test.go": "package tested_test\n\nimport _ \"" + ours + "src/away\"\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		"src/far: imports src/middle, which imports src/away: apart",
		"src/middle: imports src/away: apart",
		"src/tested: imports src/away: apart",
	}
	for _, tests := range []bool{false, true} {
		b := Boundary{Why: "apart", From: "src", Except: "src/allowed src/away", Never: "src/away", Tests: tests}
		got, err := Crossings(t.Context(), dir, []Boundary{b}, "./...")
		if diff := cmp.Diff(want[:map[bool]int{false: 2, true: 3}[tests]], got); diff != "" || err != nil {
			t.Errorf("with tests %t: %v, crossings differ (-want +got):\n%s", tests, err, diff)
		}
	}
}
