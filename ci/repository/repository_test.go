package repository

import (
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/thalassa-cloud/thalassa-ccm/tools/repo/repotest"
)

// report fails the test with every finding, so that one run shows all of them.
func report(t *testing.T, found []Finding, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		t.Error(f)
	}
}

// tree makes a file system of files given as path and content.
func tree(content map[string]string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for p, text := range content {
		fsys[p] = &fstest.MapFile{Data: []byte(text)}
	}
	return fsys
}

// write puts files below dir.
func write(t *testing.T, dir string, content map[string]string) {
	t.Helper()
	for p, text := range content {
		name := filepath.Join(dir, p)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// strs gives findings as text, for comparison.
func strs(found []Finding) []string {
	out := []string{}
	for _, f := range found {
		out = append(out, f.String())
	}
	return out
}

// check compares what a rule finds in a small tree.
func check(t *testing.T, rule Rule, content map[string]string, want ...string) {
	t.Helper()
	found, err := rule(tree(content))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(append([]string{}, want...), strs(found)); diff != "" {
		t.Errorf("findings differ (-want +got):\n%s", diff)
	}
}

// TestRepository applies every rule to this repository.
func TestRepository(t *testing.T) {
	dir := repotest.Root(t)
	for name, rule := range Rules() {
		t.Run(name, func(t *testing.T) {
			found, err := rule(os.DirFS(dir))
			report(t, found, err)
		})
	}
	t.Run("replaces", func(t *testing.T) {
		found, err := Replaces(t.Context(), dir)
		report(t, found, err)
	})
	t.Run("standalone", func(t *testing.T) {
		found, err := Foreign(t.Context(), dir)
		report(t, found, err)
	})
	t.Run("imports", func(t *testing.T) {
		found, err := Crossings(t.Context(), dir, Boundaries(), "./src/...", "./src/emulator/...")
		report(t, found, err)
	})
	t.Run("budget", func(t *testing.T) {
		st, err := Measure(os.DirFS(dir))
		report(t, nil, err)
		t.Logf("%+v", st)
		for _, problem := range st.Problems() {
			t.Error(problem)
		}
	})
}

func TestSkippedFolders(t *testing.T) {
	big := string(make([]byte, maxBytes+1))
	check(t, BigFiles, map[string]string{".git/pack": big, "bin/lab": big, "dist/image.tar": big,
		"src/.git": "gitdir: other"})
}

func TestFindingString(t *testing.T) {
	tests := map[string]struct {
		finding Finding
		want    string
	}{
		"whole file": {Finding{"a.go", 0, "too long"}, "a.go: too long"},
		"one line":   {Finding{"a.go", 7, "too deep"}, "a.go:7: too deep"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tt.finding.String(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestSorted(t *testing.T) {
	got := strs(sorted([]Finding{{"b", 1, "x"}, {"a", 2, "y"}, {"a", 2, "x"}, {"a", 1, "z"}}))
	want := []string{"a:1: z", "a:2: x", "a:2: y", "b:1: x"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("order differs (-want +got):\n%s", diff)
	}
}
