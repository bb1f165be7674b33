package node

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/labels"
)

// keepSubsystem begins the names of our own metrics, keepLibrary those of the library's.
const (
	keepSubsystem = "node_keeper"
	keepLibrary   = "node_controller"
)

// keepMetrics are what Prometheus is told about the initialisation and the truth of Nodes.
type keepMetrics struct {
	patches *prometheus.CounterVec
	looked  prometheus.Gauge
	shown   prometheus.Collector // what is counted when somebody asks

	// Those that the node controller of k8s.io/cloud-provider has. Here the taint is what is taken away last.
	untainted, synced prometheus.Histogram
}

func newKeepMetrics(k *Keeper) *keepMetrics {
	delay := func(name, help string) prometheus.Histogram {
		return prometheus.NewHistogram(prometheus.HistogramOpts{Subsystem: keepLibrary, Name: name, Help: help, Buckets: prometheus.ExponentialBuckets(1, 4, 6)}) // the library's
	}
	return &keepMetrics{
		patches: prometheus.NewCounterVec(prometheus.CounterOpts{Subsystem: keepSubsystem, Name: "patches_total",
			Help: "Writes to Nodes: with the Node itself or with its status."}, []string{"part", "result"}),
		looked: prometheus.NewGauge(prometheus.GaugeOpts{Subsystem: keepSubsystem, Name: "look_timestamp_seconds",
			Help: "When the latest complete look at all Nodes ended; 0 before the first."}),
		shown:     newNodeCensus(k),
		untainted: delay("cloud_provider_taint_removal_delay_seconds", "How long after its creation a Node lost the taint of those that are not initialised."),
		synced:    delay("initial_node_sync_delay_seconds", "How long after its creation a Node was initialised."),
	}
}

// patched counts a write.
func (m *keepMetrics) patched(part string, err error) {
	result := "done"
	if err != nil {
		result = "failed"
	}
	m.patches.WithLabelValues(part, result).Inc()
}

// initialised measures how long it took.
func (m *keepMetrics) initialised(took time.Duration) {
	m.untainted.Observe(took.Seconds())
	m.synced.Observe(took.Seconds())
}

func (m *keepMetrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.patches, m.looked, m.untainted, m.synced, m.shown}
}

// DescribedKeeper are metrics like those of a Keeper, with nothing to tell, for whoever describes them.
func DescribedKeeper() []prometheus.Collector { return newKeepMetrics(&Keeper{}).all() }

// nodeCensus counts Nodes when somebody asks.
type nodeCensus struct {
	*Keeper
	uninitialised, problems *prometheus.Desc
}

func newNodeCensus(k *Keeper) nodeCensus {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(keepSubsystem+"_"+name, help, labels, nil)
	}
	return nodeCensus{k, desc("uninitialised", "Nodes that wait to be initialised, or cannot be."),
		desc("problems", "Nodes that could not be made what they should be, or not entirely, by the reason of their event.", "reason")}
}

// Describe implements prometheus.Collector.
func (c nodeCensus) Describe(descs chan<- *prometheus.Desc) {
	descs <- c.uninitialised
	descs <- c.problems
}

// Collect implements prometheus.Collector.
func (c nodeCensus) Collect(found chan<- prometheus.Metric) {
	for reason, count := range c.told.Reasons() {
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
