package repo_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/tools/repo"
)

func TestRoot(t *testing.T) {
	root, err := repo.Root()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, "tools", "repo", "repo.go")); err != nil {
		t.Errorf("Root() = %q, which does not contain this package: %v", root, err)
	}
}
