package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// asLab makes the test binary behave as the lab itself, with the arguments it was given.
const asLab = "LAB_TEST_RUN"

func TestMain(m *testing.M) {
	if _, ok := os.LookupEnv(asLab); ok {
		main()
	}
	os.Exit(m.Run())
}

func TestComponentsAreThemselves(t *testing.T) {
	for name := range components() {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0], name, "--help")
			cmd.Env = append(os.Environ(), asLab+"=1")
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if !strings.Contains(string(out), "\n  "+name+" [flags]\n") {
				t.Errorf("the help does not describe %s:\n%.500s", name, out)
			}
		})
	}
}

func TestFlagErrorsEndWithAStatus(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), os.Args[0], "kube-scheduler", "--no-such-flag")
	cmd.Env = append(os.Environ(), asLab+"=1")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "unknown flag: --no-such-flag") {
		t.Errorf("got %v and %q, want a failure that names the flag", err, out)
	}
}
