package fuzz

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/tools/repo"
)

// module writes a module whose targets are one that holds and one that does not.
func module(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range map[string]string{
		"go.mod":                   "module example.test/fuzzed\n\ngo 1.26\n",
		"good/good_test.go":        "package good\n\nimport \"testing\"\n\nfunc FuzzGood(f *testing.F) { f.Fuzz(func(*testing.T, string) {}) }\n",
		"bad/bad_test.go":          "package bad\n\nimport \"testing\"\n\nfunc FuzzBad(f *testing.F) {\n\tf.Add(\"seed\")\n\tf.Fuzz(func(t *testing.T, s string) {\n\t\tif s != \"\" {\n\t\t\tt.Fatal(\"no good\")\n\t\t}\n\t})\n}\n",
		"bad/testdata/x/x_test.go": "package x\n\nfunc FuzzNot() {}\n",
		"bad/bad.go":               "// Package bad has a function that only looks like a target.\npackage bad\n\nfunc FuzzNot() {}\n",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestTargets(t *testing.T) {
	got, err := Targets(module(t), "good", "bad")
	want := []Target{{"./good", "FuzzGood"}, {"./bad", "FuzzBad"}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("targets = %v, %v; want %v", got, err, want)
	}
}

func TestRun(t *testing.T) {
	t.Setenv("GOWORK", "off")
	root := module(t)
	targets, err := Targets(root, ".")
	if err != nil {
		t.Fatal(err)
	}
	for _, guided := range []bool{false, true} {
		var out bytes.Buffer
		err = Run(t.Context(), root, targets, Options{Each: "20x", Guided: guided}, &out)
		if !errors.Is(err, ErrFailed) || !strings.Contains(err.Error(), "./bad FuzzBad") || strings.Contains(err.Error(), "Good") {
			t.Errorf("error = %v", err)
		}
		for _, want := range []string{"ok    ./good FuzzGood", "FAIL  ./bad FuzzBad", "no good"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("guided %v: the report lacks %q:\n%s", guided, want, out.String())
			}
		}
	}
	if err := Run(t.Context(), root, nil, Options{}, io.Discard); err == nil {
		t.Error("fuzzing nothing is a success")
	}
}

func TestTimeUp(t *testing.T) {
	for output, want := range map[string]bool{
		"--- FAIL: FuzzDecode (3.05s)\n    context deadline exceeded\nFAIL\n":                                          true,
		"--- FAIL: FuzzDecode (3.05s)\n    context deadline exceeded\n    Failing input written to testdata/x\nFAIL\n": false,
		"--- FAIL: FuzzBad (0.01s)\n    no good\nFAIL\n":                                                               false,
	} {
		if got := timeUp([]byte(output)); got != want {
			t.Errorf("%q: time up %v, want %v", output, got, want)
		}
	}
}

// TestWhatTheRepositoryFuzzes: what reads text from outside is fuzzed.
func TestWhatTheRepositoryFuzzes(t *testing.T) {
	root, err := repo.Root()
	if err != nil {
		t.Fatal(err)
	}
	targets, err := Targets(root, "src")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"./src/config", "./src/annotation", "./src/thalassa", "./src/thalassa/client", "./src/emulator"} {
		if !slices.ContainsFunc(targets, func(t Target) bool { return t.Package == want }) {
			t.Errorf("nothing is fuzzed in %s", want)
		}
	}
}
