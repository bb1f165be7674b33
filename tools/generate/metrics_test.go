package generate

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
)

// counted is a collector of our own kind, which counts when somebody asks.
type counted struct{ desc *prometheus.Desc }

func (c counted) Describe(descs chan<- *prometheus.Desc) { descs <- c.desc }

func (c counted) Collect(found chan<- prometheus.Metric) {
	found <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, 1, "x")
}

func TestDescribe(t *testing.T) {
	options := prometheus.Opts{Name: "a_b", Help: `Says "a", {b} and a\b.`}
	for name, test := range map[string]struct {
		collector prometheus.Collector
		want      metric
	}{
		"counter": {prometheus.NewCounter(prometheus.CounterOpts(options)), metric{kind: "counter"}},
		"gauge":   {prometheus.NewGauge(prometheus.GaugeOpts(options)), metric{kind: "gauge"}},
		"histogram": {prometheus.NewHistogram(prometheus.HistogramOpts{Name: options.Name, Help: options.Help}),
			metric{kind: "histogram"}},
		"counters": {prometheus.NewCounterVec(prometheus.CounterOpts(options), []string{"x", "y"}),
			metric{kind: "counter", labels: []string{"x", "y"}}},
		"gauges": {prometheus.NewGaugeVec(prometheus.GaugeOpts(options), []string{"x"}),
			metric{kind: "gauge", labels: []string{"x"}}},
		"histograms": {prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: options.Name, Help: options.Help},
			[]string{"x"}), metric{kind: "histogram", labels: []string{"x"}}},
		"ours": {counted{prometheus.NewDesc(options.Name, options.Help, []string{"x"}, nil)},
			metric{kind: "gauge", labels: []string{"x"}}},
		"constant": {
			prometheus.NewGauge(prometheus.GaugeOpts{Name: options.Name, Help: options.Help,
				ConstLabels: prometheus.Labels{"one": `"1", {`, "two": "2"}}),
			metric{kind: "gauge", labels: []string{"one", "two"}}},
	} {
		test.want.name, test.want.help = options.Name, options.Help
		found, err := describe([]prometheus.Collector{test.collector})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]metric{test.want}, found, cmp.AllowUnexported(metric{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if _, err := parseDescription("Desc{}"); err == nil {
		t.Error("a description that nobody can read is taken")
	}
}

// TestMetricsPage: each metric is in the first table whose prefix it has.
func TestMetricsPage(t *testing.T) {
	page := renderMetrics([]metric{
		{name: "cloudprovider_thalassa_new_total", kind: "counter", help: "News."}, {name: "other", kind: "gauge",
			labels: []string{"a", "b"}, help: "One | two."},
	})
	want := "\n## Caches\n\nOnly with Thalassa Cloud. A standby process has only the VPC.\n\n| Metric | Type " +
		"| Labels | Meaning |\n|---|---|---|---|\n" +
		"| `cloudprovider_thalassa_new_total` | counter |  | News. |\n" +
		"\n## The program\n\nThe version of the program, pod networks and routes.\n\n| Metric | Type | Labels | " +
		"Meaning |\n|---|---|---|---|\n" +
		"| `other` | gauge | `a`, `b` | One \\| two. |\n"
	if !strings.Contains(page, want) {
		t.Errorf("the page lacks the tables:\n%s", page)
	}
}

// TestMetricsOfTheProgram: all parts of the program are there, their names end as Prometheus wants it, and labels are
// explained once.
func TestMetricsOfTheProgram(t *testing.T) {
	collectors, err := programCollectors(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all, err := describe(collectors)
	if err != nil {
		t.Fatal(err)
	}
	names, used := map[string]bool{}, map[string]bool{}
	for _, one := range all {
		if names[one.name] || one.help == "" || strings.Contains(one.help, "\n") {
			t.Errorf("it is there twice, or its help is no line: %+v", one)
		}
		names[one.name] = true
		for _, label := range one.labels {
			used[label] = true
		}
	}
	for _, want := range []string{"cloudprovider_thalassa_api_request_errors",
		"cloudprovider_thalassa_secrets_reload_failing", "cloudprovider_thalassa_inventory_age_seconds",
		"cloudprovider_ironcore_api_request_errors", "cloudprovider_ironcore_secrets_reload_failing",
		"service_lb_orphans", "grpc_server_handled_total", "thalassa_csi_build_info",
		"service_controller_nodesync_error_total", "cloud_controller_manager_build_info"} {
		if !names[want] {
			t.Errorf("there is no %s", want)
		}
	}
	explained := map[string]bool{}
	for _, row := range regexp.MustCompile(`(?m)^\| ([^|]+) \|`).FindAllStringSubmatch(metricsLabels, -1) {
		for _, match := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			explained[match[1]] = true
		}
	}
	if diff := cmp.Diff(used, explained); diff != "" {
		t.Errorf("labels (-metrics +explained):\n%s", diff)
	}
}
