package monitoring

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/storage"
	"github.com/thalassa-cloud/thalassa-ccm/ci/charttest"
)

// tenants returns the recordings of two releases that have the same names, but different namespaces.
func tenants(t *testing.T, ironCore bool) (a, b *recording) {
	t.Helper()
	a = record(t, ironCore, "", func(r *running) {
		r.namespace = "tenant-a"
		r.day()
	})
	b = record(t, ironCore, "", func(r *running) {
		r.namespace = "tenant-b"
		r.inhabit()
		r.addServices(20)
		r.pass(workingTime)
	})
	return a, b
}

// shownBy returns the series of every query of a dashboard as text, by query, if the user chooses a namespace, or all
// if it is empty.
func shownBy(t *testing.T, d charttest.Dashboard, data storage.Queryable, namespace string) map[string][]string {
	t.Helper()
	values, shown := valuesOf(t, d, data, namespace), map[string][]string{}
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			name := p.Title + ": " + target.Expr
			for _, series := range seriesOf(t, data, query(target.Expr, values)) {
				shown[name] = append(shown[name], series.String())
			}
			slices.Sort(shown[name])
		}
	}
	return shown
}

// TestDashboardsShowChosenNamespaces: the releases of two tenants have the same name, and their metrics differ only
// in the namespaces. Other programs have some of these metrics, too, such as the CSI driver. Their metrics are in no
// panel, not even if a job without a name of its own collects the metrics of all pods in a namespace.
func TestDashboardsShowChosenNamespaces(t *testing.T) {
	other := recordCSI(t, "tenant-a", func(*csiRunning) {})
	for name, ironCore := range map[string]bool{"thalassa": false, "ironcore": true} {
		a, b := tenants(t, ironCore)
		all := store(t, a, b, other)
		for file, one := range charttest.Dashboards(t) {
			for namespace, alone := range map[string]storage.Queryable{"tenant-a": store(t, a),
				"tenant-b": store(t, b), "": store(t, a, b)} {
				want, got := shownBy(t, one, alone, namespace), shownBy(t, one, all, namespace)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s, %s: with the namespace %q chosen, panels show others (-alone +all):\n%s", name, file,
						namespace, diff)
				}
			}
		}
	}
}

// TestRecordedRatesOfTenants: the recording rules for all namespaces have the series of each tenant, as if it were
// alone.
func TestRecordedRatesOfTenants(t *testing.T) {
	for ironCore, sets := range map[bool][]string{false: nil, true: charttest.Iron()} {
		a, b := tenants(t, ironCore)
		data := map[string]storage.Queryable{"a": store(t, a), "b": store(t, b), "both": store(t, a, b)}
		all := expressions(t, slices.Concat(sets, []string{"rules.allNamespaces=true"})...)
		maps.DeleteFunc(all, func(name, _ string) bool { return !strings.Contains(name, ":") })
		for name, text := range all {
			found := map[string][]string{}
			for from, one := range data {
				for _, series := range seriesOf(t, one, text) {
					found[from] = append(found[from], series.String())
				}
			}
			if len(found["a"]) == 0 {
				t.Errorf("%s has no series", name)
			}
			want, got := slices.Concat(found["a"], found["b"]), found["both"]
			slices.Sort(want)
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s differs (-each alone +both):\n%s", name, diff)
			}
		}
	}
}
