package checkout_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
)

func TestRootAbove(t *testing.T) {
	clone := t.TempDir()
	deep := filepath.Join(clone, "tools", "deep")
	decoy := filepath.Join(clone, "decoy", "go.work")
	for _, dir := range []string{deep, decoy} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(clone, "go.work"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, dir string }{
		{"the root itself", clone},
		{"a folder below", deep},
		{"a folder that is called like the marker", filepath.Dir(decoy)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Chdir(tt.dir)
			got, err := checkout.Root()
			if err != nil || got != clone {
				t.Errorf("Root() in %q = %q, %v; want %q", tt.dir, got, err, clone)
			}
		})
	}
}

// refusing is a test that says why it failed instead of ending.
type refusing struct {
	testing.TB
	why string
}

// Fatal implements testing.TB.
func (r *refusing) Fatal(values ...any) { r.why = fmt.Sprint(values...) }

func TestOutside(t *testing.T) {
	t.Chdir(t.TempDir())
	if _, err := checkout.Root(); err == nil || !strings.Contains(err.Error(), "go.work") {
		t.Errorf("Root outside a clone: got error %v, want one that names go.work", err)
	}
	r := &refusing{TB: t}
	checkout.Path(r, "docs")
	if !strings.Contains(r.why, "go.work") {
		t.Errorf("Path outside a clone: the test says %q, want what names go.work", r.why)
	}
}

func TestPath(t *testing.T) {
	for _, name := range []string{"src/emulator/README.md", "charts/thalassa-ccm", checkout.Everything} {
		if file := checkout.Path(t, name); !filepath.IsAbs(file) {
			t.Errorf("the path of %s is %s", name, file)
		} else if _, err := os.Stat(file); err != nil {
			t.Error(err)
		}
	}
}

// TestResultDependsOnVariables: the go command gets to know that TestPath reads a variable for each path.
func TestResultDependsOnVariables(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestPath$", "-test.testlogfile="+log)
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"src/emulator", "charts/thalassa-ccm", checkout.Everything} {
		if want := "\ngetenv " + checkout.Variable(name) + "\n"; !strings.Contains(string(text), want) {
			t.Errorf("the log lacks %q:\n%s", want, text)
		}
	}
}

// TestVariable: two elements of a path have a hash of their own.
func TestVariable(t *testing.T) {
	for name, want := range map[string]string{
		checkout.Everything: "HASH_OF_EVERYTHING", "Makefile": "HASH_OF_Makefile", "docs": "HASH_OF_docs",
		"docs/": "HASH_OF_docs", "docs/guides/volumes.md": "HASH_OF_docs_guides",
		"charts/thalassa-ccm/ci/minimal-values.yaml": "HASH_OF_charts_thalassa_ccm",
		".github/workflows/ci.yaml":                  "HASH_OF__github_workflows",
	} {
		if got := checkout.Variable(name); got != want {
			t.Errorf("the variable of %s is %s, want %s", name, got, want)
		}
	}
}
