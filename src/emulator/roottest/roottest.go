// Package roottest is for tests that need root, or programs of the distribution that not every machine has.
//
//	func TestInNamespace(t *testing.T) {
//		roottest.Need(t, "nft")
//		...
//
// Such a test is skipped where it cannot do what its name says. `make test-root` runs it, and fails where it cannot.
package roottest

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

const (
	// Reason begins the reason of every test that Need skips. tools/gotest counts skipped tests by it.
	Reason = "needs make test-root: "
	// Variable is the environment variable that makes Need fail a test instead of skipping it, unless it is empty.
	Variable = "TEST_ROOT"
)

// Need skips a test unless it runs as root and finds the named programs. With Variable set, the test fails instead.
// It is the only function of this repository that skips tests.
func Need(tb testing.TB, programs ...string) {
	tb.Helper()
	missing := lacking(os.Geteuid(), exec.LookPath, programs)
	switch {
	case len(missing) == 0:
	case os.Getenv(Variable) != "":
		tb.Fatalf(
			"this test cannot run: %s; run make e2e-setup and then make test-root, both as root or with SUDO=sudo",
			strings.Join(missing, ", "))
	default:
		tb.Skip(Reason + strings.Join(missing, ", ")) //nolint:forbidigo // no other function skips tests
	}
}

// lacking lists what a test needs and does not have.
func lacking(user int, lookPath func(string) (string, error), programs []string) []string {
	var missing []string
	if user != 0 {
		missing = append(missing, fmt.Sprintf("this is user %d and not root", user))
	}
	for _, program := range programs {
		if _, err := lookPath(program); err != nil {
			missing = append(missing, fmt.Sprintf("the program %s is missing", program))
		}
	}
	return missing
}
