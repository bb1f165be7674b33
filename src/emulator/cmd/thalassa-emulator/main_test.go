package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// asMain makes the test binary behave like the command.
const asMain = "THALASSA_EMULATOR_TEST_AS_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(asMain) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func rerun(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = append(os.Environ(), asMain+"=1")
	return cmd
}

func TestSignalsStopIt(t *testing.T) {
	for _, signal := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		t.Run(signal.String(), func(t *testing.T) {
			ready := filepath.Join(t.TempDir(), "ready")
			cmd := rerun(t, "--listen=127.0.0.1:0", "--ready-file="+ready)
			var output bytes.Buffer
			cmd.Stdout = &output
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ticker := time.NewTicker(5 * time.Millisecond)
			defer ticker.Stop()
			for range 4000 {
				if _, err := os.Stat(ready); err == nil {
					break
				}
				<-ticker.C
			}
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err != nil || !strings.Contains(output.String(), "Stopped.") {
				t.Errorf("ended with %v and output %q", err, output.String())
			}
		})
	}
}

func TestErrorsEndIt(t *testing.T) {
	output, err := rerun(t, "--data-plane=x").CombinedOutput()
	if err == nil || !strings.Contains(string(output), "use none, loopback or netns") {
		t.Errorf("ended with %v and output %q, want an error", err, output)
	}
}

func TestVersion(t *testing.T) {
	output, err := rerun(t, "--version").CombinedOutput()
	if want := "thalassa-emulator " + (build{}).String() + "\n"; err != nil || string(output) != want {
		t.Errorf("--version printed %q and ended with %v, want %q", output, err, want)
	}
}

func TestBuild(t *testing.T) {
	tests := map[string]struct {
		build build
		want  string
	}{
		"linker sets all": {build{"v1.2.3", "0123abc", "2026-11-21T10:00:00Z"},
			"v1.2.3 (revision 0123abc of 2026-11-21T10:00:00Z)"},
		"linker sets version": {build{version: "v1.2.3"}, "v1.2.3"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tt.build.String(); got != tt.want {
				t.Errorf("String() = %q, want %q", got, tt.want)
			}
		})
	}
	if got := (build{}).String(); got == "" {
		t.Error("a build without linker flags has an empty version")
	}
}
