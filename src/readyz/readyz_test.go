package readyz

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/apiserver/pkg/server/mux"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/prometheus/slis"
)

func check(name string, err error) healthz.HealthChecker {
	return healthz.NamedCheck(name, func(*http.Request) error { return err })
}

// serve answers one request to an endpoint with these checks.
func serve(t *testing.T, path string, checks ...healthz.HealthChecker) (status int, body string) {
	t.Helper()
	paths := mux.NewPathRecorderMux("test")
	New("readyz", checks...).Install(paths)
	recorder := httptest.NewRecorder()
	paths.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	return recorder.Code, recorder.Body.String()
}

func TestAnswers(t *testing.T) {
	good := check("informer-sync", nil)
	bad := check("cloud", errors.New("it answers 503"))
	tests := map[string]struct {
		path   string
		checks []healthz.HealthChecker
		status int
		body   string
	}{
		"without checks": {"/readyz", nil, 200, "ok"},
		"all good":       {"/readyz", []healthz.HealthChecker{good}, 200, "ok"},
		"verbose": {"/readyz?verbose", []healthz.HealthChecker{good}, 200,
			"[+]informer-sync ok\nreadyz check passed\n"},
		"one bad, says why": {"/readyz", []healthz.HealthChecker{good, bad}, 500,
			"[+]informer-sync ok\n[-]cloud failed: it answers 503\nreadyz check failed\n"},
		"bad one excluded": {"/readyz?exclude=cloud", []healthz.HealthChecker{good, bad}, 200, "ok"},
		"excluded and verbose": {"/readyz?verbose&exclude=cloud", []healthz.HealthChecker{good, bad}, 200,
			"[+]informer-sync ok\n[+]cloud excluded: ok\nreadyz check passed\n"},
		"the good one only": {"/readyz/informer-sync", []healthz.HealthChecker{good, bad}, 200, "ok"},
		"the bad one only": {"/readyz/cloud", []healthz.HealthChecker{good, bad}, 500,
			"[-]cloud failed: it answers 503\nreadyz check failed\n"},
		"all, with a slash": {"/readyz/", []healthz.HealthChecker{good}, 200, "ok"},
		"unknown check":     {"/readyz/other", []healthz.HealthChecker{good}, 404, "404 page not found\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			status, body := serve(t, test.path, test.checks...)
			if status != test.status {
				t.Errorf("status %d, want %d", status, test.status)
			}
			if diff := cmp.Diff(test.body, body); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
		})
	}
}

func TestChecksAreAddedWhileServing(t *testing.T) {
	checks := New("livez")
	ask := func() int {
		recorder := httptest.NewRecorder()
		checks.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/livez", nil))
		return recorder.Code
	}
	if got := ask(); got != 200 {
		t.Errorf("before: status %d, want 200", got)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		checks.Add(check("controller", errors.New("stuck")))
	}()
	ask() // at the same time
	<-done
	if got := ask(); got != 500 {
		t.Errorf("after: status %d, want 500", got)
	}
}

func TestResultsAreCounted(t *testing.T) {
	registry := metrics.NewKubeRegistry()
	slis.Register(registry)
	serve(t, "/readyz", check("counted-good", nil), check("counted-bad", errors.New("no")))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if label.GetName() == "name" && family.GetName() == "kubernetes_healthcheck" {
					got[label.GetValue()] = metric.GetGauge().GetValue()
				}
			}
		}
	}
	want := map[string]float64{"counted-good": 1, "counted-bad": 0}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("kubernetes_healthcheck (-want +got):\n%s", diff)
	}
}
