package monitoring

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/thalassa-cloud/thalassa-ccm/src/budget"
	corev1 "k8s.io/api/core/v1"
)

// dashboard is what the tests read of a dashboard.
type dashboard struct {
	UID        string  `json:"uid"`
	Title      string  `json:"title"`
	Panels     []panel `json:"panels"`
	Templating struct {
		List []variable `json:"list"`
	} `json:"templating"`
}

// variable is a choice of the user, and where Grafana finds what can be chosen: in the query or, after an import, in
// the definition.
type variable struct {
	Name, Type, Definition, AllValue string
	Query                            json.RawMessage
}

// target is a query of a panel, and the text that distinguishes its series.
type target struct{ RefID, Expr, LegendFormat string }

// panel is one panel, or the row above others.
type panel struct {
	ID                       int
	Type, Title, Description string
	Targets                  []target
	FieldConfig              struct{ Defaults struct{ Unit string } }
}

// onlyThalassa is the title of the row, the last one, whose panels have no data with IronCore.
const onlyThalassa = "Only with Thalassa Cloud"

// dashboards returns the chart's dashboards, by the names of their files.
func dashboards(t *testing.T) map[string]dashboard {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(chartDir(t), "dashboards", "*.json"))
	if err != nil || len(paths) != 2 {
		t.Fatalf("dashboards %q, error %v; want two", paths, err)
	}
	all := map[string]dashboard{}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var one dashboard
		if err := json.Unmarshal(content, &one); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all[filepath.Base(path)] = one
	}
	return all
}

// TestDashboards: Grafana finds a dashboard by its identity, so that it never changes; every panel is one of Grafana's
// own kinds, and says what it shows.
func TestDashboards(t *testing.T) {
	kinds := regexp.MustCompile(`^(timeseries|stat|bargauge|row)$`)
	for file, one := range dashboards(t) {
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
	for name, values := range map[string][]string{"self-managed": nil, "managed": hosting(), "IronCore": iron()} {
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
		if found != len(dashboards(t)) {
			t.Errorf("%s: %d dashboards in ConfigMaps", name, found)
		}
	}
	if kindsOf(objects(t, minimal(t, tenant("dashboards.enabled=true")...)))["ConfigMap"] > 0 {
		t.Error("the tenant's part has dashboards")
	}
}

// query is the query of a panel as Grafana sends it, with the values of the variables.
func query(expr string, values map[string]string) string {
	return strings.NewReplacer("$__rate_interval", "5m", "$namespace", values["namespace"], "$job", values["job"],
		"$instance", values["instance"]).Replace(expr)
}

// TestDashboardsAreAboutWhatExists parses every query as Prometheus does, and wants every metric in it to be the
// program's, with one of the clouds, and every selector to follow the variables.
func TestDashboardsAreAboutWhatExists(t *testing.T) {
	known := map[string][]string{"leader_election_master_status": {"name", "job", "instance"}}
	for _, made := range clouds(t) {
		_, offered := made()
		for metric, labels := range exported(t, offered) {
			known[metric] = append(labels, "job", "instance")
		}
	}
	const info = "cloud_controller_manager_build_info" // has constant labels
	known[info] = append(known[info], "version")
	for _, one := range dashboards(t) {
		for _, p := range one.Panels {
			for _, target := range p.Targets {
				wantDashboardQuery(t, known, p.Title, query(target.Expr, nil))
			}
		}
	}
}

func wantDashboardQuery(t *testing.T, known map[string][]string, title, text string) {
	t.Helper()
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(text)
	if err != nil {
		t.Errorf("%s: %v", title, err)
		return
	}
	has := added()
	for _, selector := range selectors(expr) {
		labels, found := known[base(selector.Name)]
		if !found {
			t.Errorf("%s: the program has no metric %s", title, selector.Name)
		}
		has = append(has, labels...)
		matched := map[string]bool{}
		for _, matcher := range selector.LabelMatchers {
			matched[matcher.Name] = true
			if !slices.Contains(has, matcher.Name) {
				t.Errorf("%s: %s has no label %s", title, selector.Name, matcher.Name)
			}
		}
		if !matched["namespace"] || !matched["job"] || !matched["instance"] {
			t.Errorf("%s: %s does not follow the variables", title, selector.Name)
		}
	}
	wantGrouping(t, title, expr, has)
}

// wantGrouping wants the labels that series are grouped by to be those of metrics in the query.
func wantGrouping(t *testing.T, title string, expr parser.Expr, has []string) {
	t.Helper()
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		if sum, is := node.(*parser.AggregateExpr); is {
			for _, label := range sum.Grouping {
				if !slices.Contains(has, label) {
					t.Errorf("%s: no metric has the label %s", title, label)
				}
			}
		}
		return nil
	})
}

// TestDashboardBudgets: the budgets in panels are those that tests check.
func TestDashboardBudgets(t *testing.T) {
	var text bytes.Buffer
	for _, one := range dashboards(t) {
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
