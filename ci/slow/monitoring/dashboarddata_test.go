package monitoring

import (
	"cmp"
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/storage"
	"github.com/thalassa-cloud/thalassa-ccm/ci/charttest"
)

// TestDashboardsHaveData: every query of every panel returns a series from the metrics of a process that works, if the
// user chooses the values that the variables have then. Legends name labels that the series have, and tell the series
// of a panel apart, also those of different clouds.
func TestDashboardsHaveData(t *testing.T) {
	all := map[string]storage.Queryable{}
	for name, ironCore := range map[string]bool{"thalassa": false, "ironcore": true} {
		all[name] = store(t, record(t, ironCore, "", (*running).day))
	}
	for file, one := range charttest.Dashboards(t) {
		shown := map[string]view{}
		for name, data := range all {
			shown[name] = view{data, valuesOf(t, one, data, "")}
		}
		common := true
		for _, p := range one.Panels {
			if p.Type == "row" {
				common = p.Title != charttest.OnlyThalassa
				continue
			}
			if with := cloudsOf(t, p, shown); !with["thalassa"] || common && !with["ironcore"] {
				t.Errorf("%s: %q has data with %v only", file, p.Title, with)
			}
		}
	}
}

// view is what a dashboard shows, with the chosen values of its variables.
type view struct {
	storage.Queryable
	values map[string]string
}

// cloudsOf returns the clouds with which a panel shows metrics, and wants each query to have data with one.
func cloudsOf(t *testing.T, p charttest.Panel, shown map[string]view) map[string]bool {
	t.Helper()
	with := map[string]bool{}
	legends := map[string]string{} // the series of each
	for _, target := range p.Targets {
		var all promql.Matrix
		constant, complete := false, false
		for name, v := range shown {
			text := query(target.Expr, v.values)
			all = append(all, seriesOf(t, v, text)...)
			parts := measured(t, text)
			measures := len(parts) > 0 && !slices.ContainsFunc(parts, func(part parser.Expr) bool {
				return len(seriesOf(t, v, part.String())) == 0
			})
			with[name] = with[name] || measures
			constant, complete = len(parts) == 0, complete || measures
		}
		if !constant && !complete {
			t.Errorf("%q has a part that returns nothing with any cloud: %s", p.Title, target.Expr)
		}
		wantLegends(t, target, p.Title, all, legends)
	}
	return with
}

// measured returns a query and the sides of each "or" in it, without those that read no metric. A query with "or"
// returns something even if only one side does.
func measured(t *testing.T, text string) []parser.Expr {
	t.Helper()
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	parts := []parser.Expr{expr}
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		if join, is := node.(*parser.BinaryExpr); is && join.Op == parser.LOR {
			parts = append(parts, join.LHS, join.RHS)
		}
		return nil
	})
	return slices.DeleteFunc(parts, func(part parser.Expr) bool { return len(selectors(part)) == 0 })
}

// wantLegends wants series of a query, whose legends are those of no other series of the panel.
func wantLegends(t *testing.T, q charttest.Target, title string, found promql.Matrix, legends map[string]string) {
	t.Helper()
	if len(found) == 0 {
		t.Errorf("%q returns nothing: %s", title, q.Expr)
	}
	for _, series := range found {
		legend := regexp.MustCompile(`\{\{(\w+)\}\}`).ReplaceAllStringFunc(q.LegendFormat, func(name string) string {
			name = strings.Trim(name, "{}")
			if !series.Metric.Has(name) {
				t.Errorf("%q: the series %s has no label %s, which its legend names: %s", title, series.Metric, name,
					q.Expr)
			}
			return series.Metric.Get(name)
		})
		whole := q.RefID + series.Metric.String()
		if other := cmp.Or(legends[legend], whole); other != whole || strings.TrimSpace(legend) == "" {
			t.Errorf("%q: the series %s and %s have the legend %q", title, other, whole, legend)
		}
		legends[legend] = whole
	}
}

// valuesOf returns the values of the variables if the user chooses a namespace, or all if it is empty, and all jobs and
// instances. Grafana finds the values of each with those of the variables before it.
func valuesOf(t *testing.T, d charttest.Dashboard, data storage.Queryable, namespace string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, one := range d.Templating.List {
		if one.Type == "query" {
			found[one.Name] = cmp.Or(one.AllValue, strings.Join(choices(t, one, data, found), "|"))
			if one.Name == "namespace" {
				found[one.Name] = cmp.Or(namespace, found[one.Name])
			}
		}
	}
	return found
}

// choices returns the values of a label that series have.
func choices(t *testing.T, v charttest.Variable, data storage.Queryable, before map[string]string) []string {
	t.Helper()
	var asked struct{ Query string }
	form := regexp.MustCompile(`^label_values\((.+), (\w+)\)$`)
	if err := json.Unmarshal(v.Query, &asked); err != nil || asked.Query != v.Definition ||
		!form.MatchString(asked.Query) {
		t.Fatalf("the variable %s has the query %s and the definition %s", v.Name, v.Query, v.Definition)
	}
	parts := form.FindStringSubmatch(query(asked.Query, before))
	matchers, err := parser.NewParser(parser.Options{}).ParseMetricSelector(parts[1])
	if err != nil {
		t.Fatalf("the variable %s: %v", v.Name, err)
	}
	querier, err := data.Querier(virtualStart().UnixMilli(), virtualStart().Add(time.Hour).UnixMilli())
	if err != nil {
		t.Fatal(err)
	}
	values, _, err := querier.LabelValues(t.Context(), parts[2], nil, matchers...)
	if err != nil || len(values) == 0 {
		t.Errorf("the variable %s has the values %q, error %v: %s", v.Name, values, err, asked.Query)
	}
	if err := querier.Close(); err != nil {
		t.Error(err)
	}
	return values
}

// seriesOf returns the series of a query that have a number at any minute of a day.
func seriesOf(t *testing.T, data storage.Queryable, text string) promql.Matrix {
	t.Helper()
	engine := promqltest.NewTestEngine(t, false, 5*time.Minute, 1_000_000)
	asked, err := engine.NewRangeQuery(t.Context(), data, nil, text, virtualStart(), virtualStart().Add(time.Hour),
		time.Minute)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	defer asked.Close()
	matrix, err := asked.Exec(t.Context()).Matrix()
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return slices.DeleteFunc(matrix, func(series promql.Series) bool {
		return !slices.ContainsFunc(series.Floats, func(point promql.FPoint) bool { return !math.IsNaN(point.F) })
	})
}
