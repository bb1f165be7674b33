// Package repotest finds the repository for tests.
package repotest

import (
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
