package traces

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/thalassa-cloud/thalassa-ccm/ci/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/ci/collector"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplanetest"
)

// create is the call that creates a load balancer.
const create = "POST /v1/loadbalancers"

func TestThalassa(t *testing.T) {
	r := newRig(t, controlplanetest.Get(t))
	served := cloud.Run(t, emulator.Config{Seed: emulator.DefaultSeed(), Faults: []fault.Rule{{Operation: create,
		Skip: 1, Count: 1, Effect: fault.Effect{Kind: fault.Refuse, Status: 409}}}})
	_, err := served.AddMachine(emulator.MachineSpec{Name: "traced"})
	r.must(err)
	config := served.Config("k8s-traced")
	maps.Copy(config, map[string]any{"routes": map[string]any{"enabled": true}, "defaultSubnet": emulator.DefaultSubnet,
		"cloudCredentials": map[string]any{"personalAccessToken": emulator.DefaultToken},
		"loadBalancer":     map[string]any{"creationPollInterval": 1}})
	text, err := json.Marshal(config)
	r.must(err)
	r.addNode("traced")
	stop := r.start(string(text))
	r.routed("traced")
	r.serve("web")
	r.serve("refused")
	open, plain := r.metrics("application/openmetrics-text"), r.metrics("text/plain")
	r.remove("web", "refused")
	stop()

	t.Run("one trace", r.servedByThalassa)
	t.Run("failure", r.failedInThalassa)
	r.wantNode("GET /v1/machines", "POST /v1/route-tables/{id}/routes")
	t.Run("exemplars", func(t *testing.T) {
		checkMetrics(t, "thalassa", "cloudprovider_thalassa_api_request_errors", open, plain)
	})
	r.wantNothingOf(emulator.DefaultToken, open)
}

// servedByThalassa checks the trace in which a load balancer was created.
func (r *rig) servedByThalassa(t *testing.T) {
	id, spans := r.wantOne("web", root+" > diff", root+" > apply", apply+create, root+" > patch services/status")
	first, _ := find(spans, root)
	want := map[string]any{"service.name": "thalassa-cloud-controller-manager", "k8s.cluster.name": "traced"}
	for key, value := range want {
		if first.Resource[key] != value {
			t.Errorf("%s is %v, want %v", key, first.Resource[key], value)
		}
	}
	if attribute(first, "attempt") != "1" || attribute(first, "priority") == "" ||
		attribute(first, "queued_seconds") == "" || first.Status().Code() == ptrace.StatusCodeError {
		t.Errorf("the item: %v, status %s", first.Attributes().AsRaw(), first.Status().Message())
	}
	call, _ := find(spans, apply+create)
	if attribute(call, "http.response.status_code") != "201" || attribute(call, "server.address") == "" ||
		call.Kind() != ptrace.SpanKindClient {
		t.Errorf("the call: %v", call.Attributes().AsRaw())
	}
	r.wantOne("web", root+" > plan deletion", apply+"DELETE /v1/loadbalancers/{id}")
	lines := r.logged("Cloud write", `"`+create+`"`, "Service "+r.namespace+"/web")
	if len(lines) != 1 || !strings.Contains(lines[0], `traceID="`+id+`"`) {
		t.Errorf("the audit log lacks the trace %s: %q", id, lines)
	}
}

// failedInThalassa checks the traces of a Service whose load balancer the cloud refused to create at first.
func (r *rig) failedInThalassa(t *testing.T) {
	for id, spans := range r.traces("refused") {
		call, found := find(spans, apply+create)
		if !found || attribute(call, "http.response.status_code") != "409" {
			continue
		}
		for _, path := range []string{root, root + " > apply", strings.TrimSuffix(apply, " > "), apply + create} {
			if !slices.ContainsFunc(spans, func(span collector.Span) bool {
				return pathOf(span) == path && span.Status().Code() == ptrace.StatusCodeError
			}) {
				t.Errorf("%q has no error", path)
			}
		}
		if lines := r.logged("Cloud write failed", id); len(lines) != 1 {
			t.Errorf("the audit log has %q", lines)
		}
		return
	}
	t.Error("no trace contains the refusal")
}

// checkMetrics checks that metrics have exemplars in the format for that, and the names that they have without them.
func checkMetrics(t *testing.T, cloud, counter, open, plain string) {
	t.Helper()
	for _, name := range []string{"service_lb_reconcile_duration_seconds_bucket",
		"cloudprovider_" + cloud + "_api_request_duration_seconds_bucket"} {
		if !regexp.MustCompile(`(?m)^` + name + `\{.*# \{trace_id="[0-9a-f]{32}"\}`).MatchString(open) {
			t.Errorf("%s has no exemplar", name)
		}
	}
	if strings.Contains(plain, "trace_id") || strings.Contains(plain, "# EOF") {
		t.Error("the plain format has exemplars")
	}
	if counter := "\n" + counter + "{"; !strings.Contains(open, counter) || !strings.Contains(plain, counter) {
		t.Error("a counter has different names in the two formats")
	}
}
