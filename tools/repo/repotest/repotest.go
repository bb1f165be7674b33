// Package repotest finds the repository for tests, edits copies of its files, and builds its commands.
package repotest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
)

// Root returns the absolute path of the repository for a test that reads nothing of it except the named files and
// folders. Without names, the test depends on all files. The test fails outside of a clone.
func Root(tb testing.TB, names ...string) string {
	tb.Helper()
	if len(names) == 0 {
		return checkout.Path(tb, checkout.Everything)
	}
	root, err := checkout.Root()
	if err != nil {
		tb.Fatal(err)
	}
	checkout.DependOn(names...)
	return root
}

// Replace replaces a text in a file, everywhere. The test fails when the text is not there: nothing would have changed.
func Replace(tb testing.TB, file, from, to string) {
	tb.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	if !strings.Contains(string(content), from) {
		tb.Fatalf("%s lacks %q", file, from)
	}
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(content), from, to)), 0o600); err != nil {
		tb.Fatal(err)
	}
}

// Command builds a command of tools/cmd by its name and returns the executable. It is a process of its own and without
// the race detector, which makes compressing take ten times as long.
func Command(tb testing.TB, name string) (path string) {
	tb.Helper()
	path = filepath.Join(tb.TempDir(), name)
	build := exec.CommandContext(tb.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-o", path,
		"./tools/cmd/"+name)
	build.Dir, build.Env = Root(tb, "src", "tools", "go.work"), append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		tb.Fatalf("building tools/cmd/%s: %v\n%s", name, err, output)
	}
	return path
}
