// Package collector is an OpenTelemetry collector for tests: the receiver of the collector project, which keeps the
// spans that it receives.
//
//	c := collector.Start(t)
//	start("--tracing-endpoint=" + c.Endpoint)
//	for _, span := range c.Spans() {
package collector

import (
	"context"
	"net"
	"sync"
	"testing"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/trace/noop"
	"go.uber.org/zap"
)

// Collector keeps what it receives.
type Collector struct {
	// Endpoint is its URL, which is not encrypted.
	Endpoint string

	mu       sync.Mutex
	received []ptrace.Traces
}

// Span is a span that was received.
type Span struct {
	ptrace.Span
	// Resource describes the process.
	Resource map[string]any
	// Path are the names of its ancestors and of itself, from the first one on. An ancestor that was not received is
	// "?".
	Path []string
}

// host is a collector without extensions.
type host struct{}

// GetExtensions implements component.Host.
func (host) GetExtensions() map[component.ID]component.Component { return nil }

// Start starts a collector on a loopback address. It ends with the test.
func Start(tb testing.TB) *Collector {
	tb.Helper()
	address := freeAddress(tb)
	c := &Collector{Endpoint: "http://" + address}
	factory := otlpreceiver.NewFactory()
	config := factory.CreateDefaultConfig().(*otlpreceiver.Config)
	config.Protocols.GRPC.GetOrInsertDefault().NetAddr.Endpoint = address
	config.Protocols.HTTP = configoptional.None[otlpreceiver.HTTPConfig]()
	keep, err := consumer.NewTraces(c.keep)
	must(tb, err)
	made, err := factory.CreateTraces(tb.Context(), receiver.Settings{ID: component.NewID(factory.Type()),
		TelemetrySettings: component.TelemetrySettings{Logger: zap.NewNop(), TracerProvider: noop.NewTracerProvider(),
			MeterProvider: metricnoop.NewMeterProvider()}}, config, keep)
	must(tb, err)
	must(tb, made.Start(tb.Context(), host{}))
	tb.Cleanup(func() { must(tb, made.Shutdown(context.Background())) }) // the test's own context has ended
	return c
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// freeAddress is an address of this machine where nothing listens at the moment: the receiver does not tell its port.
func freeAddress(tb testing.TB) string {
	tb.Helper()
	listener, err := new(net.ListenConfig).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	must(tb, err)
	defer listener.Close()
	return listener.Addr().String()
}

func (c *Collector) keep(_ context.Context, traces ptrace.Traces) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	kept := ptrace.NewTraces()
	traces.CopyTo(kept)
	c.received = append(c.received, kept)
	return nil
}

// Spans returns all spans that were received.
func (c *Collector) Spans() []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []Span
	for _, traces := range c.received {
		for _, resource := range traces.ResourceSpans().All() {
			for _, scope := range resource.ScopeSpans().All() {
				for _, span := range scope.Spans().All() {
					all = append(all, Span{Span: span, Resource: resource.Resource().Attributes().AsRaw()})
				}
			}
		}
	}
	byID := map[[8]byte]ptrace.Span{}
	for _, span := range all {
		byID[span.SpanID()] = span.Span
	}
	for i := range all {
		all[i].Path = pathOf(all[i].Span, byID)
	}
	return all
}

func pathOf(span ptrace.Span, byID map[[8]byte]ptrace.Span) []string {
	if span.ParentSpanID().IsEmpty() {
		return []string{span.Name()}
	}
	parent, known := byID[span.ParentSpanID()]
	if !known || parent.TraceID() != span.TraceID() {
		return []string{"?", span.Name()}
	}
	return append(pathOf(parent, byID), span.Name())
}

// Bytes returns all that was received, encoded.
func (c *Collector) Bytes() ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []byte
	for _, traces := range c.received {
		encoded, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(traces)
		if err != nil {
			return nil, err
		}
		all = append(all, encoded...)
	}
	return all, nil
}
