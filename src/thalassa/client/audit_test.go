package client

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/thalassa-cloud/client-go/iaas"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/secret"
	"github.com/thalassa-cloud/thalassa-ccm/src/tracing"
)

// TestAudit: every write, and no read, leaves one line that says what was done to which object, why and with what
// result.
func TestAudit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		ctx := klog.NewContext(t.Context(), textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&log))))
		s := &script{answers: []func(http.ResponseWriter, *http.Request){
			answer(429, `{}`), answer(201, `{"identity": "lb-1", "name": "s3cret"}`), // the creation
			answer(200, `{"identity": "vpc-1"}`),                  // the read
			answer(409, `{"message": "has deletion protection"}`), // the deletion
		}}
		c := s.client(t)
		ctx = tracing.WithCause(ctx, "Service shop/web: create load balancer")
		if _, err := Post[iaas.VpcLoadbalancer](ctx, c, iaas.LoadbalancerEndpoint,
			iaas.CreateLoadbalancer{Name: "s3cret", Subnet: "s"}); err != nil {
			t.Fatal(err)
		}
		if _, err := Get[iaas.Vpc](ctx, c, iaas.VpcEndpoint+"/vpc-1"); err != nil {
			t.Fatal(err)
		}
		if err := Delete(ctx, c, iaas.LoadbalancerEndpoint+"/lb-1"); err == nil {
			t.Fatal("no error")
		}
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		want := [][]string{
			{`"Cloud write"`, `request="POST /v1/loadbalancers"`, `object="lb-1"`,
				`cause="Service shop/web: create load balancer"`, `status=201`, `attempts=2`},
			{`"Cloud write failed"`, `request="DELETE /v1/loadbalancers/{id}"`, `object="lb-1"`, `status=409`,
				`has deletion protection`},
		}
		if len(lines) != len(want) {
			t.Fatalf("%d lines, want %d:\n%s", len(lines), len(want), log.String())
		}
		for i, parts := range want {
			for _, part := range parts {
				if !strings.Contains(lines[i], part) {
					t.Errorf("line %d lacks %s:\n%s", i, part, lines[i])
				}
			}
		}
		if strings.Contains(log.String(), "s3cret") || strings.Contains(log.String(), "pat") &&
			strings.Contains(log.String(), "Token pat") {
			t.Errorf("the log repeats a body or a credential:\n%s", log.String())
		}
	})
}

func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{answers: []func(http.ResponseWriter, *http.Request){
			answer(503, `{}`), answer(200, `{"identity": "vpc-1"}`), answer(404, `{}`),
		}}
		c := s.client(t)
		_, _ = Get[iaas.Vpc](t.Context(), c, iaas.VpcEndpoint+"/vpc-1")
		_, _ = Get[iaas.Vpc](t.Context(), c, iaas.VpcEndpoint+"/vpc-2")
		registry := prometheus.NewPedanticRegistry()
		registry.MustRegister(c.Collectors()...)
		want := `
# HELP cloudprovider_thalassa_api_request_errors Number of failed requests to the Thalassa Cloud API, by reason.
# TYPE cloudprovider_thalassa_api_request_errors counter
cloudprovider_thalassa_api_request_errors{reason="not_found",request="GET /v1/vpcs/{id}"} 1
cloudprovider_thalassa_api_request_errors{reason="unavailable",request="GET /v1/vpcs/{id}"} 1
# HELP cloudprovider_thalassa_api_request_retries_total Number of retried requests to the Thalassa Cloud API.
# TYPE cloudprovider_thalassa_api_request_retries_total counter
cloudprovider_thalassa_api_request_retries_total{request="GET /v1/vpcs/{id}"} 1
# HELP cloudprovider_thalassa_api_response_bytes_total Size of decompressed answers of the Thalassa Cloud API, in bytes.
# TYPE cloudprovider_thalassa_api_response_bytes_total counter
cloudprovider_thalassa_api_response_bytes_total{request="GET /v1/vpcs/{id}"} 25
# HELP cloudprovider_thalassa_api_circuit_open 1 if requests are paused because the Thalassa Cloud API does not answer, otherwise 0.
# TYPE cloudprovider_thalassa_api_circuit_open gauge
cloudprovider_thalassa_api_circuit_open 0
`
		names := []string{"cloudprovider_thalassa_api_request_errors",
			"cloudprovider_thalassa_api_request_retries_total",
			"cloudprovider_thalassa_api_response_bytes_total", "cloudprovider_thalassa_api_circuit_open"}
		if err := testutil.GatherAndCompare(registry, strings.NewReader(want), names...); err != nil {
			t.Error(err)
		}
		if count := testutil.CollectAndCount(c.transport.metrics.duration,
			"cloudprovider_thalassa_api_request_duration_seconds"); count != 1 {
			t.Errorf("%d durations, want one operation's", count)
		}
	})
}

func TestOperations(t *testing.T) {
	for path, want := range map[string]string{
		"/v1/machines":                                 "GET /v1/machines",
		"/v1/machines/vm-1":                            "GET /v1/machines/{id}",
		"/v1/loadbalancers/lb-1/listeners/l-1":         "GET /v1/loadbalancers/{id}/listeners/{id}",
		"/v1/loadbalancer-target-groups/g/detach/vm-1": "GET /v1/loadbalancer-target-groups/{id}/detach/{id}",
		"/v1/security-groups/sg-1/ingress-rules/batch": "GET /v1/security-groups/{id}/ingress-rules/batch",
		"/oidc/token":                                  "GET /oidc/token",
	} {
		if got := operationOf(http.MethodGet, path); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
}

// TestRefusedTokensAreCounted: with credentials that are no good nothing else is called, so this is all there is to
// see.
func TestRefusedTokensAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, secret.Credentials{ClientID: "id", ClientSecret: "wrong"},
			answer(401, `{"error": "invalid_client"}`))
		_, _ = Get[iaas.Vpc](t.Context(), c, iaas.VpcEndpoint+"/vpc-1")
		if got := testutil.ToFloat64(c.transport.metrics.failures.WithLabelValues(tokenOperation,
			"unauthorised")); got < 1 {
			t.Errorf("%v refused tokens were counted", got)
		}
		if count := testutil.CollectAndCount(c.transport.metrics.duration); count != 1 {
			t.Errorf("durations of %d operations, want the token's", count)
		}
	})
}
