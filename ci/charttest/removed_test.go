package charttest

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
	"github.com/thalassa-cloud/thalassa-ccm/tools/chartvalues"
)

// successor makes a chart that has removed two values, and returns its directory.
func successor(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "thalassa-ccm")
	if err := os.CopyFS(dir, os.DirFS(chartDir)); err != nil {
		t.Fatal(err)
	}
	values, err := chartvalues.Parse([]byte(readFile(t, filepath.Join(dir, "values.yaml"))))
	if err != nil {
		t.Fatal(err)
	}
	values.Removed = map[string]string{"port": "set securePort instead", "metrics.old": "set metrics.tlsSecret instead"}
	// What the program says about its keys does not matter here.
	schema, err := values.Schema("", map[string]map[string]any{
		"cloudConfig.additionalLabels": {"additionalProperties": true}, "cloudConfig.loadBalancer.defaults": {"additionalProperties": true},
	})
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "values.schema.json"), string(schema))
	writeFile(t, filepath.Join(dir, "removed.yaml"), "port: set securePort instead\nmetrics.old: set metrics.tlsSecret instead\n")
	return dir
}

// TestRemovedValuesNameTheirSuccessors: the next version tells what became of a value.
func TestRemovedValuesNameTheirSuccessors(t *testing.T) {
	dir := successor(t)
	render := func(sets ...string) error {
		_, _, err := chart.Render(t.Context(), dir, release(minimal(t, sets...)))
		return err
	}
	for _, unset := range [][]string{nil, {"port=null"}, {"port="}, {"metrics.old=null"}, {"metrics=null"}} {
		if err := render(unset...); err != nil {
			t.Errorf("%q: %v", unset, err)
		}
	}
	for want, sets := range map[string][]string{
		"port is no value of this version any more: set securePort instead":               {"port=10258"},
		"metrics.old is no value of this version any more: set metrics.tlsSecret instead": {"metrics.old.name=a"},
	} {
		err := render(sets...)
		if err == nil {
			t.Fatalf("%q is accepted", sets)
		}
		if got := sentences(t, err.Error()); !slices.Equal(got, []string{want}) {
			t.Errorf("the chart says %q, want %q", got, want)
		}
	}
}
