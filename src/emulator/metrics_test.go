package emulator_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic/traffictest"
)

// samples reads the metrics: value by name and labels.
func (c *cloud) samples(t *testing.T) map[string]float64 {
	t.Helper()
	status, _, body := c.call(t, "GET", "/_emulator/metrics", "")
	if status != 200 {
		t.Fatalf("metrics = %d %s", status, body)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(body))
	if err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	out := map[string]float64{}
	for name, family := range families {
		for _, metric := range family.Metric {
			var labels []string
			for _, label := range metric.Label {
				labels = append(labels, label.GetValue())
			}
			value := metric.GetCounter().GetValue() + metric.GetGauge().GetValue() +
				float64(metric.GetHistogram().GetSampleCount())
			out[fmt.Sprint(name, labels)] = value
		}
	}
	return out
}

func TestMetrics(t *testing.T) {
	c := newCloud(t)
	vm, g, lb := c.machine(t, "one"), c.group(t, "web", 80), c.loadbalancer(t, "a")
	c.listener(t, lb.Identity, g.Identity, 80)
	if err := c.setTargets(t, g.Identity, vm); err != nil {
		t.Fatal(err)
	}
	c.call(t, "GET", "/v1/machines/none", "")
	for _, effect := range []fault.Effect{{Kind: fault.Refuse, Status: 503}, {Kind: fault.Reset},
		{Kind: fault.Latency, Delay: time.Millisecond}} {
		if _, err := c.Inject(fault.Rule{Operation: "GET /v1/vpcs", Count: 1, Effect: effect}); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		ask(t, c.Transport(), c.url, "GET", "/v1/vpcs", "")
	}
	samples := c.samples(t)
	for sample, want := range map[string]float64{
		"thalassa_emulator_requests_total[POST /v1/loadbalancers 201]":       1,
		"thalassa_emulator_requests_total[GET /v1/machines/{id} 404]":        1,
		"thalassa_emulator_requests_total[GET /v1/vpcs 503]":                 1,
		"thalassa_emulator_requests_total[GET /v1/vpcs none]":                1,
		"thalassa_emulator_requests_total[GET /v1/vpcs 200]":                 1,
		"thalassa_emulator_request_duration_seconds[GET /v1/vpcs]":           3,
		"thalassa_emulator_request_duration_seconds[POST /v1/loadbalancers]": 1,
		"thalassa_emulator_requests_in_flight[]":                             0,
		"thalassa_emulator_faults_fired_total[status]":                       1,
		"thalassa_emulator_faults_fired_total[reset]":                        1,
		"thalassa_emulator_faults_fired_total[latency]":                      1,
		"thalassa_emulator_objects[machine]":                                 1,
		"thalassa_emulator_objects[loadbalancer]":                            1,
		"thalassa_emulator_objects[listener]":                                1,
		"thalassa_emulator_objects[targetGroup]":                             1,
		"thalassa_emulator_objects[attachment]":                              1,
		"thalassa_emulator_objects[vpc]":                                     1,
		"thalassa_emulator_objects[subnet]":                                  1,
		"thalassa_emulator_objects[organisation]":                            1,
		"thalassa_emulator_objects[region]":                                  1,
	} {
		if got, found := samples[sample]; !found || got != want {
			t.Errorf("%s = %v, want %v", sample, got, want)
		}
	}
}

func TestMetricsAreWellNamed(t *testing.T) {
	c := newCloud(t)
	if _, err := c.Inject(fault.Rule{Count: 1, Effect: fault.Effect{Kind: fault.Forbidden}}); err != nil {
		t.Fatal(err)
	}
	c.call(t, "GET", "/v1/vpcs", "")
	_, _, body := c.call(t, "GET", "/_emulator/metrics", "")
	problems, err := promlint.New(strings.NewReader(body)).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %+v", err, problems)
	}
}

// Requests in flight are seen while they hang.
func TestRequestsInFlight(t *testing.T) {
	c := newCloud(t)
	id, err := c.Inject(fault.Rule{Operation: "GET /v1/vpcs", Effect: fault.Effect{Kind: fault.Hang}})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	request := apiRequest(t, c.url, "GET", "/v1/vpcs", "")
	go func() {
		defer close(done)
		if response, err := c.Transport().RoundTrip(request); err == nil {
			response.Body.Close()
		}
	}()
	traffictest.Eventually(t, "the call hangs", func() bool {
		return c.samples(t)["thalassa_emulator_requests_in_flight[]"] == 1
	})
	c.ClearFaults(id)
	<-done
	if got := c.samples(t)["thalassa_emulator_requests_in_flight[]"]; got != 0 {
		t.Errorf("%v requests in flight afterwards, want 0", got)
	}
}
