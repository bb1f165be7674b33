// Package repotest finds the repository for tests, and edits copies of its files.
package repotest

import (
	"os"
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/tools/repo"
)

// Root returns the absolute path of the repository that the test is in. The test fails outside of one.
func Root(tb testing.TB) string {
	tb.Helper()
	dir, err := repo.Root()
	if err != nil {
		tb.Fatal(err)
	}
	return dir
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
