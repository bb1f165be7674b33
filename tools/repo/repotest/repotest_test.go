package repotest

import (
	"os"
	"path/filepath"
	"testing"
)

func TestRoot(t *testing.T) {
	if _, err := os.Stat(filepath.Join(Root(t), "tools", "repo", "repotest", "repotest_test.go")); err != nil {
		t.Error(err)
	}
}
