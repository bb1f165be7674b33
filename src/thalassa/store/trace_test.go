package store

import (
	"testing"
	"testing/synctest"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/thalassa-cloud/thalassa-ccm/src/tracing"
)

// TestSharedListIsLinked: an item that waits for the list of another item is linked to that one.
func TestSharedListIsLinked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spans := tracetest.NewInMemoryExporter()
		ctx := tracing.NewContext(t.Context(), sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)))
		shared := new(shelf).kind()
		read := func(key string) {
			item, span := tracing.StartItem(ctx, key)
			defer span.End()
			if _, err := shared.All(item, time.Minute); err != nil {
				t.Error(err)
			}
		}
		go read("first")
		synctest.Wait()
		go read("second")
		<-time.After(2 * time.Second)
		read("later") // which takes it from the cache
		got := map[string]tracetest.SpanStub{}
		for _, span := range spans.GetSpans() {
			got[span.Attributes[0].Value.AsString()] = span
		}
		links := got["second"].Links
		if len(links) != 1 || !links[0].SpanContext.Equal(got["first"].SpanContext) {
			t.Errorf("the links of the second are %v", links)
		}
		if len(got["first"].Links) > 0 || len(got["later"].Links) > 0 {
			t.Errorf("links %v and %v", got["first"].Links, got["later"].Links)
		}
	})
}
