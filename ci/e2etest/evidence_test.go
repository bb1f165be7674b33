//go:build e2e

package e2etest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Where these are set, TestEvidence is the one that fails: in this folder, and in this way.
const (
	evidenceFolder = "E2ETEST_EVIDENCE_FOLDER"
	evidenceWay    = "E2ETEST_EVIDENCE_WAY"
)

// The ways to fail.
const (
	wayFails = "fails"
	wayHangs = "hangs"
)

// TestEvidence runs itself as a test that fails, and wants that what helps to find out why is kept as it was at that
// moment: before the proof has removed what it made.
func TestEvidence(t *testing.T) {
	if folder := os.Getenv(evidenceFolder); folder != "" {
		failing(t, folder, os.Getenv(evidenceWay))
		return
	}
	t.Run("a proof that fails", func(t *testing.T) {
		folder := t.TempDir()
		output, err := failsIn(t, folder, wayFails).CombinedOutput()
		if _, failed := errors.AsType[*exec.ExitError](err); !failed {
			t.Errorf("the test that fails ends with %v\n%s", err, output)
		}
		wantEvidence(t, folder, "a_proof", "a proof: FAILED")
	})
	t.Run("a test that is ended by a signal", func(t *testing.T) {
		folder := t.TempDir()
		c := hangsIn(t, folder)
		if err := c.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		err := c.Wait()
		if ended, failed := errors.AsType[*exec.ExitError](err); !failed || ended.ExitCode() != 1 {
			t.Errorf("the test that gets a signal ends with %v", err)
		}
		wantEvidence(t, folder, cutShort, `the signal "terminated"`)
	})
	t.Run("a test that takes too long", func(t *testing.T) {
		folder := t.TempDir()
		c := hangsIn(t, folder, "-test.timeout="+(shortMargin+2*time.Second).String())
		err := c.Wait()
		if ended, failed := errors.AsType[*exec.ExitError](err); !failed || ended.ExitCode() != 2 {
			t.Errorf("the test that takes too long ends with %v", err)
		}
		wantEvidence(t, folder, cutShort, "its time limit is near")
	})
}

// shortMargin is that of a test which consists of one file.
const shortMargin = 5 * time.Second

// hangsIn is a test that hangs, when it does.
func hangsIn(t *testing.T, folder string, flags ...string) *exec.Cmd {
	t.Helper()
	c := failsIn(t, folder, wayHangs, flags...)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the proof has begun", func(context.Context) error {
		written, err := os.ReadFile(filepath.Join(folder, "dist", "e2e", "TestEvidence", "log.txt"))
		if err == nil && !strings.Contains(string(written), begun) {
			err = fmt.Errorf("the log is %q", written)
		}
		return err
	})
	return c
}

// failsIn is the program of this test, once more.
func failsIn(t *testing.T, folder, way string, flags ...string) *exec.Cmd {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0], append(flags, "-test.run=^TestEvidence$")...)
	c.Env = append(os.Environ(), evidenceFolder+"="+folder, evidenceWay+"="+way)
	return c
}

// wantEvidence wants what was collected into the folder of that name, and text in the log.
func wantEvidence(t *testing.T, folder, name, text string) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(folder, "dist", "e2e", "TestEvidence", name, "made"))
	if err != nil || string(content) != "by the proof" {
		t.Errorf("what the proof made was collected as %q: %v", content, err)
	}
	written, err := os.ReadFile(filepath.Join(folder, "dist", "e2e", "TestEvidence", "log.txt"))
	if err != nil || !strings.Contains(string(written), text) {
		t.Errorf("the log is %q and %v, want that it says %q", written, err, text)
	}
}

// begun is what a proof says when there is something to keep.
const begun = "the proof has begun"

// failing is a proof that fails, in a cluster that consists of one file.
func failing(t *testing.T, folder, way string) {
	t.Helper()
	l := &lab{report: newReport(t, folder)}
	l.report.startWatchdog(t, shortMargin)
	made := filepath.Join(folder, "made")
	l.report.about(func(_ context.Context, to string) error {
		content, err := os.ReadFile(made)
		return errors.Join(err, os.WriteFile(filepath.Join(to, "made"), content, 0o644))
	})
	l.prove(t, proof{"a proof", func(t *testing.T, l *lab) {
		t.Helper()
		if err := os.WriteFile(made, []byte("by the proof"), 0o644); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := os.Remove(made); err != nil {
				t.Error(err)
			}
		})
		l.report.say(begun)
		if way == wayHangs {
			<-t.Context().Done()
		}
		t.Fatal("it fails")
	}})
}
