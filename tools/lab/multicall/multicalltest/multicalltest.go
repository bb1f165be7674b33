// Package multicalltest tests an executable of several components, by running the test binary as that executable.
package multicalltest

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// asProgram makes the test binary behave as the executable, with the arguments it was given.
const asProgram = "MULTICALL_TEST_RUN"

// Main is the TestMain of the executable's tests; main is that of the executable.
func Main(m *testing.M, main func()) {
	if _, ok := os.LookupEnv(asProgram); ok {
		main()
	}
	m.Run() // the caller of TestMain ends the process with its status
}

// Components checks that each component describes itself.
func Components(t *testing.T, components map[string]func() int) {
	t.Helper()
	for name := range components {
		t.Run(name, func(t *testing.T) {
			out, err := run(t, name, "--help")
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if !strings.Contains(out, "\n  "+name+" [flags]\n") {
				t.Errorf("the help does not describe %s:\n%.500s", name, out)
			}
		})
	}
}

// FlagErrors checks that an unknown flag of a component makes the executable fail, and that it names the flag.
func FlagErrors(t *testing.T, component string) {
	t.Helper()
	out, err := run(t, component, "--no-such-flag")
	if err == nil || !strings.Contains(out, "unknown flag: --no-such-flag") {
		t.Errorf("got %v and %q, want a failure that names the flag", err, out)
	}
}

// run returns what the executable prints.
func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	out, err := cmd.CombinedOutput()
	return string(out), err
}
