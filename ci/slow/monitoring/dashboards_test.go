package monitoring

import (
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
	"github.com/thalassa-cloud/thalassa-ccm/ci/charttest"
)

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
	for _, one := range charttest.Dashboards(t) {
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
