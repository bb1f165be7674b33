package charttest

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplane"
	"github.com/thalassa-cloud/thalassa-ccm/tools/repo/repotest"
)

// TestCSISidecarsKnowTheirFlags gives each sidecar the flags of the chart and --version, with which it reads its flags
// and ends. tools/sidecars pins the versions that the chart runs.
func TestCSISidecarsKnowTheirFlags(t *testing.T) {
	tier.NeedFull(t)
	folder, err := controlplane.BuildSidecars(t.Context(), repotest.Root(t, "tools/sidecars"),
		func(message string) { t.Log(message) })
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

// TestCSISidecarVersions: the images in the chart have the versions that tools/sidecars pins, which tests run.
func TestCSISidecarVersions(t *testing.T) {
	modules := map[string]string{"csi-provisioner": "external-provisioner/v6", "csi-attacher": "external-attacher/v4",
		"csi-resizer": "external-resizer/v2", "csi-snapshotter": "external-snapshotter/v8",
		"snapshot-controller": "external-snapshotter/v8"}
	pinned := readCheckout(t, "tools/sidecars/go.mod")
	spec := csiController(t, "snapshots.enabled=true", "snapshots.controller.enabled=true")
	for _, container := range spec.Containers[1:] {
		pattern := fmt.Sprintf(`(?m)^\tgithub\.com/kubernetes-csi/%s (v\S+)`, modules[container.Name])
		version := regexp.MustCompile(pattern).FindStringSubmatch(pinned)
		if version == nil || !strings.HasSuffix(container.Image, ":"+version[1]) {
			t.Errorf("the image of %s is %s, and tools/sidecars pins %q", container.Name, container.Image, version)
		}
	}
}
