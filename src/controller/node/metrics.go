package node

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/workerpool"
)

// subsystem begins the names of this controller's metrics, as it does in the library.
const subsystem = "node_controller"

// metrics are the controller's Prometheus metrics.
type metrics struct {
	patches          *prometheus.CounterVec
	latest           prometheus.Gauge
	waiting, reasons prometheus.Collector // counted when they are collected

	// The node controller of k8s.io/cloud-provider has the same ones. The taint is removed in the last write.
	untainted, synced prometheus.Histogram
}

func newMetrics(c *Controller) *metrics {
	delay := func(name, help string) prometheus.Histogram {
		// has the name in the library
		return prometheus.NewHistogram(prometheus.HistogramOpts{Subsystem: subsystem, Name: name, Help: help,
			Buckets: prometheus.ExponentialBuckets(1, 4, 6)})
	}
	return &metrics{
		patches: prometheus.NewCounterVec(prometheus.CounterOpts{Subsystem: subsystem, Name: "patches_total",
			Help: "Number of writes to Nodes, by part: the Node itself or its status."}, []string{"part", "result"}),
		latest: prometheus.NewGauge(prometheus.GaugeOpts{Subsystem: subsystem, Name: "resync_timestamp_seconds",
			Help: "Time at which the last complete check of all Nodes ended, as a Unix timestamp in seconds. 0 " +
				"before the first check."}),
		waiting: workerpool.NewTotal(subsystem+"_uninitialised", "Number of Nodes that are not initialised.",
			c.uninitialised),
		reasons: workerpool.NewGauge(subsystem+"_problems", "Number of Nodes that could not be updated completely, "+
			"by the reason of their event.", "reason", c.warnings.Reasons),
		untainted: delay("cloud_provider_taint_removal_delay_seconds",
			"Time from the creation of a Node until the taint for uninitialised Nodes was removed, in seconds."),
		synced: delay("initial_node_sync_delay_seconds",
			"Time from the creation of a Node until it was initialised, in seconds."),
	}
}

// patched counts a write.
func (m *metrics) patched(part string, err error) {
	result := "done"
	if err != nil {
		result = "failed"
	}
	m.patches.WithLabelValues(part, result).Inc()
}

// initialised records how long the initialisation of a Node took.
func (m *metrics) initialised(took time.Duration) {
	m.untainted.Observe(took.Seconds())
	m.synced.Observe(took.Seconds())
}

func (m *metrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.patches, m.latest, m.untainted, m.synced, m.waiting, m.reasons}
}

// Described returns the metrics of a Controller without values, to describe them.
func Described() []prometheus.Collector { return newMetrics(&Controller{}).all() }

// uninitialised counts the Nodes that are not initialised.
func (c *Controller) uninitialised() (count int) {
	if c.nodes == nil { // it is only described
		return 0
	}
	nodes, err := c.nodes.List(labels.Everything())
	if err != nil { // a cache does not fail
		return 0
	}
	for _, node := range nodes {
		if cloud.Uninitialised(node) && !c.foreign(node) {
			count++
		}
	}
	return count
}
