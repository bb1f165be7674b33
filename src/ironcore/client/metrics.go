package client

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/thalassa-cloud/thalassa-ccm/src/tracing"
)

// metrics of all requests.
type metrics struct {
	duration *prometheus.HistogramVec // by verb and resource
	failures *prometheus.CounterVec   // by verb, resource and code
}

func newMetrics() *metrics {
	const namespace, subsystem = "cloudprovider", "ironcore"
	return &metrics{
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "api_request_duration_seconds",
			Help: "Duration of requests to the IronCore API in seconds, until the answer was read, without watches " +
				"and without the time in the queue of the rate limit.",
			Buckets: []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30},
		}, []string{"verb", "resource"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "api_request_errors",
			Help: "Number of failed requests to the IronCore API, by code: the HTTP status, timeout (no answer in " +
				"time) or unreachable.",
		}, []string{"verb", "resource", "code"}),
	}
}

func (m *metrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.duration, m.failures}
}

// observe counts one request. The status is 0 if there was no answer.
func (m *metrics) observe(ctx context.Context, o operation, status int, err error, took time.Duration) {
	if !o.watch() {
		tracing.Observe(ctx, m.duration.WithLabelValues(o.verb, o.resource), took.Seconds())
	}
	if code := codeOf(status, err); code != "" {
		m.failures.WithLabelValues(o.verb, o.resource, code).Inc()
	}
}

// codeOf is the code of a failure, or "" for a success.
func codeOf(status int, err error) string {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case err != nil:
		return "unreachable"
	case status >= http.StatusBadRequest:
		return strconv.Itoa(status)
	}
	return ""
}
