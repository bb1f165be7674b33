package tracing_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/thalassa-cloud/thalassa-ccm/src/tracing"
)

// recorded returns a context in which items are traced, and what is recorded.
func recorded(t *testing.T, sampled bool) (context.Context, *tracetest.InMemoryExporter) {
	t.Helper()
	spans := tracetest.NewInMemoryExporter()
	sampler := sdktrace.NeverSample()
	if sampled {
		sampler = sdktrace.AlwaysSample()
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans), sdktrace.WithSampler(sampler))
	return tracing.WithController(tracing.NewContext(t.Context(), provider), "service"), spans
}

func request(ctx context.Context, t *testing.T) *http.Request {
	t.Helper()
	made, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://cloud.test/v1/vpcs/vpc-1?token=s3cret", nil)
	if err != nil {
		t.Fatal(err)
	}
	made.Header.Set("Authorization", "s3cret")
	return made
}

// TestNothingIsAllocated without a provider, for an item that is not sampled, and beside items.
func TestNothingIsAllocated(t *testing.T) {
	histogram, failure := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "test"}), errors.New("failed")
	notSampled, spans := recorded(t, false)
	beside := notSampled
	notSampled, _ = tracing.StartItem(notSampled, "shop/web")
	for name, ctx := range map[string]context.Context{
		"without a provider": t.Context(), "not sampled": notSampled, "beside items": beside,
	} {
		sent := request(ctx, t)
		if allocations := testing.AllocsPerRun(100, func() {
			if name == "without a provider" {
				_, item := tracing.StartItem(ctx, "shop/web")
				tracing.End(item, failure)
			}
			child, span := tracing.Start(ctx, "write", attribute.String("verb", "create"), attribute.Int("count", 3))
			same, call := tracing.StartRequest(sent, "POST", "/v1/vpcs/{id}")
			tracing.Retry(call, 2, "unavailable")
			tracing.EndRequest(call, 503, failure)
			tracing.Fail(child, failure)
			tracing.Link(child, trace.SpanContext{})
			tracing.Observe(child, histogram, 1)
			tracing.End(span, failure)
			if child != ctx || same != sent || tracing.ID(child) != "" || tracing.Recorded(child) {
				t.Error("something is recorded")
			}
		}); allocations != 0 {
			t.Errorf("%s: %v allocations", name, allocations)
		}
	}
	if len(spans.GetSpans()) > 0 {
		t.Errorf("%d spans", len(spans.GetSpans()))
	}
}

// TestSpans: an item is a trace, with its work and its requests as children, and without secrets.
func TestSpans(t *testing.T) {
	ctx, spans := recorded(t, true)
	ctx, item := tracing.StartItem(ctx, "shop/web")
	apply, span := tracing.Start(ctx, "apply", attribute.Int("operations", 1))
	sent, call := tracing.StartRequest(request(apply, t), "POST", "/v1/vpcs/{id}")
	if tracing.ID(sent.Context()) != item.SpanContext().TraceID().String() {
		t.Error("the request is in another trace")
	}
	tracing.Retry(call, 1, "throttled")
	tracing.EndRequest(call, 409, nil)
	tracing.End(span, errors.New(strings.Repeat("ä", tracing.MaxText)))
	tracing.Fail(ctx, errors.New("it failed"))
	tracing.End(item, nil)

	got := spans.GetSpans()
	if len(got) != 3 || got[0].Name != "POST /v1/vpcs/{id}" || got[1].Name != "apply" || got[2].Name != "service" {
		t.Fatalf("spans %v", got)
	}
	for at := range 2 {
		if got[at].Parent.SpanID() != got[at+1].SpanContext.SpanID() {
			t.Errorf("the parent of %s is not %s", got[at].Name, got[at+1].Name)
		}
	}
	for at, want := range []string{"Conflict", strings.Repeat("ä", tracing.MaxText/2), "it failed"} {
		if is := got[at].Status; is.Code != codes.Error || is.Description != want {
			t.Errorf("the status of %s is %v %q", got[at].Name, is.Code, is.Description)
		}
	}
	want := []attribute.KeyValue{attribute.String("http.request.method", "POST"),
		attribute.String("server.address", "cloud.test"), attribute.String("verb", "POST"),
		attribute.String("resource", "/v1/vpcs/{id}"), attribute.Int("http.request.resend_count", 1),
		attribute.Int("http.response.status_code", 409)}
	if is, should := attribute.NewSet(got[0].Attributes...), attribute.NewSet(want...); !is.Equals(&should) {
		t.Errorf("attributes %v", got[0].Attributes)
	}
	if len(got[0].Events) != 1 || got[0].Events[0].Name != "retry" {
		t.Errorf("events %v", got[0].Events)
	}
}

// TestLateWork: work that goes on after its item adds nothing to the trace.
func TestLateWork(t *testing.T) {
	ctx, spans := recorded(t, true)
	ctx, item := tracing.StartItem(ctx, "shop/web")
	item.End()
	_, late := tracing.Start(ctx, "late")
	tracing.End(late, nil)
	if got := spans.GetSpans(); len(got) != 1 {
		t.Errorf("spans %v", got)
	}
}

// TestLink: an item that waits for the read of another one is linked to it, and not to itself.
func TestLink(t *testing.T) {
	all, spans := recorded(t, true)
	_, first := tracing.StartItem(all, "shop/first")
	ctx, second := tracing.StartItem(all, "shop/second")
	tracing.Link(ctx, first.SpanContext())
	tracing.Link(ctx, second.SpanContext())
	second.End()
	links := spans.GetSpans()[0].Links
	if len(links) != 1 || links[0].SpanContext.TraceID() != first.SpanContext().TraceID() {
		t.Errorf("links %v", links)
	}
}

func TestExemplar(t *testing.T) {
	ctx, _ := recorded(t, true)
	ctx, _ = tracing.StartItem(ctx, "shop/web")
	histogram := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "test", Buckets: []float64{1}})
	tracing.Observe(t.Context(), histogram, 0.25)
	tracing.Observe(ctx, histogram, 0.5)
	var metric dto.Metric
	if err := histogram.Write(&metric); err != nil {
		t.Fatal(err)
	}
	exemplar := metric.GetHistogram().GetBucket()[0].GetExemplar()
	if metric.GetHistogram().GetSampleCount() != 2 || exemplar.GetValue() != 0.5 ||
		exemplar.GetLabel()[0].GetName() != "trace_id" || exemplar.GetLabel()[0].GetValue() != tracing.ID(ctx) {
		t.Errorf("metric %v", &metric)
	}
}
