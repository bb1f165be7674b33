package thalassa

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// local makes the Service's nodes have a health check, or not.
func local(web *corev1.Service, checked bool) {
	web.Spec.ExternalTrafficPolicy, web.Spec.HealthCheckNodePort = corev1.ServiceExternalTrafficPolicyCluster, 0
	if checked {
		web.Spec.ExternalTrafficPolicy, web.Spec.HealthCheckNodePort = corev1.ServiceExternalTrafficPolicyLocal, 32000
	}
}

// eventsAbout are the events not looked at yet that have a reason.
func (l *lab) eventsAbout(reason string) []string {
	var found []string
	for event := l.nextEvent(); event != ""; event = l.nextEvent() {
		if strings.Contains(event, " "+reason+" ") {
			found = append(found, event)
		}
	}
	return found
}

// TestHealthCheckThatStays: in a cloud that takes null for "as it is", the same removal is written twice and not for
// ever, and the Service's owner hears of it once; all else goes on.
func TestHealthCheckThatStays(t *testing.T) {
	for name, passes := range map[string]struct{ drift bool }{"by syncs": {}, "by drift passes": {drift: true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t, emulator.Config{Switches: emulator.Switches{Updates: emulator.Merge}})
				nodes, web := l.nodes("a"), service("web", 80)
				annotated("health-check-enabled", "false")(web) // with policy Local there is one nevertheless
				local(web, true)
				l.settle(web, nodes)
				l.emulator.ResetCounters()
				local(web, false)
				web.Status.LoadBalancer = *l.settle(web, nodes)
				if passes.drift {
					l.watching(web)
				}
				for range 6 {
					<-time.After(time.Hour)
					if !passes.drift {
						l.settle(web, nodes)
					}
				}
				if writes := l.writes(); len(writes) != removalTries {
					t.Errorf("writes in six hours: %v; want %d", writes, removalTries)
				}
				reported := l.eventsAbout(reasonHealthCheckKept)
				if len(reported) != 1 || !strings.Contains(reported[0], l.group().Name) ||
					!strings.Contains(reported[0], ":32000/healthz") {
					t.Errorf("reported %q; want one event that names the target group and its health check", reported)
				}

				l.emulator.ResetCounters()
				web = web.DeepCopy() // drift passes read the one before, as that of an informer
				web.Annotations[label.AnnotationPrefix+"loadbalancing-policy"] = "MAGLEV"
				l.settle(web, nodes)
				if policy := l.group().LoadbalancingPolicy; policy == nil || *policy != "MAGLEV" ||
					len(l.writes()) != 1 {
					t.Errorf("after a change of the policy it is %v, with the writes %v", policy, l.writes())
				}
			})
		})
	}
}

func TestRemovals(t *testing.T) {
	with := func(port int32) resource.TargetGroup {
		return resource.TargetGroup{ID: "tg-1", HealthCheck: &resource.HealthCheck{Port: port}}
	}
	m := newMemory()
	remove := func(group resource.TargetGroup) { m.recordRemoval(group, resource.TargetGroup{ID: group.ID}) }
	failed := func(group resource.TargetGroup) bool {
		return m.irremovable([]resource.TargetGroup{group})[group.ID]
	}
	for times := range removalTries {
		if failed(with(1)) {
			t.Errorf("given up after %d removals, want %d", times, removalTries)
		}
		remove(with(1))
	}
	if !failed(with(1)) || failed(with(2)) || failed(resource.TargetGroup{ID: "tg-1"}) ||
		failed(resource.TargetGroup{ID: "tg-2", HealthCheck: with(1).HealthCheck}) {
		t.Error("another health check, none, or another group counts as the one that stays, or that one does not")
	}
	if m.recordRemoval(with(1), with(1)); !failed(with(1)) {
		t.Error("a write that leaves the health check as it is forgets it")
	}
	if m.recordRemoval(with(1), with(2)); failed(with(1)) {
		t.Error("what is known of a health check outlasts it")
	}
}
