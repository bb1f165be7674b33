package emulator

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
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

func newMetrics(e *Emulator) *metrics {
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
	m.registry.MustRegister(m.requests, m.duration, m.inFlight, census{e})
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
		answer := &observed{ResponseWriter: w, status: unanswered}
		next.ServeHTTP(answer, r)
		m.duration.WithLabelValues(operation).Observe(time.Since(start).Seconds())
		m.requests.WithLabelValues(operation, answer.status).Inc()
		m.inFlight.Dec()
	})
}

// observed remembers the status of an answer.
type observed struct {
	http.ResponseWriter
	status string
}

// WriteHeader implements http.ResponseWriter.
func (o *observed) WriteHeader(status int) {
	o.status = strconv.Itoa(status)
	o.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (o *observed) Write(content []byte) (int, error) {
	if o.status == unanswered {
		o.WriteHeader(http.StatusOK)
	}
	return o.ResponseWriter.Write(content)
}

// Unwrap leads to the connection, which faults may want to drop.
func (o *observed) Unwrap() http.ResponseWriter { return o.ResponseWriter }

// census counts what the cloud has when it is asked.
type census struct{ emulator *Emulator }

func (census) objects() *prometheus.Desc {
	return prometheus.NewDesc("thalassa_emulator_objects", "Objects of all organisations, by kind.", []string{"kind"}, nil)
}

func (census) faults() *prometheus.Desc {
	return prometheus.NewDesc("thalassa_emulator_faults_fired_total", "Requests that a fault disturbed, by kind of fault.", []string{"kind"}, nil)
}

// Describe implements prometheus.Collector.
func (c census) Describe(out chan<- *prometheus.Desc) {
	out <- c.objects()
	out <- c.faults()
}

// Collect implements prometheus.Collector.
func (c census) Collect(out chan<- prometheus.Metric) {
	for kind, n := range c.emulator.objects() {
		out <- prometheus.MustNewConstMetric(c.objects(), prometheus.GaugeValue, float64(n), kind)
	}
	for kind, n := range c.emulator.faults.Fired() {
		out <- prometheus.MustNewConstMetric(c.faults(), prometheus.CounterValue, float64(n), string(kind))
	}
}

// objects counts the objects of all organisations.
func (e *Emulator) objects() map[string]int {
	e.store.mu.Lock()
	defer e.store.mu.Unlock()
	e.settle(time.Now())
	counts := map[string]int{"organisation": e.store.organisations.len(), "region": e.store.regions.len()}
	for org := range e.store.spaces() {
		counts["project"] += org.projects.len()
		counts["cloudInit"] += org.cloudInits.len()
		counts["peering"] += requestedPeerings(org)
		counts["filesystem"] += org.filesystems.len()
		counts["securityGroup"] += org.securityGroups.len()
		counts["reservedIp"] += org.reservedIPs.len()
		counts["natGateway"] += org.natGateways.len()
		counts["routeTable"] += org.routeTables.len()
		counts["vpc"] += org.vpcs.len()
		counts["subnet"] += org.subnets.len()
		counts["machine"] += org.machines.len()
		counts["loadbalancer"] += org.loadbalancers.len()
		counts["targetGroup"] += org.targetGroups.len()
		for v := range org.vpcs.all() {
			counts["firewallRule"] += v.firewall.len()
		}
		for lb := range org.loadbalancers.all() {
			counts["listener"] += len(lb.listeners)
		}
		for g := range org.targetGroups.all() {
			counts["attachment"] += g.attachments.len()
		}
	}
	return counts
}
