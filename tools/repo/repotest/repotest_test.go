package repotest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestRoot(t *testing.T) {
	root := Root(t, "tools/repo")
	if _, err := os.Stat(filepath.Join(root, "tools", "repo", "repotest", "repotest_test.go")); err != nil {
		t.Error(err)
	}
}

// refusing is a test that says why it failed instead of ending.
type refusing struct {
	testing.TB
	why string
}

// Fatalf implements testing.TB.
func (r *refusing) Fatalf(format string, values ...any) { r.why = fmt.Sprintf(format, values...) }

func TestReplace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("one two one"), 0o600); err != nil {
		t.Fatal(err)
	}
	Replace(t, file, "one", "1")
	if got, err := os.ReadFile(file); err != nil || string(got) != "1 two 1" {
		t.Errorf("the file has %q and %v", got, err)
	}
	r := &refusing{TB: t}
	Replace(r, file, "three", "3")
	if !strings.Contains(r.why, `lacks "three"`) {
		t.Errorf("a text that is not there: %q", r.why)
	}
}

// TestCommand: what is built runs, and what does not build says why.
func TestCommand(t *testing.T) {
	output, err := exec.CommandContext(t.Context(), Command(t, "image"), "-h").CombinedOutput()
	if !strings.Contains(string(output), "-push") {
		t.Errorf("its usage is %q, %v", output, err)
	}
	r := &refusing{TB: t}
	Command(r, "missing")
	if !strings.Contains(r.why, "building tools/cmd/missing") {
		t.Errorf("a command that is not there: %q", r.why)
	}
}
