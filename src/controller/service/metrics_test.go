package service

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
)

// TestMetrics: counters count what happened, and gauges what exists.
func TestMetrics(t *testing.T) {
	inRig(t, func(r *rig) {
		r.start(2)
		registry := prometheus.NewPedanticRegistry()
		for _, collector := range r.controller.Collectors() {
			registry.MustRegister(collector)
		}
		web := r.addService("web")
		r.waitForSync()
		r.addNode("c")
		r.waitForSync()
		r.cloud.set(func(p *fakeCloud) {
			p.balancers[web.UID].machines = []string{"vm-x"}
			p.callErr = errors.New("quota exceeded")
		})
		r.changeService("web", func(s *corev1.Service) { s.Annotations = map[string]string{"changed": "yes"} })
		r.waitForSync()
		r.cloud.set(func(p *fakeCloud) { p.callErr = nil })
		<-time.After(10 * time.Second)
		r.addOrphan()
		r.cloud.set(func(p *fakeCloud) { p.balancers[web.UID].machines = []string{"vm-x"}; p.readyAfter = -1 })
		<-time.After(2 * driftPeriod)
		const expected = `
# HELP service_lb_drift_total Number of changes in the cloud that were not made by this program and not caused by a change in Kubernetes. The writes that revert them are in service_lb_writes_total with the cause drift.
# TYPE service_lb_drift_total counter
service_lb_drift_total{kind="load balancer",verb="update"} 1
# HELP service_lb_drifted Number of Services whose load balancer was changed in the cloud and is not repaired.
# TYPE service_lb_drifted gauge
service_lb_drifted 1
# HELP service_lb_load_balancers Number of Services, by the state of their load balancer as the cloud names it. "none" if there is no load balancer. At most 20 states, and "other" for more.
# TYPE service_lb_load_balancers gauge
service_lb_load_balancers{state="creating"} 1
# HELP service_lb_orphans Number of objects in the cloud that belong to Services that do not exist any more.
# TYPE service_lb_orphans gauge
service_lb_orphans{kind="load balancer"} 1
# HELP service_lb_targets Total number of targets of the load balancers of all Services.
# TYPE service_lb_targets gauge
service_lb_targets 3
# HELP service_lb_writes_total Number of writes to the cloud for Services.
# TYPE service_lb_writes_total counter
service_lb_writes_total{cause="drift",kind="load balancer",result="done",verb="update"} 1
service_lb_writes_total{cause="nodes",kind="load balancer",result="done",verb="update"} 1
service_lb_writes_total{cause="service",kind="load balancer",result="done",verb="create"} 1
service_lb_writes_total{cause="service",kind="load balancer",result="done",verb="update"} 1
service_lb_writes_total{cause="service",kind="load balancer",result="failed",verb="update"} 1
# HELP service_controller_loadbalancer_sync_total Number of load balancers whose targets were updated after a change of nodes.
# TYPE service_controller_loadbalancer_sync_total counter
service_controller_loadbalancer_sync_total 1
`
		names := []string{"service_lb_drift_total", "service_lb_drifted", "service_lb_load_balancers",
			"service_lb_orphans", "service_lb_targets",
			"service_lb_writes_total", "service_controller_loadbalancer_sync_total"}
		if err := testutil.GatherAndCompare(registry, strings.NewReader(expected), names...); err != nil {
			t.Error(err)
		}
		if count := testutil.CollectAndCount(r.controller.metrics.duration); count != 3 {
			t.Errorf("%d results of reconciliations, want done, waiting and failed", count)
		}
		if count := testutil.CollectAndCount(r.controller.metrics.plans); count != 3 {
			t.Errorf("%d causes of plans, want service, nodes and drift", count)
		}
		if problems, err := testutil.GatherAndLint(registry, names...); err != nil || len(problems) > 0 {
			t.Errorf("problems %v, error %v", problems, err)
		}
	})
}

// TestStatesAreBounded: whatever the cloud names states, the metric has few values.
func TestStatesAreBounded(t *testing.T) {
	var states stateStore
	for i := range 30 {
		states.get(fmt.Sprintf("default/web-%d", i)).seen.Store(&seen{state: fmt.Sprintf("step-%02d", i)})
	}
	found := states.byState()
	if len(found) != maxStates+1 || found["step-00"] != 1 || found["other"] != 10 {
		t.Errorf("got %v, want %d states and 10 others", found, maxStates)
	}
}
