package route

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
)

// TestMetrics: the counters show what happened.
func TestMetrics(t *testing.T) {
	inRig(t, func(r *rig) {
		r.cloud.createByHand("main", "10.244.9.0/24", "")
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"))
		r.start()
		r.cloud.deleteByHand("main", "10.244.1.0/24")
		r.nextPeriod()
		r.settle()
		m := r.running.metrics
		wantIs(r, "drift", testutil.ToFloat64(m.drift), 1)
		wantIs(r, "creations", testutil.ToFloat64(m.writes.WithLabelValues("create", "done")), 2)
		wantIs(r, "passes for drift that changed something",
			testutil.ToFloat64(m.syncs.WithLabelValues(outcomeChanged, periodic)), 1)
		wantIs(r, "foreign routes", testutil.ToFloat64(m.routes.WithLabelValues("foreign")), 1)
		latest := testutil.ToFloat64(m.latest)
		if age := time.Since(time.Unix(int64(latest), 0)); age > time.Minute {
			t.Errorf("the latest pass was %s ago", age)
		}
		r.cloud.set(func(c *fakeCloud) { c.readError = errors.New("away") })
		r.nextPeriod()
		wantIs(r, "passes that failed", testutil.ToFloat64(m.syncs.WithLabelValues(outcomeError, periodic)) > 0, true)
		wantIs(r, "the latest pass that did not", testutil.ToFloat64(m.latest), latest)
	})
}

// TestMetricsAfterSync: the metrics include what the sync wrote, and exclude what it could not write.
func TestMetricsAfterSync(t *testing.T) {
	inRig(t, func(r *rig) {
		r.cloud.createByHand("main", "10.244.9.0/24", "10.0.0.1") // from an earlier process
		r.cloud.createByHand("main", "10.244.2.0/24", "")
		r.join(node("a", "10.0.0.1 fd00::1", "10.244.1.0/24", "fd00:244:0:1::/64"))
		refuse := func(err error) { r.cloud.set(func(c *fakeCloud) { c.writeError = err }) }
		state := func(when string, inPlace, missing, leftOver, foreign, nodes float64) {
			t.Helper()
			m := r.running.metrics
			for state, want := range map[string]float64{"in-place": inPlace, "missing": missing, "left-over": leftOver,
				"foreign": foreign} {
				wantIs(r, when+": "+state, testutil.ToFloat64(m.routes.WithLabelValues(state)), want)
			}
			wantIs(r, when+": nodes that lack a route", testutil.ToFloat64(m.missing), nodes)
		}
		refuse(errors.New("not now"))
		r.start()
		state("all refused", 0, 2, 1, 1, 1)
		refuse(nil)
		<-time.After(10 * time.Second)
		synctest.Wait()
		state("one pass later", 2, 0, 0, 1, 0)

		r.join(node("b", "10.0.0.2", "10.244.2.0/24"))
		r.settle()
		state("another one's route is in the way", 2, 0, 0, 1, 1)
		r.cloud.deleteByHand("main", "10.244.2.0/24")
		r.nextPeriod()
		r.settle()
		state("it is gone", 3, 0, 0, 0, 0)

		r.join(node("c", "10.0.0.3", "10.244.3.0/24"))
		r.cloud.set(func(c *fakeCloud) { c.readError = errors.New("away") })
		r.settle()
		wantIs(r, "nodes that are not known to have their routes", testutil.ToFloat64(r.running.metrics.missing), 1)
	})
}

// TestMetricsOfChanges: a route whose gateway could not be changed is neither in place nor left over.
func TestMetricsOfChanges(t *testing.T) {
	inRig(t, func(r *rig) {
		r.join(node("a", "10.0.0.1", "10.244.1.0/24"))
		r.start()
		r.cloud.set(func(c *fakeCloud) { c.writeError = errors.New("not now") })
		r.changeNode("a", func(n *corev1.Node) { n.Status.Addresses[0].Address = "10.0.0.2" })
		r.settle()
		routes := func(state string) float64 {
			return testutil.ToFloat64(r.running.metrics.routes.WithLabelValues(state))
		}
		wantIs(r, "in place", routes("in-place"), 0)
		wantIs(r, "missing", routes("missing"), 1)
		r.cloud.set(func(c *fakeCloud) { c.writeError = nil })
		r.nextPeriod()
		wantIs(r, "in place at last", routes("in-place"), 1)
		wantIs(r, "missing at last", routes("missing")+routes("left-over"), 0)
	})
}
