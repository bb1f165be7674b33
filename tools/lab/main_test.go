package main

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// asLab makes the test binary behave as the lab itself, with the arguments it was given.
const asLab = "LAB_TEST_RUN"

func TestMain(m *testing.M) {
	if _, ok := os.LookupEnv(asLab); ok {
		os.Exit(run(os.Args, os.Stderr))
	}
	os.Exit(m.Run())
}

func TestUsage(t *testing.T) {
	const all = "etcd, kube-apiserver, kube-controller-manager, kube-proxy, kube-scheduler, kubelet\n"
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"no component", []string{"lab"}, "usage: lab component [flags]\ncomponents: " + all},
		{"unknown component", []string{"lab", "kubectl"}, `lab: unknown component "kubectl"; one of: ` + all},
		{"flag instead of a component", []string{"lab", "--help"}, `lab: unknown component "--help"; one of: ` + all},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var stderr bytes.Buffer
			if got := run(tt.args, &stderr); got != usageError {
				t.Errorf("got exit status %d, want %d", got, usageError)
			}
			if stderr.String() != tt.want {
				t.Errorf("got %q, want %q", &stderr, tt.want)
			}
		})
	}
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
