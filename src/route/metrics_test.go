package route

import (
	"errors"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// TestMetrics are what happened.
func TestMetrics(t *testing.T) {
	inRig(t, func(r *rig) {
		r.cloud.byHand("main", "10.244.9.0/24", "")
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"))
		r.start()
		r.cloud.loses("main", "10.244.1.0/24")
		r.later()
		r.settle()
		m := r.running.metrics
		wantIs(r, "drift", testutil.ToFloat64(m.drift), 1)
		wantIs(r, "creations", testutil.ToFloat64(m.writes.WithLabelValues("create", "done")), 2)
		wantIs(r, "passes for drift that changed something", testutil.ToFloat64(m.syncs.WithLabelValues(outcomeChanged, periodic)), 1)
		wantIs(r, "foreign routes", testutil.ToFloat64(m.routes.WithLabelValues("foreign")), 1)
		r.later()
		wantIs(r, "routes in place", testutil.ToFloat64(m.routes.WithLabelValues("in-place")), 1)
		wantIs(r, "routes missing", testutil.ToFloat64(m.routes.WithLabelValues("missing")), 0)
		latest := testutil.ToFloat64(m.latest)
		if age := time.Since(time.Unix(int64(latest), 0)); age > time.Minute {
			t.Errorf("the latest pass was %s ago", age)
		}
		r.cloud.set(func(p *plain) { p.unknown = errors.New("away") })
		r.later()
		wantIs(r, "passes that failed", testutil.ToFloat64(m.syncs.WithLabelValues(outcomeError, periodic)) > 0, true)
		wantIs(r, "the latest pass that did not", testutil.ToFloat64(m.latest), latest)
	})
}

// TestMetricsAreWellFormed, and described without a controller.
func TestMetricsAreWellFormed(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	for _, collector := range Described() {
		if err := registry.Register(collector); err != nil {
			t.Error(err)
		}
	}
	problems, err := testutil.GatherAndLint(registry)
	if err != nil || len(problems) > 0 {
		t.Errorf("problems %v, error %v", problems, err)
	}
	if names, err := testutil.GatherAndCount(registry); err != nil || names == 0 {
		t.Errorf("%d metrics, error %v", names, err)
	}
}
