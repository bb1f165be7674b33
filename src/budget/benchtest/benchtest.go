// Package benchtest has what benchmarks of large clusters need: the CPU time and the memory of this process, and a
// cloud in another process, whose CPU time and memory do not count.
package benchtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/budget"
)

// CPU returns the CPU time that this process has used.
func CPU(tb testing.TB) time.Duration {
	tb.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		tb.Fatal("reading the CPU time of the process:", err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// Large reports whether benchmarks of the largest clusters are to run, which take many minutes.
func Large() bool { return os.Getenv(budget.LargeEnv) == "1" }

// Until returns when something is so, and fails the test if it is not so within ten minutes. It does not use much CPU
// time.
func Until(tb testing.TB, so func() bool) {
	tb.Helper()
	const often, long = 5 * time.Millisecond, 10 * time.Minute
	late := time.After(long)
	for tick := time.NewTicker(often); !so(); {
		select {
		case <-tick.C:
		case <-late:
			tb.Fatalf("this does not happen within %s", long)
		}
	}
}

// StartServer starts this program once more, with machines as the value of an environment variable, until the test
// ends. The TestMain of the package has to serve a cloud with so many machines if the variable is set, to write what is
// needed to reach it to standard output as JSON, and to end when standard input ends. StartServer decodes the JSON.
func StartServer(tb testing.TB, variable string, machines int, reached any) {
	tb.Helper()
	program, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	server := exec.CommandContext(context.WithoutCancel(tb.Context()), program) // it ends when its input ends
	server.Env, server.Stderr = append(os.Environ(), fmt.Sprintf("%s=%d", variable, machines)), os.Stderr
	input, err := server.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	output, err := server.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := server.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := errors.Join(input.Close(), server.Wait()); err != nil {
			tb.Error(err)
		}
	})
	if err := json.NewDecoder(output).Decode(reached); err != nil {
		tb.Fatal("reading where the server is:", err)
	}
}
