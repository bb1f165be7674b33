package nodelifecycle

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/tracing"
)

// subsystem begins the names of this controller's own metrics, librarySubsystem those of the library's.
const (
	subsystem        = "node_lifecycle"
	librarySubsystem = "cloud_node_lifecycle_controller"
)

// Results of removals, as values of a metric's label.
const (
	removalDone   = "done"
	removalFailed = "failed"
	removalDryRun = "dry_run"
)

// States of Nodes in a metric beside those of machines.
const (
	stateReadyGone = "ready_without_machine"
	stateNoAnswer  = "no_answer"
	stateReady     = "ready"
)

// metrics are the controller's Prometheus metrics.
type metrics struct {
	removals *prometheus.CounterVec
	blocked  *prometheus.CounterVec
	waiting  *prometheus.GaugeVec
	nodes    *prometheus.GaugeVec
	latest   prometheus.Gauge

	// The lifecycle controller of k8s.io/cloud-provider has the same ones.
	duration prometheus.Histogram
	calls    *prometheus.CounterVec
}

func newMetrics() *metrics {
	m := &metrics{
		removals: prometheus.NewCounterVec(prometheus.CounterOpts{Subsystem: subsystem, Name: "removals_total",
			Help: "Number of deletions of Nodes whose machine does not exist, by result."}, []string{"result"}),
		blocked: prometheus.NewCounterVec(prometheus.CounterOpts{Subsystem: subsystem, Name: "deletions_blocked_total",
			Help: "Number of times that a Node whose machine is missing was not deleted, by reason. The same reason " +
				"in a row counts once."}, []string{"reason"}),
		waiting: prometheus.NewGaugeVec(prometheus.GaugeOpts{Subsystem: subsystem, Name: "deletions_blocked",
			Help: "Number of Nodes that are not deleted although their machine is missing or its state is unknown, " +
				"by reason."}, []string{"reason"}),
		nodes: prometheus.NewGaugeVec(prometheus.GaugeOpts{Subsystem: subsystem, Name: "nodes",
			Help: "Number of Nodes, by the state of the Node and its machine."}, []string{"state"}),
		latest: prometheus.NewGauge(prometheus.GaugeOpts{Subsystem: subsystem, Name: "resync_timestamp_seconds",
			Help: "Time at which the last complete check of all Nodes ended, as a Unix timestamp in seconds. 0 " +
				"before the first check."}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{Subsystem: librarySubsystem,
			Name: "monitor_nodes_duration_seconds",
			// has the name in the library
			Help: "Duration of checks of all Nodes, in seconds.", Buckets: prometheus.ExponentialBuckets(0.001, 2,
				15)}),
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{Subsystem: librarySubsystem,
			Name: "cloud_provider_calls_total",
			Help: "Number of requests for a machine by its identity."}, []string{"operation", "result"}),
	}
	for _, why := range reasons() { // so that the first increase is visible
		m.blocked.WithLabelValues(string(why))
		m.waiting.WithLabelValues(string(why))
	}
	for _, result := range []string{removalDone, removalFailed, removalDryRun} {
		m.removals.WithLabelValues(result)
	}
	return m
}

func (m *metrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.removals, m.blocked, m.waiting, m.nodes, m.latest, m.duration, m.calls}
}

// removed counts a removal.
func (m *metrics) removed(result string) { m.removals.WithLabelValues(result).Inc() }

// confirmed counts a request for a machine by its identity, with the labels of the library.
func (m *metrics) confirmed(state cloud.MachineState, err error) {
	result := "success"
	switch {
	case errors.Is(err, context.Canceled):
		result = "canceled"
	case err != nil:
		result = "error"
	case state == cloud.MachineGone:
		result = "instance_not_found"
	}
	m.calls.WithLabelValues("instance_exists", result).Inc()
}

// reconciled counts a pass, and the Nodes after it.
func (m *metrics) reconciled(ctx context.Context, took time.Duration, subjects []*subject,
	records map[types.UID]*entry) {
	tracing.Observe(ctx, m.duration, took.Seconds())
	m.latest.SetToCurrentTime()
	states := map[string]int{}
	for _, s := range subjects {
		states[s.stateLabel()]++
	}
	m.nodes.Reset()
	for state, count := range states {
		m.nodes.WithLabelValues(state).Set(float64(count))
	}
	blocked := map[reason]int{}
	for _, known := range records {
		blocked[known.blocked]++
	}
	for _, why := range reasons() {
		m.waiting.WithLabelValues(string(why)).Set(float64(blocked[why]))
	}
}

// stateLabel is the value of the metric's label for a Node: ready, or the state of its machine.
func (s *subject) stateLabel() string {
	switch {
	case s.ready() && s.missing():
		return stateReadyGone
	case s.ready():
		return stateReady
	case s.observation.err != nil:
		return stateNoAnswer
	}
	return string(s.observation.state)
}
