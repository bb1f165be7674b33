package charttest

import (
	"path/filepath"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
	"helm.sh/helm/v3/pkg/strvals"
	"k8s.io/apimachinery/pkg/runtime"
)

const (
	// csiDir is the chart of the CSI driver, and csiName is its name and that of the release in the guide.
	csiDir  = "../../charts/thalassa-csi"
	csiName = "thalassa-csi"
)

// csiRelease is the installation that the guide describes.
func csiRelease(values map[string]any) chart.Release {
	return chart.Release{Name: csiName, Namespace: "thalassa-system", Values: values}
}

// csiMinimal returns the values that every installation needs, and on top of them sets.
func csiMinimal(t *testing.T, sets ...string) map[string]any {
	t.Helper()
	values := readValues(t, filepath.Join(csiDir, "ci", "minimal-values.yaml"))
	for _, set := range sets {
		if err := strvals.ParseInto(set, values); err != nil {
			t.Fatalf("--set %s: %v", set, err)
		}
	}
	return values
}

// csiManifest renders the chart of the CSI driver as text.
func csiManifest(t *testing.T, values map[string]any) string {
	t.Helper()
	text, _, err := chart.Render(t.Context(), csiDir, csiRelease(values))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// csiObjects renders the minimal values and sets into typed objects.
func csiObjects(t *testing.T, sets ...string) []runtime.Object {
	t.Helper()
	decoded, err := Decode(csiManifest(t, csiMinimal(t, sets...)))
	if err != nil {
		t.Fatal(err)
	}
	return decoded
}

// csiRefusal renders minimal values and sets that the chart refuses, and returns the error.
func csiRefusal(t *testing.T, sets ...string) string {
	t.Helper()
	_, _, err := chart.Render(t.Context(), csiDir, csiRelease(csiMinimal(t, sets...)))
	if err == nil {
		t.Fatalf("the chart accepts %v", sets)
	}
	return err.Error()
}

func TestCSIRenders(t *testing.T) {
	for _, sets := range [][]string{nil, {"serviceMonitor.enabled=true", "rules.enabled=true",
		"networkPolicy.enabled=true"}} {
		csiObjects(t, sets...)
	}
}
