package monitoring

import (
	"math"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/util/teststorage"
)

// recording is what Prometheus has of the metrics of one pod that it scrapes every 30 seconds.
type recording struct {
	namespace, container, pod string

	samples []scraped
	series  map[string]labels.Labels // by the text of the metric
	latest  map[string]bool          // the series of the latest scrape
}

// scraped is one sample.
type scraped struct {
	labels labels.Labels
	at     int64 // milliseconds
	value  float64
}

// newRecording returns an empty recording of a pod of the cloud controller manager.
func newRecording(pod string) *recording {
	return &recording{namespace: "kube-system", container: "cloud-controller-manager", pod: pod,
		series: map[string]labels.Labels{}}
}

// ofLibraries reports whether a metric of Kubernetes' libraries is recorded: one that rules or dashboards use.
func ofLibraries(name string) bool {
	switch name {
	case "leader_election_master_status", "rest_client_requests_total", "workqueue_adds_total", "workqueue_depth",
		"workqueue_queue_duration_seconds":
		return true
	}
	return false
}

// scrape adds the samples that all metrics have at a time. As in Prometheus, a series that is not there any more ends.
func (r *recording) scrape(t *testing.T, at time.Time, own, libraries prometheus.Gatherer) {
	t.Helper()
	families, err := own.Gather()
	if err != nil {
		t.Fatal(err)
	}
	others, err := libraries.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range others {
		if ofLibraries(family.GetName()) {
			families = append(families, family)
		}
	}
	now := model.TimeFromUnixNano(at.UnixNano())
	found, err := expfmt.ExtractSamples(&expfmt.DecodeOptions{Timestamp: now}, families...)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, one := range found {
		text := one.Metric.String()
		seen[text] = true
		r.samples = append(r.samples, scraped{r.labelsOf(text, one.Metric), int64(now), float64(one.Value)})
	}
	for text := range r.latest {
		if !seen[text] {
			r.samples = append(r.samples, scraped{r.series[text], int64(now), math.Float64frombits(value.StaleNaN)})
		}
	}
	r.latest = seen
}

// labelsOf returns the labels of a series, with those that Prometheus adds.
func (r *recording) labelsOf(text string, metric model.Metric) labels.Labels {
	if known, found := r.series[text]; found {
		return known
	}
	all := map[string]string{"namespace": r.namespace, "container": r.container, "pod": r.pod,
		"job": "thalassa-ccm-metrics", "instance": r.pod + ":10258"}
	for name, value := range metric {
		all[string(name)] = string(value)
	}
	r.series[text] = labels.FromMap(all)
	return r.series[text]
}

// store returns a database with recordings of several pods.
func store(t *testing.T, recordings ...*recording) *teststorage.TestStorage {
	t.Helper()
	storage := teststorage.New(t)
	for _, r := range recordings {
		appender := storage.Appender(t.Context())
		for _, one := range r.samples {
			if _, err := appender.Append(0, one.labels, one.at, one.value); err != nil {
				t.Fatalf("storing %s: %v", one.labels, err)
			}
		}
		if err := appender.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	return storage
}
