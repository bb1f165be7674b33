package charttest

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplane"
	"github.com/thalassa-cloud/thalassa-ccm/tools/repo/repotest"
)

// TestCSISidecarsKnowTheirFlags gives each sidecar the flags of the chart and --version, with which it reads its flags and
// ends. tools/sidecars pins the versions that the chart runs.
func TestCSISidecarsKnowTheirFlags(t *testing.T) {
	folder, err := controlplane.BuildSidecars(t.Context(), repotest.Root(t), func(message string) { t.Log(message) })
	if err != nil {
		t.Fatal(err)
	}
	spec := csiController(t, "snapshots.enabled=true", "snapshots.controller.enabled=true")
	for _, container := range spec.Containers[1:] {
		cmd := exec.CommandContext(t.Context(), filepath.Join(folder, container.Name), append(container.Args,
			"--version")...)
		cmd.Env = []string{}
		if output, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s refuses %q: %v\n%s", container.Name, container.Args, err, output)
		}
	}
}
