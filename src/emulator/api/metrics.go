package api

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/state"
)

// unanswered is the status of requests whose connection was dropped.
const unanswered = "none"

// metrics are what GET /_emulator/metrics says about the API's requests.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	inFlight prometheus.Gauge
}

func newMetrics(srv *Server) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "thalassa_emulator_requests_total",
			Help: `Requests to the API that ended, by operation and status; status "none" means that the connection was dropped.`,
		}, []string{"operation", "status"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "thalassa_emulator_request_duration_seconds",
			Help:    "How long requests to the API took, by operation.",
			Buckets: []float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.25, 1, 2.5, 10, 60},
		}, []string{"operation"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "thalassa_emulator_requests_in_flight", Help: "Requests to the API that are being answered.",
		}),
	}
	m.registry.MustRegister(m.requests, m.duration, m.inFlight, objectCounts{srv})
	return m
}

// handler serves the metrics in Prometheus' formats.
func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// observe measures the requests of an operation.
func (m *metrics) observe(operation string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.inFlight.Inc()
		start := time.Now()
		answer := &observed{ResponseWriter: w}
		next.ServeHTTP(answer, r)
		m.duration.WithLabelValues(operation).Observe(time.Since(start).Seconds())
		m.requests.WithLabelValues(operation, answer.label()).Inc()
		m.inFlight.Dec()
	})
}

// observed records the status of an answer; 0: there is none.
type observed struct {
	http.ResponseWriter
	status int
}

func (o *observed) label() string {
	if o.status == 0 {
		return unanswered
	}
	return strconv.Itoa(o.status)
}

// WriteHeader implements http.ResponseWriter.
func (o *observed) WriteHeader(status int) {
	o.status = status
	o.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (o *observed) Write(content []byte) (int, error) {
	if o.status == 0 {
		o.WriteHeader(http.StatusOK)
	}
	return o.ResponseWriter.Write(content)
}

// Unwrap leads to the connection, which faults may want to drop.
func (o *observed) Unwrap() http.ResponseWriter { return o.ResponseWriter }

// objectCounts counts what the cloud has when it is asked.
type objectCounts struct{ server *Server }

func (objectCounts) objects() *prometheus.Desc {
	return prometheus.NewDesc("thalassa_emulator_objects", "Objects of all organisations, by kind.", []string{"kind"},
		nil)
}

func (objectCounts) faults() *prometheus.Desc {
	return prometheus.NewDesc("thalassa_emulator_faults_fired_total",
		"Requests that a fault disturbed, by kind of fault.", []string{"kind"}, nil)
}

// Describe implements prometheus.Collector.
func (c objectCounts) Describe(out chan<- *prometheus.Desc) {
	out <- c.objects()
	out <- c.faults()
}

// Collect implements prometheus.Collector.
func (c objectCounts) Collect(out chan<- prometheus.Metric) {
	for kind, n := range c.server.Objects() {
		out <- prometheus.MustNewConstMetric(c.objects(), prometheus.GaugeValue, float64(n), kind)
	}
	for kind, n := range c.server.Faults.Fired() {
		out <- prometheus.MustNewConstMetric(c.faults(), prometheus.CounterValue, float64(n), string(kind))
	}
}

// Objects counts the objects of all organisations, by kind.
func (srv *Server) Objects() map[string]int {
	srv.Store.Lock()
	defer srv.Store.Unlock()
	srv.ApplyDue(time.Now())
	counts := map[string]int{"organisation": srv.Store.Organisations.Len(), "region": srv.Store.Regions.Len()}
	for org := range srv.Store.Spaces() {
		for kind, n := range org.Directory.Counts() {
			counts[kind] += n
		}
		counts["project"] += org.Projects.Len()
		counts["cloudInit"] += org.CloudInits.Len()
		counts["peering"] += state.RequestedPeerings(org)
		counts["filesystem"] += org.Filesystems.Len()
		counts["volume"] += org.Volumes.Len()
		counts["snapshot"] += org.Snapshots.Len()
		counts["snapshotPolicy"] += org.SnapshotPolicies.Len()
		counts["securityGroup"] += org.SecurityGroups.Len()
		counts["reservedIp"] += org.ReservedIPs.Len()
		counts["natGateway"] += org.NATGateways.Len()
		counts["routeTable"] += org.RouteTables.Len()
		counts["bucket"] += org.Buckets.Len()
		counts["kubernetesCluster"] += org.Clusters.Len()
		for k := range org.Clusters.All() {
			counts["nodePool"] += k.Pools.Len()
		}
		counts["vpc"] += org.VPCs.Len()
		counts["subnet"] += org.Subnets.Len()
		counts["machine"] += org.Machines.Len()
		counts["loadbalancer"] += org.Loadbalancers.Len()
		counts["targetGroup"] += org.TargetGroups.Len()
		for v := range org.VPCs.All() {
			counts["firewallRule"] += v.Firewall.Len()
		}
		for lb := range org.Loadbalancers.All() {
			counts["listener"] += len(lb.Listeners)
		}
		for g := range org.TargetGroups.All() {
			counts["attachment"] += g.Attachments.Len()
		}
	}
	return counts
}

// MetricsHandler serves the metrics of the API's requests.
func (srv *Server) MetricsHandler() http.Handler { return srv.metrics.handler() }
