package document_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thalassa-cloud/thalassa-ccm/ci/document"
	"github.com/thalassa-cloud/thalassa-ccm/tools/process"
	"github.com/thalassa-cloud/thalassa-ccm/tools/repo/repotest"
)

// emulatorInCI is the document with workflows of GitHub Actions.
const emulatorInCI = "docs/guides/emulator-ci.md"

// steps are the commands in workflows of all documents, by document.
func steps(t *testing.T, root string) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for _, path := range markdown(t, root) {
		text, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		if found := document.Steps(string(text)); len(found) > 0 {
			all[path] = found
		}
	}
	return all
}

// TestSteps executes the steps of the workflow, which start the emulator and wait for it, as one script. Its group of
// processes ends with it.
func TestSteps(t *testing.T) {
	root := repotest.Root(t)
	found := steps(t, root)
	commands := slices.DeleteFunc(found[emulatorInCI], excluded(t, root))
	if len(found) != 1 || len(commands) != 2 {
		t.Fatalf("the steps are %q, want those of %s, of which two are executed", found, emulatorInCI)
	}
	var log bytes.Buffer // which is complete when the process has ended
	// The stage test compiles the emulator so.
	commands = append([]string{`export GOFLAGS="$GOFLAGS -trimpath"`}, commands...)
	script := strings.Join(append(commands, `curl --fail --silent --show-error `+
		`"$(jq --raw-output .endpoint "$RUNNER_TEMP/emulator.json")/_emulator/healthz"`), "\n")
	started, err := process.Start(t.Context(), process.Spec{Path: "bash", Args: []string{"-euxc", script}, Dir: root,
		Env: append(document.Environment(t, ""), "RUNNER_TEMP="+t.TempDir(),
			"THALASSA_EMULATOR_LISTEN=127.0.0.1:0"), Log: &log})
	if err != nil {
		t.Fatal(err)
	}
	if err := started.Wait(); err != nil {
		t.Errorf("the steps of %s: %v\n%s", emulatorInCI, err, log.String())
	}
}

func TestStepsOfText(t *testing.T) {
	got := document.Steps("- run: go run x &\n  working-directory: y\n-  name: z\n   run: sh -c 'a; b'\nrun it: c\n")
	if diff := cmp.Diff([]string{"go run x &", "sh -c 'a; b'"}, got); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
}
