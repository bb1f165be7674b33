package thalassa

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thalassa-cloud/client-go/iaas"
	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// clouds differ in what an update does to a health check that it does not name, and in whether one can be removed at
// all.
var clouds = map[string]struct {
	switches  emulator.Switches
	removable bool
}{
	"replace":                  {emulator.Switches{}, true},
	"merge, null removes":      {emulator.Switches{Updates: emulator.Merge, NullRemovesHealthCheck: true}, true},
	"merge, null says nothing": {emulator.Switches{Updates: emulator.Merge}, false},
}

// TestHealthCheckIsRemoved: the existing CCM leaves out what should go, which a cloud that merges takes for "as it
// is".
func TestHealthCheckIsRemoved(t *testing.T) {
	off := annotated("health-check-enabled", "false")
	removals := map[string]struct{ with, without func(*corev1.Service) }{
		"policy Local is given up": {func(s *corev1.Service) {
			off(s)
			local(s, true)
		}, func(s *corev1.Service) { local(s, false) }},
		"ours is switched off": {annotated(), off},
		"one with a port is switched off": {annotated("health-check-enabled", "true", "health-check-port", "8081"),
			off},
	}
	for cloud, cl := range clouds {
		for name, tt := range removals {
			t.Run(cloud+", "+name, func(t *testing.T) {
				l := newLab(t, emulator.Config{Switches: cl.switches})
				tap := l.tap()
				nodes, web := l.nodes("a"), service("web", 80)
				tt.with(web)
				l.settle(web, nodes)
				if l.group().HealthCheck == nil {
					t.Fatal("no health check to be removed")
				}
				tt.without(web)
				l.settle(web, nodes)
				updates := tap.heard("PUT /v1/loadbalancer-target-groups/")
				if len(updates) != 1 || !strings.Contains(updates[0], `"healthCheck":null`) {
					t.Errorf("sent %v; want one update that says that there is none", updates)
				}
				if check := l.group().HealthCheck; check != nil && cl.removable {
					t.Errorf("health check = %+v: the Service wants none", check)
				}
			})
		}
	}
}

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

// TestHealthCheckThatWasPutBack: somebody who adds it again is overruled once, and a Service that wants one again
// starts anew.
func TestHealthCheckThatWasPutBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{})
		nodes, web := l.nodes("a"), service("web", 80)
		annotated("health-check-enabled", "false")(web)
		removedAgain := func() bool {
			local(web, true)
			l.settle(web, nodes)
			check := l.group().HealthCheck
			local(web, false)
			l.settle(web, nodes)
			group := l.group()
			update := iaas.UpdateTargetGroup{Name: group.Name, Labels: group.Labels, TargetPort: group.TargetPort,
				Protocol: group.Protocol, HealthCheck: check}
			if _, err := l.api().UpdateTargetGroup(t.Context(), iaas.UpdateTargetGroupRequest{Identity: group.Identity,
				UpdateTargetGroup: update}); err != nil {
				t.Fatal(err)
			}
			<-time.After(time.Hour)
			l.settle(web, nodes)
			return l.group().HealthCheck == nil
		}
		for range 2 {
			if !removedAgain() {
				t.Error("a health check that somebody put back is still there")
			}
		}
		if reported := l.eventsAbout(reasonHealthCheckKept); len(reported) > 0 {
			t.Errorf("reported %q, want nothing", reported)
		}
	})
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
