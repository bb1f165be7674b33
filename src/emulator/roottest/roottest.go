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
	// Reason begins the reason of every test that Need skips. The report of `make test` counts skipped tests by it.
	Reason = "needs make test-root: "
	// Variable is the environment variable that makes Need fail a test instead of skipping it, unless it is empty.
	Variable = "TEST_ROOT"
	// UserVariable is the environment variable with the number of the user who runs the tests. What root has found is
	// not the result of a test for another user, and the reverse.
	UserVariable = "TEST_USER"
)

// Need skips a test unless it runs as root and finds the named programs. With Variable set, the test fails instead.
// It and tier.NeedFull are the only functions of this repository that skip tests.
func Need(tb testing.TB, programs ...string) {
	tb.Helper()
	dependOnUser()
	required := os.Getenv(Variable) != ""
	missing := lacking(os.Geteuid(), exec.LookPath, programs)
	switch {
	case len(missing) == 0:
	case required:
		tb.Fatalf(
			"this test cannot run: %s; run make e2e-setup and then make test-root, both as root or with SUDO=sudo",
			strings.Join(missing, ", "))
	default:
		tb.Skip(Reason + strings.Join(missing, ", ")) //nolint:forbidigo // this and tier.NeedFull skip tests
	}
}

// dependOnUser makes the result of a test depend on who runs it: Go reuses a result only if the variables that the
// test reads are the same.
func dependOnUser() { os.Getenv(UserVariable) }

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
