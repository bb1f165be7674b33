package charttest

import (
	"bytes"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/thalassa-cloud/thalassa-ccm/src/budget"
	corev1 "k8s.io/api/core/v1"
)

// TestDashboards: Grafana finds a dashboard by its identity, so that it never changes; every panel is one of Grafana's
// own kinds, and says what it shows.
func TestDashboards(t *testing.T) {
	kinds := regexp.MustCompile(`^(timeseries|stat|bargauge|row)$`)
	for file, one := range Dashboards(t) {
		if want := "thalassa-ccm-" + strings.TrimSuffix(file, ".json"); one.UID != want || one.Title == "" {
			t.Errorf("%s has the identity %s and the title %q, want %s", file, one.UID, one.Title, want)
		}
		seen := map[int]bool{}
		for _, p := range one.Panels {
			if seen[p.ID] || p.Title == "" || !kinds.MatchString(p.Type) {
				t.Errorf("%s: panel %d of kind %s has the title %q", file, p.ID, p.Type, p.Title)
			}
			seen[p.ID] = true
			if p.Type != "row" && (p.Description == "" || p.FieldConfig.Defaults.Unit == "" || len(p.Targets) == 0) {
				t.Errorf("%s: panel %q has no description, unit or query", file, p.Title)
			}
		}
		var names []string
		for _, variable := range one.Templating.List {
			names = append(names, variable.Name)
		}
		if diff := cmp.Diff([]string{"datasource", "namespace", "job", "instance"}, names); diff != "" {
			t.Errorf("%s: variables (-want +got):\n%s", file, diff)
		}
	}
}

// TestDashboardObjects: each file is in a ConfigMap that the sidecar selects, unchanged, on the hosting side of both
// clouds.
func TestDashboardObjects(t *testing.T) {
	for name, values := range map[string][]string{"self-managed": nil, "managed": hosting(), "IronCore": Iron()} {
		found := 0
		sets := append([]string{"dashboards.enabled=true", "dashboards.namespace=monitoring"}, values...)
		for _, object := range objects(t, minimal(t, sets...)) {
			config, is := object.(*corev1.ConfigMap)
			if !is || config.Labels["grafana_dashboard"] != "1" {
				continue
			}
			for key, text := range config.Data {
				content := readFile(t, filepath.Join(chartDir(t), "dashboards",
					strings.TrimPrefix(key, "thalassa-ccm-")))
				if strings.TrimSpace(content) != strings.TrimSpace(text) || config.Namespace != "monitoring" {
					t.Errorf("%s: %s in %s differs from the file", name, key, config.Namespace)
				}
				found++
			}
		}
		if found != len(Dashboards(t)) {
			t.Errorf("%s: %d dashboards in ConfigMaps", name, found)
		}
	}
	if kindsOf(objects(t, minimal(t, tenant("dashboards.enabled=true")...)))["ConfigMap"] > 0 {
		t.Error("the tenant's part has dashboards")
	}
}

// TestDashboardBudgets: the budgets in panels are those that tests check.
func TestDashboardBudgets(t *testing.T) {
	var text bytes.Buffer
	for _, one := range Dashboards(t) {
		for _, p := range one.Panels {
			for _, target := range p.Targets {
				text.WriteString(p.Title + ": " + target.Expr + "\n")
			}
		}
	}
	for name, form := range map[string]string{
		"quiet-calls":          "Calls per minute and their budget: vector(%)",
		"ironcore-quiet-calls": "Calls per minute and their budget: vector(%)",
		"quiet-writes":         "Writes without a cause in Kubernetes: vector(%)",
		"data":                 "Data per minute and its budget: vector(% * 1024 * 1024)",
	} {
		limit, err := budget.Named(name)
		if err != nil {
			t.Fatal(err)
		}
		want := strings.ReplaceAll(form, "%", strconv.FormatFloat(limit.Limit, 'f', -1, 64)) + "\n"
		if !strings.Contains(text.String(), want) {
			t.Errorf("no panel has the budget %s: want %s", name, want)
		}
	}
}
