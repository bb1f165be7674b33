package client

import (
	"net/http"
	"testing"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/tracing"
)

// TestTrace: a request is a span, which has an error if the request failed, whether there was an answer or not.
func TestTrace(t *testing.T) {
	for name, tt := range map[string]struct {
		status int
		err    error
		code   codes.Code
	}{
		"success":   {http.StatusOK, nil, codes.Unset},
		"refused":   {http.StatusForbidden, nil, codes.Error},
		"no answer": {0, errDown, codes.Error},
	} {
		t.Run(name, func(t *testing.T) {
			c, s := newClient(t)
			s.set(tt.status, tt.err)
			spans := tracetest.NewInMemoryExporter()
			ctx := tracing.NewContext(t.Context(), sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)))
			ctx, _ = tracing.StartItem(ctx, "shop/web")
			if _, err := c.Networks.Get(ctx, "net-1", metav1.GetOptions{}); (err == nil) != (tt.code == codes.Unset) {
				t.Errorf("error %v", err)
			}
			got := spans.GetSpans()
			if len(got) != 1 || got[0].Name != "get networks" || got[0].Status.Code != tt.code ||
				!got[0].Parent.IsValid() {
				t.Errorf("spans %v", got)
			}
		})
	}
}
