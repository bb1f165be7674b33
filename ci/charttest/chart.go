package charttest

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/strvals"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
)

// Chart is the name of a chart of this repository, and of the release that its guide describes.
type Chart string

// The charts.
const (
	CCM Chart = "thalassa-ccm"
	CSI Chart = "thalassa-csi"
)

// Dir is the folder of the chart.
func (c Chart) Dir(tb testing.TB) string {
	tb.Helper()
	return checkout.Path(tb, "charts/"+string(c))
}

// Release is the installation that the guide describes, with values.
func (c Chart) Release(values map[string]any) chart.Release {
	namespace := "kube-system"
	if c == CSI {
		namespace = "thalassa-system"
	}
	return chart.Release{Name: string(c), Namespace: namespace, Values: values}
}

// Minimal returns the values that every installation needs, and on top of them what each of sets says in the syntax of
// `helm install --set`.
func (c Chart) Minimal(tb testing.TB, sets ...string) map[string]any {
	tb.Helper()
	values := ReadValues(tb, filepath.Join(c.Dir(tb), "ci", "minimal-values.yaml"))
	for _, set := range sets {
		if err := strvals.ParseInto(set, values); err != nil {
			tb.Fatalf("--set %s: %v", set, err)
		}
	}
	return values
}

// ValuesFiles are the values files of the chart's ci folder, by their short names.
func (c Chart) ValuesFiles(tb testing.TB) map[string]string {
	tb.Helper()
	const suffix = "-values.yaml"
	paths, err := filepath.Glob(filepath.Join(c.Dir(tb), "ci", "*"+suffix))
	if err != nil || len(paths) == 0 {
		tb.Fatalf("values files %v, error %v", paths, err)
	}
	files := map[string]string{}
	for _, path := range paths {
		files[strings.TrimSuffix(filepath.Base(path), suffix)] = path
	}
	return files
}

// ReadValues returns what a values file says.
func ReadValues(tb testing.TB, path string) map[string]any {
	tb.Helper()
	values, err := chartutil.ReadValuesFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return values
}

// Objects renders the chart into typed objects.
func (c Chart) Objects(tb testing.TB, values map[string]any) []runtime.Object {
	tb.Helper()
	text, _, err := Render(tb, c.Dir(tb), c.Release(values))
	if err != nil {
		tb.Fatal(err)
	}
	decoded, err := Decode(text)
	if err != nil {
		tb.Fatal(err)
	}
	return decoded
}

// RuleGroups returns the groups of the chart's PrometheusRule, with the minimal values and sets.
func (c Chart) RuleGroups(tb testing.TB, sets ...string) []monitoringv1.RuleGroup {
	tb.Helper()
	rendered := c.Objects(tb, c.Minimal(tb, append([]string{"rules.enabled=true"}, sets...)...))
	return Find[*monitoringv1.PrometheusRule](tb, rendered, string(c)).Spec.Groups
}

// Find returns the object of type T with that name.
func Find[T runtime.Object](tb testing.TB, objects []runtime.Object, name string) T {
	tb.Helper()
	for _, object := range objects {
		typed, ok := object.(T)
		if !ok {
			continue
		}
		accessor, err := meta.Accessor(object)
		if err != nil {
			tb.Fatal(err)
		}
		if accessor.GetName() == name {
			return typed
		}
	}
	var none T
	tb.Fatalf("no %T %q in the manifest", none, name)
	return none
}

// opened are the charts that Open has read, by their folders.
var opened sync.Map //nolint:gochecknoglobals // see Open

// Open returns the chart in a folder. It is read once per process: tests render it hundreds of times.
func Open(tb testing.TB, dir string) *chart.Opened {
	tb.Helper()
	if found, ok := opened.Load(dir); ok {
		return found.(*chart.Opened)
	}
	made, err := chart.Open(dir)
	if err != nil {
		tb.Fatal(err)
	}
	opened.Store(dir, made)
	return made
}

// result is what a chart renders, or refuses.
type result struct {
	text, notes string
	err         error
}

// results are those of Render, by its arguments.
var results sync.Map //nolint:gochecknoglobals // see Render

// Render renders the chart in a folder, and returns the objects as text and the notes. Many tests render the same:
// nothing is rendered twice.
func Render(tb testing.TB, dir string, r chart.Release) (text, notes string, err error) {
	tb.Helper()
	key, err := json.Marshal([]any{dir, r.Name, r.Namespace, r.KubeVersion, r.APIVersions, r.Values})
	if err != nil {
		tb.Fatal(err)
	}
	if found, ok := results.Load(string(key)); ok {
		known := found.(result)
		return known.text, known.notes, known.err
	}
	text, notes, err = Open(tb, dir).Render(tb.Context(), r)
	results.Store(string(key), result{text, notes, err})
	return text, notes, err
}
