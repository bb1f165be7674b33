package charttest

import (
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chartutil"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
	"github.com/thalassa-cloud/thalassa-ccm/tools/chartvalues"
)

const (
	// csiName is the name of the chart of the CSI driver and of the release in the guide.
	csiName = string(CSI)
	// csiDriver is the name of the driver.
	csiDriver = "csi.k8s.thalassa.cloud"
)

// csiDir is the folder of the chart of the CSI driver.
func csiDir(t *testing.T) string {
	t.Helper()
	return CSI.Dir(t)
}

// csiRelease is the installation that the guide describes.
func csiRelease(values map[string]any) chart.Release { return CSI.Release(values) }

// csiMinimal returns the values that every installation needs, and on top of them sets.
func csiMinimal(t *testing.T, sets ...string) map[string]any {
	t.Helper()
	return CSI.Minimal(t, sets...)
}

// csiObjects renders the minimal values and sets into typed objects.
func csiObjects(t *testing.T, sets ...string) []runtime.Object {
	t.Helper()
	return csiObjectsOf(t, csiMinimal(t, sets...))
}

// csiObjectsOf renders values into typed objects.
func csiObjectsOf(t *testing.T, values map[string]any) []runtime.Object {
	t.Helper()
	return CSI.Objects(t, values)
}

// csiGolden begins the names of the golden renders of a values file.
func csiGolden(name string) string { return "csi-" + name }

func TestCSIGolden(t *testing.T) {
	for name, path := range CSI.ValuesFiles(t) {
		t.Run(name, func(t *testing.T) {
			wantGolden(t, csiGolden(name), csiDir(t), csiRelease(readValues(t, path)))
		})
	}
}

// TestCSIEveryValueHasAnEffect gives each value of each values file its default back.
func TestCSIEveryValueHasAnEffect(t *testing.T) {
	wantEffects(t, CSI)
	var files []map[string]any
	for _, path := range CSI.ValuesFiles(t) {
		files = append(files, readValues(t, path))
	}
	wantComplete(t, csiDir(t), files)
}

// wantComplete wants every value of the chart in dir in some file, and not as its default.
func wantComplete(t *testing.T, dir string, files []map[string]any) {
	t.Helper()
	defaults := readValues(t, filepath.Join(dir, chartutil.ValuesfileName))
	for _, path := range Documented(t, dir) {
		deflt, _ := lookUp(defaults, path)
		different := func(file map[string]any) bool {
			got, found := lookUp(file, path)
			return found && !cmp.Equal(got, deflt)
		}
		if !slices.ContainsFunc(files, different) {
			t.Errorf("no file of ci/ gives %s another value than its default", path)
		}
	}
}

// TestCSIEveryValueMayBeNull: the chart renders something whole, or says what is wrong.
func TestCSIEveryValueMayBeNull(t *testing.T) {
	for name, path := range exhausting(CSI.ValuesFiles(t)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantNulls(t, csiDir(t), path, tier.Full() && name == "full", csiRelease)
		})
	}
}

// TestCSIValuesThatMayNotBeNull are the same in the comments of values.yaml and in the templates.
func TestCSIValuesThatMayNotBeNull(t *testing.T) {
	for _, path := range notNullIn(t, csiDir(t)) {
		_, _, err := render(t, csiDir(t), csiRelease(csiMinimal(t, path+"=null")))
		if err == nil {
			t.Errorf("%s=null is accepted", path)
		} else if got := sentences(t, err.Error()); len(got) != 1 || got[0] != path+
			" is null: set a value, or leave it out to use the default" {
			t.Errorf("%s=null: the chart says %q", path, got)
		}
	}
}

// notNullIn returns the values of the chart in dir that may not be null, as the comments in values.yaml say.
func notNullIn(t *testing.T, dir string) []string {
	t.Helper()
	root, err := chartvalues.Parse([]byte(readFile(t, filepath.Join(dir, "values.yaml"))))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	var walk func(v *chartvalues.Value)
	walk = func(v *chartvalues.Value) {
		if v.NotNull {
			found = append(found, v.Path)
		}
		for _, child := range v.Children {
			walk(child)
		}
	}
	walk(root)
	return found
}

// TestChartsDescribeSharedValuesAlike: values that both charts have, with the same templates, take the same.
func TestChartsDescribeSharedValuesAlike(t *testing.T) {
	ccm, csi := map[string]*schema{}, map[string]*schema{}
	readSchema(t, chartDir(t)).walk("", func(path string, s *schema) { ccm[path] = s })
	readSchema(t, csiDir(t)).walk("", func(path string, s *schema) { csi[path] = s })
	checked := 0
	for _, path := range slices.Sorted(maps.Keys(csi)) {
		// Without a type it is a name that is refused.
		if ccm[path] == nil || csi[path].Type == nil || len(csi[path].Properties) > 0 ||
			path == "networkPolicy.cloudAPI.ports" {
			continue
		}
		checked++
		if diff := cmp.Diff(ccm[path], csi[path]); diff != "" {
			t.Errorf("%s (-thalassa-ccm +thalassa-csi):\n%s", path, diff)
		}
	}
	if checked < 50 {
		t.Errorf("only %d values were compared", checked)
	}
}
