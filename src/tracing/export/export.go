// Package export sends spans to a collector by OTLP over gRPC. A collector that does not answer delays nothing: spans
// wait in a queue of limited size, and are dropped when it is full.
package export

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/tracing"
)

// Everything is the sampling rate at which all items are traced.
const Everything = 1_000_000

// StopTimeout is the longest time that Stop takes.
const StopTimeout = 2 * time.Second

// Options describe the collector, and this process to it.
type Options struct {
	// Endpoint is HOST:PORT of the collector, or a URL: http is not encrypted. "" disables tracing.
	Endpoint string
	// PerMillion is how many of a million items are traced.
	PerMillion int32
	// Service and Version name the program. Cluster is the name of the cluster, or "".
	Service, Version, Cluster string
}

// Enabled reports whether spans are sent.
func (o Options) Enabled() bool { return o.Endpoint != "" }

// Validate returns what is wrong with the endpoint and the rate.
func (o Options) Validate() error {
	if o.PerMillion < 0 || o.PerMillion > Everything {
		return fmt.Errorf("--tracing-sampling-rate-per-million is %d: set 0 to %d", o.PerMillion, Everything)
	}
	if !o.Enabled() {
		return nil
	}
	host, err := hostOf(o.Endpoint)
	if err == nil {
		_, _, err = net.SplitHostPort(host)
	}
	if err != nil {
		return fmt.Errorf("--tracing-endpoint: %w; set HOST:PORT, or http://HOST:PORT without encryption", err)
	}
	return nil
}

// hostOf returns host and port of an endpoint.
func hostOf(endpoint string) (string, error) {
	if !strings.Contains(endpoint, "://") {
		return endpoint, nil
	}
	address, err := url.Parse(endpoint)
	switch {
	case err != nil:
		return "", errors.New("it is no URL") // the error of the library contains it, perhaps with a password
	case address.Scheme != "http" && address.Scheme != "https":
		return "", fmt.Errorf("the scheme %q is unknown", address.Scheme)
	case address.User != nil || strings.Trim(address.Path, "/") != "" || address.RawQuery != "":
		return "", errors.New("the URL may have only a scheme, a host and a port")
	}
	return address.Host, nil
}

// Provider makes the spans of this process and sends them.
type Provider struct {
	*sdktrace.TracerProvider
	exporter *exporter
}

// New returns a provider. It sends nothing yet. Headers, certificates and timeouts are those of the environment
// variables OTEL_EXPORTER_OTLP_*.
func New(ctx context.Context, o Options) (*Provider, error) {
	described, err := o.resource(ctx)
	if err != nil {
		return nil, fmt.Errorf("describing this process in traces: reading OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	endpoint := otlptracegrpc.WithEndpoint(o.Endpoint)
	if strings.Contains(o.Endpoint, "://") {
		endpoint = otlptracegrpc.WithEndpointURL(o.Endpoint)
	}
	otlp, err := otlptracegrpc.New(ctx, endpoint)
	if err != nil {
		return nil, fmt.Errorf("preparing to send traces to %s: %w", o.Endpoint, err)
	}
	limits := sdktrace.NewSpanLimits()
	limits.AttributeValueLengthLimit = tracing.MaxText
	sending := &exporter{SpanExporter: otlp, logger: klog.FromContext(ctx), endpoint: o.Endpoint}
	return &Provider{exporter: sending, TracerProvider: sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(sending), sdktrace.WithResource(described), sdktrace.WithRawSpanLimits(limits),
		sdktrace.WithSampler(sdktrace.TraceIDRatioBased(float64(o.PerMillion)/Everything)),
	)}, nil
}

// resource describes the process. The environment variables of OpenTelemetry come before the options.
func (o Options) resource(ctx context.Context) (*resource.Resource, error) {
	known := []attribute.KeyValue{
		attribute.String("service.name", o.Service), attribute.String("service.version", o.Version),
	}
	if o.Cluster != "" {
		known = append(known, attribute.String("k8s.cluster.name", o.Cluster))
	}
	return resource.New(ctx, resource.WithAttributes(known...), resource.WithTelemetrySDK(), resource.WithFromEnv())
}

// Stop sends the spans that wait, and drops those that are not sent within StopTimeout.
func (p *Provider) Stop(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), StopTimeout)
	defer cancel()
	if p.Shutdown(ctx) == nil {
		return
	}
	p.exporter.logger.Info("Some traces were not sent before the end", "endpoint", p.exporter.endpoint)
	// It cancels what is being sent, because the time is over. The error is that time.
	_ = p.exporter.Shutdown(ctx)
}

// exporter logs when sending begins to fail and when it works again, and not each failure.
type exporter struct {
	sdktrace.SpanExporter
	logger   klog.Logger
	endpoint string
	failing  atomic.Bool
}

// ExportSpans sends spans. It returns no error, because the library would log each.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := e.SpanExporter.ExportSpans(ctx, spans)
	switch failed := err != nil; {
	case failed == e.failing.Swap(failed):
	case failed:
		e.logger.Error(err, "Traces cannot be sent and are dropped until they can", "endpoint", e.endpoint)
	default:
		e.logger.Info("Traces are sent again", "endpoint", e.endpoint)
	}
	return nil
}
