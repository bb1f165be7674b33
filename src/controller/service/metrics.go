package service

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// Results of a look at a Service, as values of a metric's label.
const (
	resultDone    = "done"    // it is as it should be
	resultWaiting = "waiting" // the cloud is busy with it
	resultFailed  = "failed"
)

// metrics are what Prometheus is told about Services.
type metrics struct {
	duration *prometheus.HistogramVec
	writes   *prometheus.CounterVec
	drift    *prometheus.CounterVec
	shown    prometheus.Collector // what is counted when somebody asks
	// patrolled is when the latest complete look for drift and orphans ended.
	patrolled prometheus.Gauge

	// Those that the service controller of k8s.io/cloud-provider has.
	syncs       prometheus.Counter
	nodeErrors  prometheus.Counter
	nodeLatency prometheus.Histogram
	hostLatency prometheus.Histogram
}

// subsystem begins the names of our own metrics, librarySubsystem those of the library's.
const (
	subsystem        = "service_lb"
	librarySubsystem = "service_controller"
)

// seconds are the bounds of a histogram of looks: most take microseconds, and those that write as long as the cloud.
func seconds() []float64 { return []float64{0.001, 0.01, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60} }

// librarySeconds are the library's: from 1 s, doubling 14 times.
func librarySeconds() []float64 { return prometheus.ExponentialBuckets(1, 2, 15) }

func newMetrics() *metrics {
	return &metrics{
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{Subsystem: subsystem,
			Name: "reconcile_duration_seconds",
			Help: "Duration of a sync of a Service including writes to the cloud, in seconds.", Buckets: seconds()},
			[]string{"result"}),
		writes: prometheus.NewCounterVec(prometheus.CounterOpts{Subsystem: subsystem, Name: "writes_total",
			Help: "Number of writes to the cloud for Services."}, []string{"verb", "kind", "cause", "result"}),
		drift: prometheus.NewCounterVec(prometheus.CounterOpts{Subsystem: subsystem, Name: "drift_total",
			Help: "Number of changes in the cloud that were not made by this program and not caused by a change in " +
				"Kubernetes."}, []string{"verb", "kind"}),
		patrolled: prometheus.NewGauge(prometheus.GaugeOpts{Subsystem: subsystem, Name: "patrol_timestamp_seconds",
			Help: "Time at which the last complete check for drift and orphans ended, as a Unix timestamp in " +
				"seconds. 0 before the first check."}),
		syncs: prometheus.NewCounter(prometheus.CounterOpts{Subsystem: librarySubsystem,
			Name: "loadbalancer_sync_total",
			Help: "Number of load balancers whose targets were updated after a change of nodes."}),
		nodeErrors: prometheus.NewCounter(prometheus.CounterOpts{Subsystem: librarySubsystem,
			Name: "nodesync_error_total",
			Help: "Number of load balancers whose targets could not be updated after a change of nodes."}),
		nodeLatency: prometheus.NewHistogram(prometheus.HistogramOpts{Subsystem: librarySubsystem,
			Name:    "nodesync_latency_seconds",
			Help:    "Time from a change of nodes until all load balancers were synced, in seconds.",
			Buckets: librarySeconds()}),
		hostLatency: prometheus.NewHistogram(prometheus.HistogramOpts{Subsystem: librarySubsystem,
			Name:    "update_loadbalancer_host_latency_seconds",
			Help:    "Time to update the targets of one load balancer after a change of nodes, in seconds.",
			Buckets: librarySeconds()}),
	}
}

// reconciled counts a look at a Service.
func (m *metrics) reconciled(took time.Duration, result string) {
	m.duration.WithLabelValues(result).Observe(took.Seconds())
}

// retargeted counts a load balancer that was given other targets because nodes changed.
func (m *metrics) retargeted(took time.Duration, err error) {
	m.syncs.Inc()
	m.hostLatency.Observe(took.Seconds())
	if err != nil {
		m.nodeErrors.Inc()
	}
}

// wrote counts a write to the cloud.
func (m *metrics) wrote(o cloud.Operation, why cause, err error) {
	result := resultDone
	if err != nil {
		result = resultFailed
	}
	m.writes.WithLabelValues(string(o.Verb), o.Kind, string(why), result).Inc()
}

// drifted counts differences that nothing explains.
func (m *metrics) drifted(plan cloud.Plan) {
	for _, operation := range plan {
		m.drift.WithLabelValues(string(operation.Verb), operation.Kind).Inc()
	}
}

// resultOf is how a look at a Service ended.
func resultOf(err error) string {
	switch {
	case err == nil:
		return resultDone
	case isWait(err):
		return resultWaiting
	}
	return resultFailed
}

// Collectors are the controller's metrics.
func (c *Controller) Collectors() []prometheus.Collector {
	m := c.metrics
	return []prometheus.Collector{m.duration, m.writes, m.drift, m.shown, m.patrolled, m.syncs, m.nodeErrors,
		m.nodeLatency, m.hostLatency}
}

// Described are metrics like those of a controller, with nothing to tell, for whoever describes them.
func Described() []prometheus.Collector {
	c := &Controller{keeper: keeper{metrics: newMetrics()}}
	c.metrics.observe(c)
	return c.Collectors()
}

// census counts Services and what they left behind, when somebody asks.
type census struct {
	*Controller
	balancers, targets, drifted, orphans *prometheus.Desc
}

// observe lets the controller be counted.
func (m *metrics) observe(c *Controller) {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(subsystem+"_"+name, help, labels, nil)
	}
	m.shown = census{
		Controller: c,
		balancers: desc("load_balancers", "Number of Services, by the state of their load balancer as the cloud "+
			"names it. \"none\" if there is no load balancer.", "state"),
		targets: desc("targets", "Total number of targets of the load balancers of all Services."),
		drifted: desc("drifted",
			"Number of Services whose load balancer was changed in the cloud and is not repaired."),
		orphans: desc("orphans",
			"Number of objects in the cloud that belong to Services that do not exist any more.", "kind"),
	}
}

// Describe implements prometheus.Collector.
func (c census) Describe(descs chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{c.balancers, c.targets, c.drifted, c.orphans} {
		descs <- desc
	}
}

// Collect implements prometheus.Collector.
func (c census) Collect(found chan<- prometheus.Metric) {
	states, targets, drifted := map[string]int{}, 0, 0
	for _, m := range c.memories.all() {
		facts := m.facts.Load()
		if facts == nil {
			continue
		}
		states[facts.state]++
		targets += facts.targets
		if facts.repairing {
			drifted++
		}
	}
	kinds := map[string]int{}
	for _, part := range c.orphanage.parts() {
		kinds[part.Kind]++
	}
	gauge := func(desc *prometheus.Desc, number int, labels ...string) {
		found <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(number), labels...)
	}
	for state, count := range states {
		gauge(c.balancers, count, state)
	}
	for kind, count := range kinds {
		gauge(c.orphans, count, kind)
	}
	gauge(c.targets, targets)
	gauge(c.drifted, drifted)
}
