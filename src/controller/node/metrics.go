package node

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/labels"
)

// subsystem begins the names of this controller's metrics, as it does in the library.
const subsystem = "node_controller"

// metrics are the controller's Prometheus metrics.
type metrics struct {
	patches *prometheus.CounterVec
	latest  prometheus.Gauge
	counts  prometheus.Collector // counted when it is collected

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
		counts: newNodeCounts(c),
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
	return []prometheus.Collector{m.patches, m.latest, m.untainted, m.synced, m.counts}
}

// Described returns the metrics of a Controller without values, to describe them.
func Described() []prometheus.Collector { return newMetrics(&Controller{}).all() }

// nodeCounts counts Nodes when its metrics are collected.
type nodeCounts struct {
	*Controller
	uninitialised, problems *prometheus.Desc
}

func newNodeCounts(c *Controller) nodeCounts {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(subsystem+"_"+name, help, labels, nil)
	}
	return nodeCounts{c, desc("uninitialised", "Number of Nodes that are not initialised."),
		desc("problems", "Number of Nodes that could not be updated completely, by the reason of their event.",
			"reason")}
}

// Describe implements prometheus.Collector.
func (c nodeCounts) Describe(descs chan<- *prometheus.Desc) {
	descs <- c.uninitialised
	descs <- c.problems
}

// Collect implements prometheus.Collector.
func (c nodeCounts) Collect(found chan<- prometheus.Metric) {
	for reason, count := range c.warnings.Reasons() {
		found <- prometheus.MustNewConstMetric(c.problems, prometheus.GaugeValue, float64(count), reason)
	}
	if c.nodes == nil {
		return
	}
	nodes, err := c.nodes.List(labels.Everything())
	if err != nil { // a cache does not fail
		return
	}
	count := 0
	for _, node := range nodes {
		if waiting(node) && !c.foreign(node) {
			count++
		}
	}
	found <- prometheus.MustNewConstMetric(c.uninitialised, prometheus.GaugeValue, float64(count))
}
