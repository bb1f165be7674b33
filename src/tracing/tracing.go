// Package tracing creates OpenTelemetry spans of the work of this process: one trace for each item of a queue, with the
// requests and writes that are made for it.
//
//	ctx = tracing.NewContext(ctx, provider)        // once, in the process
//	ctx = tracing.WithController(ctx, "service")   // once in each controller
//	ctx, span := tracing.StartItem(ctx, key)       // in the worker pool
//	ctx, span := tracing.Start(ctx, "apply")       // wherever the item is processed
//
// The provider is in the context, and nowhere else. Without one, and for an item that is not sampled, nothing is
// recorded and nothing is allocated. Spans never contain bodies, headers or credentials.
//
// The audit log is made here, too: Write logs each write to a cloud in one line.
package tracing

import (
	"context"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// scope is the name of the instrumentation in spans.
const scope = "github.com/thalassa-cloud/thalassa-ccm/src/tracing"

// MaxText is the largest length of a text in a span.
const MaxText = 256

// origin is what items start from: the provider and the controller, as a span that is never recorded.
type origin struct {
	noop.Span
	provider   trace.TracerProvider
	controller string
}

// NewContext returns a context in which items are traced.
func NewContext(ctx context.Context, provider trace.TracerProvider) context.Context {
	return trace.ContextWithSpan(ctx, &origin{provider: provider})
}

// WithController returns a context in which the traces of items have the name of a controller.
func WithController(ctx context.Context, name string) context.Context {
	from, traced := trace.SpanFromContext(ctx).(*origin)
	if !traced {
		return ctx
	}
	return trace.ContextWithSpan(ctx, &origin{provider: from.provider, controller: name})
}

// StartItem starts the trace of an item of a queue. The caller ends the span.
func StartItem(ctx context.Context, key string) (context.Context, trace.Span) {
	from, traced := trace.SpanFromContext(ctx).(*origin)
	if !traced {
		return ctx, noop.Span{}
	}
	return from.provider.Tracer(scope).Start(ctx, from.controller, trace.WithAttributes(attribute.String("key", key)))
}

// Start starts a child of the span in ctx, if that is recorded. Otherwise it returns ctx, and a span that is not
// recorded. The caller ends the span with [End].
func Start(ctx context.Context, name string, attributes ...attribute.KeyValue) (context.Context, trace.Span) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return ctx, parent
	}
	// The clone keeps the attributes of a call that records nothing on the stack.
	return parent.TracerProvider().Tracer(scope).Start(ctx, name, trace.WithAttributes(slices.Clone(attributes)...))
}

// End ends a span. An error is its status.
func End(span trace.Span, err error) {
	if !span.IsRecording() {
		return
	}
	fail(span, err)
	span.End()
}

// Fail records that the work of the span in ctx failed, if it is recorded.
func Fail(ctx context.Context, err error) {
	if span := trace.SpanFromContext(ctx); span.IsRecording() {
		fail(span, err)
	}
}

func fail(span trace.Span, err error) {
	if err != nil {
		span.SetStatus(codes.Error, shortened(err.Error()))
	}
}

// shortened returns the beginning of a text.
func shortened(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), MaxText)], "")
}

// Link links the span in ctx to work that another item started, and that both wait for.
func Link(ctx context.Context, other trace.SpanContext) {
	span := trace.SpanFromContext(ctx)
	if other.IsSampled() && span.IsRecording() && other.TraceID() != span.SpanContext().TraceID() {
		span.AddLink(trace.Link{SpanContext: other})
	}
}

// ID returns the ID of the trace in ctx; "" if it is not recorded.
func ID(ctx context.Context) string {
	if in := trace.SpanContextFromContext(ctx); in.IsSampled() {
		return in.TraceID().String()
	}
	return ""
}

// Observe adds a value to a histogram, with the trace in ctx as its exemplar if it is recorded.
func Observe(ctx context.Context, histogram prometheus.Observer, value float64) {
	id := ID(ctx)
	with, able := histogram.(prometheus.ExemplarObserver)
	if id == "" || !able {
		histogram.Observe(value)
		return
	}
	with.ObserveWithExemplar(value, prometheus.Labels{"trace_id": id})
}

// Recorded reports whether the span in ctx is recorded.
func Recorded(ctx context.Context) bool { return trace.SpanFromContext(ctx).IsRecording() }
