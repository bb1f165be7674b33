package main

import (
	"strings"
	"testing"
)

// TestVerbosity: no command runs with a verbosity at which client-go logs the bodies of answers, among them Secrets.
func TestVerbosity(t *testing.T) {
	r := newRig(t)
	for _, command := range []string{"doctor", "nodes", "plan", "top --once", "orphans", "migrate"} {
		got := r.run(append(strings.Fields(command), "-v=8")...)
		if got.code == 0 || got.out != "" || !strings.Contains(got.err, "--v=8: use at most 7") {
			t.Errorf("%s: code %d, printed %q, error %q", command, got.code, got.out, got.err)
		}
	}
}
