package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestPluginByName: the executable is the plug-in of kubectl under its names. kubectl starts the second one to complete
// arguments.
func TestPluginByName(t *testing.T) {
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	run := func(name string, args ...string) string {
		link := filepath.Join(t.TempDir(), name)
		if err := os.Symlink(own, link); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), link, args...)
		cmd.Env = append(os.Environ(), role+"=program")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s %v: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	if out := run("kubectl-thalassa", "version"); !strings.HasPrefix(out, "kubectl-thalassa ") {
		t.Errorf("the plug-in has the version %q", out)
	}
	if out := run("kubectl_complete-thalassa", "pl"); !strings.HasPrefix(out, "plan\t") {
		t.Errorf("pl is completed to %q", out)
	}
	if out := run("kubectl_complete-thalassa", "plan", "--output", "j"); !strings.HasPrefix(out, "json\n") {
		t.Errorf("--output j is completed to %q", out)
	}
	if out := run("other", "--version"); !strings.HasPrefix(out, "cloud-controller-manager ") {
		t.Errorf("under another name, the version is %q", out)
	}
}
