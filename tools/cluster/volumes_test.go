//go:build linux

package cluster

import (
	"errors"
	"strings"
	"testing"

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
	loaded, err := chart.Load(volumesChart(repotest.Root(t, "charts")))
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
