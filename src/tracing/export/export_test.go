package export_test

import (
	"bytes"
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	collectorv1 "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/thalassa-cloud/thalassa-ccm/src/tracing"
	"github.com/thalassa-cloud/thalassa-ccm/src/tracing/export"
)

// server is a collector that answers as the function does.
type server struct {
	collectorv1.UnimplementedTraceServiceServer
	answer func(context.Context, *collectorv1.ExportTraceServiceRequest)
}

// Export implements the service.
func (s server) Export(ctx context.Context, sent *collectorv1.ExportTraceServiceRequest) (
	*collectorv1.ExportTraceServiceResponse, error) {
	s.answer(ctx, sent)
	return &collectorv1.ExportTraceServiceResponse{}, ctx.Err()
}

// serve starts a collector, and returns its URL.
func serve(t *testing.T, answer func(context.Context, *collectorv1.ExportTraceServiceRequest)) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := grpc.NewServer()
	collectorv1.RegisterTraceServiceServer(served, server{answer: answer})
	ended := make(chan error, 1)
	go func() { ended <- served.Serve(listener) }()
	t.Cleanup(func() {
		served.Stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return "http://" + listener.Addr().String()
}

// log is a log that can be read.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), text)
}

func (l *log) in(ctx context.Context) context.Context {
	return klog.NewContext(ctx, textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(l))))
}

// trace traces so many items.
func trace(ctx context.Context, p *export.Provider, items int) {
	ctx = tracing.WithController(tracing.NewContext(ctx, p), "service")
	for range items {
		work, item := tracing.StartItem(ctx, strings.Repeat("x", 2*tracing.MaxText))
		_, span := tracing.Start(work, "write", attribute.String("verb", "create"))
		tracing.End(span, nil)
		item.End()
	}
}

// TestSent: spans are sent with the description of the process and the headers of the environment.
func TestSent(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-tenant=blue")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "k8s.pod.name=ccm-1")
	received := make(chan string, 9)
	endpoint := serve(t, func(ctx context.Context, sent *collectorv1.ExportTraceServiceRequest) {
		header, _ := metadata.FromIncomingContext(ctx)
		received <- strings.Join(header.Get("x-tenant"), "") + " " + sent.String()
	})
	p, err := export.New(t.Context(), export.Options{Endpoint: endpoint, PerMillion: export.Everything,
		Service: "ccm", Version: "v1", Cluster: "k8s-1"})
	if err != nil {
		t.Fatal(err)
	}
	trace(t.Context(), p, 1)
	p.Stop(t.Context())
	got := <-received
	for _, want := range []string{"blue ", `"ccm"`, `"v1"`, `"k8s-1"`, `"ccm-1"`, `name:"service"`, `name:"write"`} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is missing in %s", want, got)
		}
	}
	if strings.Contains(got, strings.Repeat("x", tracing.MaxText+1)) {
		t.Error("the key is not shortened")
	}
}

// TestNothingIsSampled with a rate of 0.
func TestNothingIsSampled(t *testing.T) {
	p, err := export.New(t.Context(), export.Options{Endpoint: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stop(t.Context())
	ctx, _ := tracing.StartItem(tracing.NewContext(t.Context(), p), "key")
	if tracing.Recorded(ctx) {
		t.Error("it is recorded")
	}
}

// TestUnusableCollector: a collector that does not answer or does not exist delays neither the work nor the end by more
// than StopTimeout, and is logged once.
func TestUnusableCollector(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "100")
	hanging := serve(t, func(ctx context.Context, _ *collectorv1.ExportTraceServiceRequest) { <-ctx.Done() })
	for name, endpoint := range map[string]string{"hanging": hanging, "absent": "http://127.0.0.1:1",
		"without encryption": strings.TrimPrefix(hanging, "http://")} {
		t.Run(name, func(t *testing.T) {
			var log log
			p, err := export.New(log.in(t.Context()), export.Options{Endpoint: endpoint,
				PerMillion: export.Everything})
			if err != nil {
				t.Fatal(err)
			}
			const items = 5000 // more than the queue has room for
			began := time.Now()
			trace(t.Context(), p, items)
			if took := time.Since(began); took > 2*time.Second {
				t.Errorf("%d items took %s", items, took)
			}
			began = time.Now()
			p.Stop(t.Context())
			if took := time.Since(began); took > export.StopTimeout+time.Second {
				t.Errorf("it ended after %s", took)
			}
			if lines := log.count("Traces cannot be sent"); lines != 1 {
				t.Errorf("%d lines about it", lines)
			}
		})
	}
}

func TestValidate(t *testing.T) {
	for endpoint, want := range map[string]string{
		"": "", "collector:4317": "", "http://collector:4317": "", "https://[2001:db8::1]:4317/": "",
		"collector":                    "missing port",
		"grpc://collector:4317":        `the scheme "grpc" is unknown`,
		"http://u:s3cret@collector:1":  "only a scheme, a host and a port",
		"http://collector:1/v1/traces": "only a scheme, a host and a port",
		"http://u:s3cret@col lector:1": "it is no URL",
	} {
		err := export.Options{Endpoint: endpoint, PerMillion: 1}.Validate()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", endpoint, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("the error contains the password: %v", err)
		}
	}
	for _, rate := range []int32{-1, export.Everything + 1} {
		if err := (export.Options{PerMillion: rate}).Validate(); err == nil {
			t.Errorf("the rate %d is accepted", rate)
		}
	}
}
