package charttest

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/thalassa-cloud/thalassa-ccm/tools/chartvalues"
)

// successor makes a chart that has removed two values, and returns its directory.
func successor(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "thalassa-ccm")
	if err := os.CopyFS(dir, os.DirFS(chartDir(t))); err != nil {
		t.Fatal(err)
	}
	values, err := chartvalues.Parse([]byte(readFile(t, filepath.Join(dir, "values.yaml"))))
	if err != nil {
		t.Fatal(err)
	}
	values.Removed = map[string]string{"port": "set securePort instead", "metrics.old": "set metrics.tlsSecret instead"}
	// What the program says about its keys does not matter here.
	schema, err := values.Schema("", map[string]map[string]any{
		"cloudConfig.additionalLabels":      {"additionalProperties": true},
		"cloudConfig.loadBalancer.defaults": {"additionalProperties": true},
	})
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "values.schema.json"), string(schema))
	writeFile(t, filepath.Join(dir, "removed.yaml"),
		"port: set securePort instead\nmetrics.old: set metrics.tlsSecret instead\n")
	return dir
}

// TestKnownNamesNameTheirSuccessors: names that people know from other charts are refused with the value to set, and
// every value that an advice names exists.
func TestKnownNamesNameTheirSuccessors(t *testing.T) {
	for set, successor := range map[string]string{
		"serviceMonitor.labels.release=prometheus": "scrape.labels", "serviceMonitor.interval=1m": "scrape.interval",
		"podMonitor.scrapeTimeout=10s": "scrape.timeout", "prometheusRule.enabled=true": "rules.enabled",
		"metrics.serviceMonitor.enabled=true": "serviceMonitor.enabled", "replicaCount=3": "replicas",
		"cloudConfig.cloudCredentials.existingSecret=a": "credentials.existingSecret",
		"metrics.enabled=false":                         "serviceMonitor.enabled",
	} {
		_, _, err := render(t, chartDir(t), release(minimal(t, set)))
		if err == nil {
			t.Errorf("%s is accepted", set)
			continue
		}
		if got := sentences(t, err.Error()); len(got) != 1 ||
			!strings.Contains(got[0], " is not a value of this chart: ") || !strings.Contains(got[0], successor) {
			t.Errorf("%s: the chart says %q, want one sentence with %s", set, got, successor)
		}
	}
	advices := map[string]string{}
	if err := yaml.Unmarshal([]byte(readFile(t, filepath.Join(chartDir(t), "removed.yaml"))), &advices); err != nil {
		t.Fatal(err)
	}
	values := slices.Concat(documented(t), sections(t))
	for name, advice := range advices {
		for _, successor := range regexp.MustCompile(
			`[a-z][a-zA-Z0-9]*(\.[a-z][a-zA-Z0-9]*)+|^set ([a-zA-Z0-9]+) instead$`).FindAllString(advice, -1) {
			successor = strings.TrimSuffix(strings.TrimPrefix(successor, "set "), " instead")
			if !slices.Contains(values, successor) {
				t.Errorf("%s: %q names %s, which is not a value", name, advice, successor)
			}
		}
		if slices.Contains(values, name) {
			t.Errorf("%s is a value", name)
		}
	}
}

// TestRemovedValuesNameTheirSuccessors: the next version says what replaces a value.
func TestRemovedValuesNameTheirSuccessors(t *testing.T) {
	dir := successor(t)
	render := func(sets ...string) error {
		_, _, err := render(t, dir, release(minimal(t, sets...)))
		return err
	}
	for _, unset := range [][]string{nil, {"port=null"}, {"port="}, {"metrics.old=null"}, {"metrics=null"}} {
		if err := render(unset...); err != nil {
			t.Errorf("%q: %v", unset, err)
		}
	}
	for want, sets := range map[string][]string{
		"port is not a value of this chart: set securePort instead":               {"port=10258"},
		"metrics.old is not a value of this chart: set metrics.tlsSecret instead": {"metrics.old.name=a"},
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
