package workerpool_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/thalassa-cloud/thalassa-ccm/src/controller/priorityqueue"
	"github.com/thalassa-cloud/thalassa-ccm/src/tracing"
)

// TestTrace: each key is an item with the name of the controller, and with what its queue says about it.
func TestTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := silent(t)
		defer cancel()
		spans := tracetest.NewInMemoryExporter()
		ctx = tracing.WithController(tracing.NewContext(ctx,
			sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))), "service")
		queue := priorityqueue.New("test", time.Second, time.Minute)
		queue.Enqueue("shop/web", priorityqueue.Urgent, 0)
		<-time.After(3 * time.Second)
		tries := 0
		ended := began(ctx, queue, 1, func(ctx context.Context, key string) {
			if tries++; tries == 1 {
				queue.Retry(key, 0)
			}
			_, span := tracing.Start(ctx, "apply")
			tracing.End(span, nil)
		})
		<-time.After(time.Minute)
		cancel()
		<-ended
		got := spans.GetSpans()
		if len(got) != 4 || got[0].Parent.SpanID() != got[1].SpanContext.SpanID() || got[1].Name != "service" {
			t.Fatalf("spans %v", got)
		}
		for at, want := range map[int][]attribute.KeyValue{
			1: {attribute.String("key", "shop/web"), attribute.Int("attempt", 1),
				attribute.String("priority", "urgent"), attribute.Float64("queued_seconds", 3)},
			3: {attribute.String("key", "shop/web"), attribute.Int("attempt", 2),
				attribute.String("priority", "urgent"), attribute.Float64("queued_seconds", 0)},
		} {
			if is, should := attribute.NewSet(got[at].Attributes...), attribute.NewSet(want...); !is.Equals(&should) {
				t.Errorf("attributes %v, want %v", got[at].Attributes, want)
			}
		}
	})
}
