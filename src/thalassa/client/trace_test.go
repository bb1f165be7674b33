package client

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/thalassa-cloud/client-go/iaas"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/thalassa-cloud/thalassa-ccm/src/tracing"
)

// TestTrace: a call is one span, with its retries, and the audit log has the ID of its trace.
func TestTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		ctx := klog.NewContext(t.Context(), textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&log))))
		s := &script{answers: []func(http.ResponseWriter, *http.Request){
			answer(429, `{}`), answer(201, `{"identity": "lb-1"}`), answer(404, `{"message": "no such thing"}`),
			answer(204, ``),
		}}
		c := s.client(t)
		spans := tracetest.NewInMemoryExporter()
		items := tracing.NewContext(ctx, sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)))
		traced, item := tracing.StartItem(items, "shop/web")
		if _, err := Post[iaas.VpcLoadbalancer](traced, c, iaas.LoadbalancerEndpoint,
			iaas.CreateLoadbalancer{Name: "s3cret"}); err != nil {
			t.Fatal(err)
		}
		if _, err := Get[iaas.Vpc](traced, c, iaas.VpcEndpoint+"/vpc-1"); err == nil {
			t.Fatal("no error")
		}
		if err := Delete(ctx, c, iaas.LoadbalancerEndpoint+"/lb-1"); err != nil { // not traced
			t.Fatal(err)
		}
		got := spans.GetSpans()
		if len(got) != 2 || got[0].Name != "POST /v1/loadbalancers" || got[1].Name != "GET /v1/vpcs/{id}" {
			t.Fatalf("spans %v", got)
		}
		attributes := attribute.NewSet(got[0].Attributes...)
		if retries, _ := attributes.Value("http.request.resend_count"); retries.AsInt64() != 1 ||
			got[0].Status.Code != codes.Unset {
			t.Errorf("attributes %v, status %v", got[0].Attributes, got[0].Status)
		}
		if got[1].Status.Code != codes.Error || !strings.Contains(got[1].Status.Description, "no such thing") {
			t.Errorf("status %v", got[1].Status)
		}
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		id := ` traceID="` + item.SpanContext().TraceID().String() + `"`
		if len(lines) != 2 || !strings.Contains(lines[0], id) || strings.Contains(lines[1], "traceID") {
			t.Errorf("the audit log, want %s in the first line only:\n%s", id, log.String())
		}
	})
}
