//go:build e2e

package e2etest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Where these are set, TestEvidence is the one that fails: in this folder, and in this way.
const (
	evidenceFolder = "E2ETEST_EVIDENCE_FOLDER"
	evidenceWay    = "E2ETEST_EVIDENCE_WAY"
)

// The ways to fail.
const (
	wayFails = "fails"
)

// TestEvidence runs itself as a test that fails, and wants that what helps to find out why is kept as it was at that moment: before the
// proof has removed what it made.
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
}

// failsIn is the program of this test, once more.
func failsIn(t *testing.T, folder, way string, flags ...string) *exec.Cmd {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0], append(flags, "-test.run=^TestEvidence$")...)
	c.Env = append(os.Environ(), evidenceFolder+"="+folder, evidenceWay+"="+way)
	return c
}

// wantEvidence wants what was collected into the folder of that name, and the story.
func wantEvidence(t *testing.T, folder, name, story string) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(folder, "dist", "e2e", "TestEvidence", name, "made"))
	if err != nil || string(content) != "by the proof" {
		t.Errorf("what the proof made was collected as %q: %v", content, err)
	}
	told, err := os.ReadFile(filepath.Join(folder, "dist", "e2e", "TestEvidence", "story.txt"))
	if err != nil || !strings.Contains(string(told), story) {
		t.Errorf("the story is %q and %v, want that it says %q", told, err, story)
	}
}

// failing is a proof that fails, in a cluster that consists of one file.
func failing(t *testing.T, folder, _ string) {
	t.Helper()
	l := &lab{report: newReport(t, folder)}
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
		l.report.say("the proof has begun")
		t.Fatal("it fails")
	}})
}
