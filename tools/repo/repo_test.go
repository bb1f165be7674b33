package repo_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/tools/repo"
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
			got, err := repo.Root()
			if err != nil || got != clone {
				t.Errorf("Root() in %q = %q, %v; want %q", tt.dir, got, err, clone)
			}
		})
	}
}

func TestRootOutside(t *testing.T) {
	t.Chdir(t.TempDir())
	_, err := repo.Root()
	if err == nil || !strings.Contains(err.Error(), "go.work") {
		t.Errorf("Root outside a clone: got error %v, want one that names go.work", err)
	}
}

func TestRoot(t *testing.T) {
	root, err := repo.Root()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, "tools", "repo", "repo.go")); err != nil {
		t.Errorf("Root() = %q, which does not contain this package: %v", root, err)
	}
}
