package manager

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/server/mux"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/controller-manager/pkg/clientbuilder"

	"github.com/thalassa-cloud/thalassa-ccm/src/tracing"
)

// TestWritesAreTraced: a write of a controller to the API server is a span, and a read is none.
func TestWritesAreTraced(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodDelete {
			w.WriteHeader(http.StatusForbidden)
		}
		_, _ = w.Write([]byte(`{"kind": "Node", "apiVersion": "v1", "metadata": {"name": "a"}}`))
	}))
	defer server.Close()
	builder := clientbuilder.SimpleControllerClientBuilder{ClientConfig: &rest.Config{Host: server.URL,
		ContentConfig: rest.ContentConfig{ContentType: "application/json"}}}
	client, err := tracedClients{builder}.Client("node-controller")
	if err != nil {
		t.Fatal(err)
	}
	spans, nodes := tracetest.NewInMemoryExporter(), client.CoreV1().Nodes()
	ctx := tracing.NewContext(t.Context(), sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)))
	write := func(ctx context.Context) {
		if _, err := nodes.Get(ctx, "a", metav1.GetOptions{}); err != nil {
			t.Error(err)
		}
		if _, err := nodes.Patch(ctx, "a", types.MergePatchType, []byte(`{}`), metav1.PatchOptions{},
			"status"); err != nil {
			t.Error(err)
		}
		if err := nodes.Delete(ctx, "a", metav1.DeleteOptions{}); !apierrors.IsForbidden(err) {
			t.Errorf("error %v", err)
		}
	}
	write(ctx) // beside items
	if got := spans.GetSpans(); len(got) > 0 {
		t.Errorf("spans beside items: %v", got)
	}
	item, _ := tracing.StartItem(ctx, "a")
	write(item)
	got := spans.GetSpans()
	if len(got) != 2 || got[0].Name != "patch nodes/status" || got[0].Status.Code != codes.Unset ||
		got[1].Name != "delete nodes" || got[1].Status.Code != codes.Error {
		t.Errorf("spans %v", got)
	}
}

// TestOpenMetrics: counters have the same names in both formats, and only clients that accept it get the new one.
func TestOpenMetrics(t *testing.T) {
	counter := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "tracing_test_errors", Help: "Test."},
		[]string{"a"})
	counter.WithLabelValues("b").Add(3)
	done, err := register(legacyregistry.Registerer(), []prometheus.Collector{counter})
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	paths := mux.NewPathRecorderMux("test")
	paths.Handle("/metrics", legacyregistry.Handler())
	serveExemplars(paths)
	for accept, want := range map[string]string{"": "text/plain", "text/plain": "text/plain",
		"application/openmetrics-text;version=1.0.0,text/plain;q=0.5": "application/openmetrics-text"} {
		answer, request := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/metrics", nil)
		request.Header.Set("Accept", accept)
		paths.ServeHTTP(answer, request)
		if kind := answer.Header().Get("Content-Type"); !strings.HasPrefix(kind, want) {
			t.Errorf("%q gets %q", accept, kind)
		}
		if !strings.Contains(answer.Body.String(), "\ntracing_test_errors{a=\"b\"} 3") {
			t.Errorf("%q gets the counter with another name", accept)
		}
	}
}
