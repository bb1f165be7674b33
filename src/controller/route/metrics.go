package route

import (
	"github.com/prometheus/client_golang/prometheus"
)

// subsystem begins the names of this controller's own metrics, librarySubsystem those of the library's.
const (
	subsystem        = "node_route"
	librarySubsystem = "route_controller"
)

// Outcomes of a sync, as values of a label of the library's metric.
const (
	outcomeChanged = "changed"
	outcomeNoop    = "noop"
	outcomeError   = "error"
)

// metrics are the controller's Prometheus metrics.
type metrics struct {
	syncs  *prometheus.CounterVec // has the name in the library
	writes *prometheus.CounterVec
	drift  prometheus.Counter
	routes *prometheus.GaugeVec
	latest prometheus.Gauge
	// missing is the number of Nodes that lack a route.
	missing prometheus.Gauge
}

func newMetrics() *metrics {
	return &metrics{
		syncs: prometheus.NewCounterVec(prometheus.CounterOpts{Subsystem: librarySubsystem, Name: "route_sync_total",
			Help: "Number of comparisons of the cloud's routes with the Nodes, by trigger (periodic, node_change or " +
				"cloud_change) and outcome (changed, noop or error)."},
			[]string{"outcome", "trigger"}),
		writes: prometheus.NewCounterVec(prometheus.CounterOpts{Subsystem: subsystem, Name: "writes_total",
			Help: "Number of writes of routes to the cloud."}, []string{"verb", "result"}),
		drift: prometheus.NewCounter(prometheus.CounterOpts{Subsystem: subsystem, Name: "drift_total",
			Help: "Number of needed routes that another program or user deleted."}),
		routes: prometheus.NewGaugeVec(prometheus.GaugeOpts{Subsystem: subsystem, Name: "routes",
			Help: "Number of routes after the last comparison and its writes, by state: in place, missing, left " +
				"over, or foreign (in the cluster's networks, but not managed)."}, []string{"state"}),
		latest: prometheus.NewGauge(prometheus.GaugeOpts{Subsystem: subsystem, Name: "resync_timestamp_seconds",
			Help: "Time at which the cloud's routes were last compared with the Nodes, as a Unix timestamp in " +
				"seconds. 0 before the first comparison."}),
		missing: prometheus.NewGauge(prometheus.GaugeOpts{Subsystem: subsystem, Name: "nodes_without_route",
			Help: "Number of Nodes without a route to their pods at the last comparison. If the comparison failed, " +
				"Nodes whose routes are unknown count, too."}),
	}
}

// countSync counts a sync.
func (m *metrics) countSync(trigger string, changed bool, err error, failed bool) {
	result := outcomeNoop
	switch {
	case err != nil || failed:
		result = outcomeError
	case changed:
		result = outcomeChanged
	}
	m.syncs.WithLabelValues(result, trigger).Inc()
	if err == nil {
		m.latest.SetToCurrentTime()
	}
}

// countWrite counts a write to the cloud.
func (m *metrics) countWrite(v verb, err error) {
	result := "done"
	if err != nil {
		result = "failed"
	}
	m.writes.WithLabelValues(string(v), result).Inc()
}

// setRoutes sets the number of routes after the writes of a sync.
func (m *metrics) setRoutes(p plan, result *outcome) {
	result.mu.Lock()
	defer result.mu.Unlock()
	planned := map[verb]int{}
	for _, operations := range p.additions {
		for _, o := range operations {
			planned[o.verb]++
		}
	}
	made := result.done[create] + result.done[change]
	for state, count := range map[string]int{
		"in-place": p.keptCount - planned[change] + made, "missing": planned[create] + planned[change] - made,
		"left-over": len(p.removals) - result.done[remove], "foreign": len(p.unmanaged),
	} {
		m.routes.WithLabelValues(state).Set(float64(count))
	}
	m.missing.Set(float64(result.missing))
}

// Collectors are the controller's metrics.
func (c *Controller) Collectors() []prometheus.Collector { return c.metrics.all() }

func (m *metrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.syncs, m.writes, m.drift, m.routes, m.latest, m.missing}
}

// Described returns the metrics of a Controller without values, to describe them.
func Described() []prometheus.Collector { return newMetrics().all() }
