package service

import (
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/workerpool"
)

// Results of a reconciliation, which are values of a label.
const (
	resultDone    = "done"    // it is in sync
	resultWaiting = "waiting" // the cloud is busy
	resultFailed  = "failed"
)

// metrics are the metrics about Services.
type metrics struct {
	duration *prometheus.HistogramVec
	plans    *prometheus.HistogramVec
	writes   *prometheus.CounterVec
	drift    *prometheus.CounterVec
	// lastCheck is the time at which the last complete check for drift and orphans ended.
	lastCheck prometheus.Gauge

	// The metrics of the service controller of k8s.io/cloud-provider.
	syncs       prometheus.Counter
	nodeErrors  prometheus.Counter
	nodeLatency prometheus.Histogram
	hostLatency prometheus.Histogram
}

// subsystem is the prefix of this controller's metrics, providerSubsystem that of k8s.io/cloud-provider's metrics.
const (
	subsystem         = "service_lb"
	providerSubsystem = "service_controller"
)

// buckets returns the buckets for the duration of reconciliations: most take microseconds, and those with writes as
// long as the cloud needs.
func buckets() []float64 { return []float64{0.001, 0.01, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60} }

// planBuckets returns the buckets for the number of operations of a plan: a new Service with one port needs three.
func planBuckets() []float64 { return []float64{1, 2, 3, 5, 10, 25, 50, 100, 250} }

// providerBuckets returns the buckets of k8s.io/cloud-provider: from 1 s, doubling 14 times.
func providerBuckets() []float64 { return prometheus.ExponentialBuckets(1, 2, 15) }

func newMetrics() *metrics {
	return &metrics{
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{Subsystem: subsystem,
			Name: "reconcile_duration_seconds",
			Help: "Duration of a sync of a Service including writes to the cloud, in seconds.", Buckets: buckets()},
			[]string{"result"}),
		plans: prometheus.NewHistogramVec(prometheus.HistogramOpts{Subsystem: subsystem, Name: "plan_operations",
			Help:    "Number of operations of a plan that is applied to the cloud for a Service, by cause.",
			Buckets: planBuckets()}, []string{"cause"}),
		writes: prometheus.NewCounterVec(prometheus.CounterOpts{Subsystem: subsystem, Name: "writes_total",
			Help: "Number of writes to the cloud for Services."}, []string{"verb", "kind", "cause", "result"}),
		drift: prometheus.NewCounterVec(prometheus.CounterOpts{Subsystem: subsystem, Name: "drift_total",
			Help: "Number of changes in the cloud that were not made by this program and not caused by a change in " +
				"Kubernetes. The writes that revert them are in service_lb_writes_total with the cause drift."},
			[]string{"verb", "kind"}),
		lastCheck: prometheus.NewGauge(prometheus.GaugeOpts{Subsystem: subsystem, Name: "resync_timestamp_seconds",
			Help: "Time at which the last complete check for drift and orphans ended, as a Unix timestamp in " +
				"seconds. 0 before the first check."}),
		syncs: prometheus.NewCounter(prometheus.CounterOpts{Subsystem: providerSubsystem,
			Name: "loadbalancer_sync_total",
			Help: "Number of load balancers whose targets were updated after a change of nodes."}),
		nodeErrors: prometheus.NewCounter(prometheus.CounterOpts{Subsystem: providerSubsystem,
			Name: "nodesync_error_total",
			Help: "Number of load balancers whose targets could not be updated after a change of nodes."}),
		nodeLatency: prometheus.NewHistogram(prometheus.HistogramOpts{Subsystem: providerSubsystem,
			Name:    "nodesync_latency_seconds",
			Help:    "Time from a change of nodes until all load balancers were synced, in seconds.",
			Buckets: providerBuckets()}),
		hostLatency: prometheus.NewHistogram(prometheus.HistogramOpts{Subsystem: providerSubsystem,
			Name:    "update_loadbalancer_host_latency_seconds",
			Help:    "Time to update the targets of one load balancer after a change of nodes, in seconds.",
			Buckets: providerBuckets()}),
	}
}

// targetsUpdated counts an update of the targets of a load balancer after a change of nodes.
func (m *metrics) targetsUpdated(took time.Duration, err error) {
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

// drifted counts the operations that revert drift.
func (m *metrics) drifted(plan cloud.Plan) {
	for _, operation := range plan {
		m.drift.WithLabelValues(string(operation.Verb), operation.Kind).Inc()
	}
}

// resultOf returns the result of a reconciliation with this error.
func resultOf(err error) string {
	switch {
	case err == nil:
		return resultDone
	case cloud.ReasonOf(err).Waits():
		return resultWaiting
	}
	return resultFailed
}

// Collectors are the controller's metrics. Services, targets and objects are counted for each scrape.
func (c *Controller) Collectors() []prometheus.Collector {
	m := c.metrics
	return []prometheus.Collector{m.duration, m.plans, m.writes, m.drift, m.lastCheck, m.syncs, m.nodeErrors,
		m.nodeLatency, m.hostLatency,
		workerpool.NewGauge(subsystem+"_load_balancers", "Number of Services, by the state of their load balancer as "+
			"the cloud names it. \"none\" if there is no load balancer. At most 20 states, and \"other\" for more.",
			"state", c.states.byState),
		workerpool.NewGauge(subsystem+"_orphans", "Number of objects in the cloud that belong to Services that do "+
			"not exist any more.", "kind", func() map[string]int { return byKind(c.orphanSet.objects()) }),
		workerpool.NewGauge(subsystem+"_foreign", "Number of objects in the cloud that have the key of this cluster "+
			"and the UID of another one.", "kind", func() map[string]int { return byKind(c.foreign.list()) }),
		workerpool.NewTotal(subsystem+"_targets", "Total number of targets of the load balancers of all Services.",
			func() (count int) {
				for _, seen := range c.states.seen() {
					count += seen.targets
				}
				return count
			}),
		workerpool.NewTotal(subsystem+"_drifted", "Number of Services whose load balancer was changed in the cloud "+
			"and is not repaired.", func() (count int) {
			for _, seen := range c.states.seen() {
				if seen.drifted {
					count++
				}
			}
			return count
		}),
	}
}

// Described returns the metrics of a controller without values, for documentation.
func Described() []prometheus.Collector {
	return (&Controller{reconciler: reconciler{metrics: newMetrics()}}).Collectors()
}

// maxStates bounds the values of the label state, whose words the cloud chooses.
const maxStates = 20

// byState counts the Services by the state of their load balancer. Those with a state beyond the first maxStates, in
// the order of the alphabet, are counted as "other".
func (s *stateStore) byState() map[string]int {
	count := map[string]int{}
	for _, seen := range s.seen() {
		count[seen.state]++
	}
	rest := 0
	for _, state := range slices.Sorted(maps.Keys(count))[min(maxStates, len(count)):] {
		rest += count[state]
		delete(count, state)
	}
	if rest > 0 {
		count["other"] += rest
	}
	return count
}

// byKind counts objects.
func byKind(objects []cloud.ManagedObject) map[string]int {
	count := map[string]int{}
	for _, object := range objects {
		count[object.Kind]++
	}
	return count
}
