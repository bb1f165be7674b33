package charttest

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/thalassa-cloud/thalassa-ccm/ci/kubectl"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplanetest"
	"github.com/thalassa-cloud/thalassa-ccm/tools/sidecar"
)

// csiBlocks returns the blocks of YAML in the guide: values of the chart, and objects.
func csiBlocks(t *testing.T) (values, objects []string) {
	t.Helper()
	page := readCheckout(t, "docs/guides/volumes.md")
	for _, match := range regexp.MustCompile("(?s)\n( *)```yaml\n(.*?)```").FindAllStringSubmatch(page, -1) {
		block := strings.ReplaceAll("\n"+match[2], "\n"+match[1], "\n")[1:] // a block of a list is indented
		if strings.HasPrefix(block, "apiVersion:") {
			objects = append(objects, strings.Split(block, "\n---\n")...)
		} else {
			values = append(values, block)
		}
	}
	if len(values) < 3 || len(objects) < 5 {
		t.Fatalf("the guide has %d examples of values and %d of objects", len(values), len(objects))
	}
	return values, objects
}

// TestCSIGuide: the chart takes the values in the guide.
func TestCSIGuide(t *testing.T) {
	values, _ := csiBlocks(t)
	for _, text := range values {
		merged := csiMinimal(t)
		if err := yaml.UnmarshalStrict([]byte(text), &merged); err != nil {
			t.Fatal(err)
		}
		if _, _, err := render(t, csiDir(t), csiRelease(merged)); err != nil {
			t.Errorf("%v, with the values\n%s", err, text)
		}
	}
}

// TestCSIGuideObjects: an API server takes the objects in the guide.
func TestCSIGuideObjects(t *testing.T) {
	tier.NeedFull(t)
	_, objects := csiBlocks(t)
	plane := controlplanetest.Get(t)
	if err := sidecar.InstallDefinitions(t.Context(), plane.Config()); err != nil {
		t.Fatal(err)
	}
	kube := kubectl.New(plane.Kubeconfig()).In(controlplanetest.Namespace(t))
	for _, text := range objects {
		if output, err := kube.Apply(text, "--server-side", "--dry-run=server"); err != nil {
			t.Errorf("%v\n%s\n%s", err, output, text)
		}
	}
}

// TestCSIImagesWithoutInternet: the guide lists every image that is not one of a release.
func TestCSIImagesWithoutInternet(t *testing.T) {
	page := readCheckout(t, "docs/guides/without-internet.md")
	var listed, want []string
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "registry.k8s.io/") {
			listed = append(listed, strings.TrimSpace(line))
		}
	}
	spec := csiController(t, "snapshots.enabled=true", "snapshots.controller.enabled=true")
	for _, container := range spec.Containers {
		if !strings.HasPrefix(container.Image, "ghcr.io/thalassa-cloud/") {
			want = append(want, container.Image)
		}
	}
	if !slices.Equal(listed, want) {
		t.Errorf("the guide lists %q, want %q", listed, want)
	}
}
