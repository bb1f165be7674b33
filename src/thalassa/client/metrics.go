package client

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/thalassa-cloud/thalassa-ccm/src/tracing"
)

// metrics of all calls. The names of the first two are those that the in-tree providers of Kubernetes made customary.
type metrics struct {
	duration *prometheus.HistogramVec // by request
	failures *prometheus.CounterVec   // by request and reason
	retries  *prometheus.CounterVec   // by request
	bytes    *prometheus.CounterVec   // by request
	circuit  prometheus.Gauge
}

func newMetrics() *metrics {
	const namespace, subsystem = "cloudprovider", "thalassa"
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Subsystem: subsystem, Name: name,
			Help: help}, labels)
	}
	return &metrics{
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "api_request_duration_seconds",
			Help:    "Duration of requests to the Thalassa Cloud API in seconds, until the answer was read.",
			Buckets: []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30},
		}, []string{"request"}),
		failures: counter("api_request_errors", "Number of failed requests to the Thalassa Cloud API, by reason.",
			"request", "reason"),
		retries: counter("api_request_retries_total", "Number of retried requests to the Thalassa Cloud API.",
			"request"),
		bytes: counter("api_response_bytes_total",
			"Size of decompressed answers of the Thalassa Cloud API, in bytes.", "request"),
		circuit: prometheus.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Subsystem: subsystem,
			Name: "api_circuit_open",
			Help: "1 if requests are paused because the Thalassa Cloud API does not answer, otherwise 0."}),
	}
}

func (m *metrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.duration, m.failures, m.retries, m.bytes, m.circuit}
}

// observe counts one attempt.
func (m *metrics) observe(c *call, failure *Error, took time.Duration) {
	tracing.Observe(c.request.Context(), m.duration.WithLabelValues(c.operation), took.Seconds())
	m.bytes.WithLabelValues(c.operation).Add(float64(c.received))
	if failure != nil {
		m.failures.WithLabelValues(c.operation, c.reasonOf(failure)).Inc()
	}
}

// reasonOf is reasonOf, except that a missing permission that the process can do without does not speak against the
// credentials.
func (c *call) reasonOf(failure *Error) string {
	if isOptional(c.request.Context()) && errors.Is(failure.Kind, ErrForbidden) {
		return "no_permission"
	}
	return reasonOf(failure)
}

// reasonOf names the kind of a failure for metrics.
func reasonOf(failure *Error) string {
	if known, ok := errors.AsType[*kind](failure.Kind); ok {
		return known.reason
	}
	return "other"
}
