//go:build linux

package cluster

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
	"github.com/thalassa-cloud/thalassa-ccm/tools/repo/repotest"
	"github.com/thalassa-cloud/thalassa-ccm/tools/sidecar"
)

func TestOptionsThatDoNotGoTogether(t *testing.T) {
	for _, test := range []struct {
		options Options
		want    error
	}{
		{Options{Volumes: true, Networks: OwnNetworks}, nil},
		{Options{IronCore: true}, nil},
		{Options{IronCore: true, Volumes: true}, errNoVolumes},
		{Options{IronCore: true, Networks: OwnNetworks}, errOwnNetworks},
	} {
		if err := test.options.check(); !errors.Is(err, test.want) {
			t.Errorf("%+v: %v, want %v", test.options, err, test.want)
		}
	}
}

// TestSidecarsOfTheChart: the chart has an image for each program, and so the cluster has what the chart asks for.
func TestSidecarsOfTheChart(t *testing.T) {
	loaded, err := chart.Load(volumesChart(repotest.Root(t)))
	if err != nil {
		t.Fatal(err)
	}
	values, _ := loaded.Values["sidecars"].(map[string]any)
	names := map[string]bool{}
	for key, name := range sidecarKeys() {
		reference, err := referenceOf(values[key])
		if err != nil || !strings.Contains(reference, "/"+name+":v") {
			t.Errorf("the image of %s is %q: %v", name, reference, err)
		}
		names[name] = true
	}
	for _, name := range sidecar.Names() {
		if !names[name] {
			t.Errorf("the cluster has no image of %s", name)
		}
	}
	if _, err := referenceOf(map[string]any{"image": map[string]any{"registry": "r", "tag": "v1"}}); err == nil {
		t.Error("an image without a repository has a name")
	}
}

// TestArchiveSidecar makes an image again only for another program, or another name.
func TestArchiveSidecar(t *testing.T) {
	folder := t.TempDir()
	executable, target := filepath.Join(folder, "csi-attacher"), filepath.Join(folder, "image")
	made := func(content, reference string) string {
		t.Helper()
		if err := os.WriteFile(executable, []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := archiveSidecar(executable, target, reference); err != nil {
			t.Fatal(err)
		}
		image, err := tarball.ImageFromPath(target+".tar", nil)
		if err != nil {
			t.Fatal(err)
		}
		digest, err := image.ConfigName()
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(target + ".tar")
		if err != nil {
			t.Fatal(err)
		}
		return digest.String() + info.ModTime().String()
	}
	first := made("one", "registry.example/attacher:v1")
	if again := made("one", "registry.example/attacher:v1"); again != first {
		t.Error("the image of a program that has not changed was made again")
	}
	second := made("two", "registry.example/attacher:v1")
	if second == first {
		t.Error("the image of a program that has changed was not made again")
	}
	if third := made("two", "registry.example/attacher:v2"); third == second {
		t.Error("an image was not made again under its new name")
	}
}
