package manager

import (
	"context"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/server/mux"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/thalassa-cloud/thalassa-ccm/src/tracing"
	"github.com/thalassa-cloud/thalassa-ccm/src/tracing/export"
)

// serviceName is the name of the program in traces.
const serviceName = "thalassa-cloud-controller-manager"

// unnamedCluster is the default of --cluster-name in the library. It says nothing about the cluster.
const unnamedCluster = "kubernetes"

// tracingFlags are named like the fields of Kubernetes' TracingConfiguration.
type tracingFlags struct {
	endpoint   string
	perMillion int32
}

func (t *tracingFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&t.endpoint, "tracing-endpoint", t.endpoint, "The collector to which traces are sent by OTLP over "+
		"gRPC: HOST:PORT with TLS, or http://HOST:PORT without encryption. Headers and certificates are read from the "+
		"environment variables OTEL_EXPORTER_OTLP_*. If it is empty, nothing is traced.")
	flags.Int32Var(&t.perMillion, "tracing-sampling-rate-per-million", t.perMillion, "How many of a million items of "+
		"queues are traced. It has no effect without --tracing-endpoint.")
}

// spans describes where spans are sent, and this process.
func (s *settings) spans() export.Options {
	cluster := s.KubeCloudShared.ClusterName
	if cluster == unnamedCluster {
		cluster = ""
	}
	return export.Options{Endpoint: s.tracing.endpoint, PerMillion: s.tracing.perMillion, Service: serviceName,
		Version: s.build.Version, Cluster: cluster}
}

// trace returns a context in which the items of queues are traced, if that is configured, until stop is called.
func (p *process) trace(ctx context.Context) (traced context.Context, stop func(), err error) {
	if !p.spans.Enabled() {
		return ctx, func() {}, nil
	}
	provider, err := export.New(ctx, p.spans)
	if err != nil {
		return nil, nil, err
	}
	return tracing.NewContext(ctx, provider), func() { provider.Stop(ctx) }, nil
}

// tracedClients creates clients whose writes are traced.
type tracedClients struct {
	cloudprovider.ControllerClientBuilder
}

// Config returns the configuration of the account called name.
func (c tracedClients) Config(name string) (*rest.Config, error) {
	config, err := c.ControllerClientBuilder.Config(name)
	if err != nil {
		return nil, err
	}
	config.Wrap(traceWrites)
	return config, nil
}

// Client returns the client of the account called name.
func (c tracedClients) Client(name string) (kubernetes.Interface, error) {
	config, err := c.Config(name)
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(config)
}

// roundTripper is a function as an http.RoundTripper.
type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }

// traceWrites returns a transport that makes a span of each write to the API server.
func traceWrites(next http.RoundTripper) http.RoundTripper {
	factory := &request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"),
		GrouplessAPIPrefixes: sets.NewString("api")}
	return roundTripper(func(sent *http.Request) (*http.Response, error) {
		if sent.Method == http.MethodGet || !tracing.Recorded(sent.Context()) {
			return next.RoundTrip(sent)
		}
		verb, resource := operationOf(factory, sent)
		sent, span := tracing.StartRequest(sent, verb, resource)
		response, err := next.RoundTrip(sent)
		status := 0
		if response != nil {
			status = response.StatusCode
		}
		tracing.EndRequest(span, status, err)
		return response, err
	})
}

// operationOf returns the verb and resource of a request to the API server, as in RBAC: "patch", "services/status".
func operationOf(factory *request.RequestInfoFactory, sent *http.Request) (verb, resource string) {
	info, err := factory.NewRequestInfo(sent)
	if err != nil || !info.IsResourceRequest {
		return strings.ToLower(sent.Method), "" // a server below a path, for example
	}
	if info.Subresource != "" {
		return info.Verb, info.Resource + "/" + info.Subresource
	}
	return info.Verb, info.Resource
}

// serveExemplars makes /metrics answer in the format OpenMetrics to clients that accept it, which is the only one with
// exemplars. Other clients get the same answer as before.
func serveExemplars(paths *mux.PathRecorderMux) {
	plain := legacyregistry.Handler()
	open := promhttp.HandlerFor(prometheus.GathererFunc(gatherWithNames), promhttp.HandlerOpts{EnableOpenMetrics: true})
	paths.Unregister("/metrics")
	paths.HandleFunc("/metrics", func(w http.ResponseWriter, r *http.Request) {
		format := expfmt.NegotiateAccept(r.Header, expfmt.DefaultOpenMetricsAcceptedFormats()...)
		if format.FormatType() == expfmt.TypeOpenMetrics {
			open.ServeHTTP(w, r)
			return
		}
		plain.ServeHTTP(w, r)
	})
}

// gatherWithNames returns all metrics with the names that they have in the plain format. OpenMetrics appends _total to
// the names of counters without it, so that rules and dashboards would not find them: they are of an unknown type.
func gatherWithNames() ([]*dto.MetricFamily, error) {
	families, err := legacyregistry.DefaultGatherer.Gather()
	for _, family := range families {
		if family.GetType() != dto.MetricType_COUNTER || strings.HasSuffix(family.GetName(), "_total") {
			continue
		}
		family.Type = dto.MetricType_UNTYPED.Enum()
		for _, metric := range family.GetMetric() {
			metric.Untyped = &dto.Untyped{Value: metric.GetCounter().Value}
			metric.Counter = nil
		}
	}
	return families, err
}
