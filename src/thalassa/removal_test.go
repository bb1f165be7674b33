package thalassa

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/thalassa-cloud/client-go/iaas"
	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/inventory"
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

// hours lets them pass, with a sync or the drift passes in each.
func (l *lab) hours(n int, web *corev1.Service, nodes []*corev1.Node, drift bool) {
	l.Helper()
	if drift {
		l.watching(web)
	}
	for range n {
		<-time.After(time.Hour)
		if !drift {
			l.settle(web, nodes)
		}
	}
}

// unchecked is a Service in a cloud that takes null for "as it is", whose nodes need no health check any more.
func (l *lab) unchecked(nodes []*corev1.Node) *corev1.Service {
	l.Helper()
	web := service("web", 80)
	local(web, true)
	l.settle(web, nodes)
	l.emulator.ResetCounters()
	web = web.DeepCopy()
	local(web, false)
	web.Status.LoadBalancer = *l.settle(web, nodes)
	return web
}

// TestHealthCheckThatStays: in a cloud that takes null for "as it is", the same removal is written twice, and then the target group
// is replaced by one without, before anybody misses it.
func TestHealthCheckThatStays(t *testing.T) {
	for name, drift := range map[string]bool{"by syncs": false, "by drift passes": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t, emulator.Config{Switches: emulator.Switches{Updates: emulator.Merge}})
				nodes := l.nodes("a")
				web := l.unchecked(nodes)
				old := l.group().Identity
				l.hours(6, web, nodes, drift)
				want := []string{
					"PUT /v1/loadbalancer-target-groups/{id}", "PUT /v1/loadbalancer-target-groups/{id}",
					"POST /v1/loadbalancer-target-groups", "POST /v1/loadbalancer-target-groups/{id}/attachments",
					"PUT /v1/loadbalancers/{id}/listeners/{listener}", "DELETE /v1/loadbalancer-target-groups/{id}",
				}
				if diff := cmp.Diff(want, l.writes()); diff != "" {
					t.Errorf("writes in six hours (-want +got):\n%s", diff)
				}
				if group := l.group(); group.Identity == old || group.HealthCheck != nil || len(group.LoadbalancerTargetGroupAttachments) != 1 || len(group.LoadbalancerListeners) != 1 {
					t.Errorf("target group %+v; want a new one, without a health check, that gets the traffic", group)
				}
				if told := l.eventsAbout(reasonHealthCheckKept); len(told) > 0 {
					t.Errorf("told %q, although it is gone", told)
				}
			})
		})
	}
}

// TestHealthCheckThatCannotGo: when no other target group can be made the old one stays, the Service's owner hears of it once, and all
// else goes on. A day later all of that is tried again.
func TestHealthCheckThatCannotGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{Switches: emulator.Switches{Updates: emulator.Merge}})
		nodes := l.nodes("a")
		web := l.unchecked(nodes)
		refused, err := l.emulator.Inject(fault.Rule{Operation: "POST /v1/loadbalancer-target-groups", Effect: fault.Effect{Kind: fault.Quota}})
		if err != nil {
			t.Fatal(err)
		}
		failures := 0
		for range 12 {
			<-time.After(time.Hour)
			if _, err := l.ensure(web, nodes); err != nil {
				failures++
			}
		}
		if failures != replacementTries || len(l.writes()) != removalTries {
			t.Errorf("%d failures and the writes %v; want %d and %d", failures, l.writes(), replacementTries, removalTries)
		}
		told := l.eventsAbout(reasonHealthCheckKept)
		if len(told) != 1 || !strings.Contains(told[0], l.group().Name) || !strings.Contains(told[0], ":32000/healthz") {
			t.Errorf("told %q; want one event that names the target group and its health check", told)
		}

		l.emulator.ResetCounters()
		web = web.DeepCopy()
		web.Annotations[annotationPrefix+"loadbalancing-policy"] = "MAGLEV"
		l.settle(web, nodes)
		if policy := l.group().LoadbalancingPolicy; policy == nil || *policy != "MAGLEV" || len(l.writes()) != 1 {
			t.Errorf("after a change of the policy it is %v, with the writes %v", policy, l.writes())
		}

		l.emulator.ClearFaults(refused)
		<-time.After(removalMemory)
		l.hours(3, web, nodes, false)
		if group := l.group(); group.HealthCheck != nil {
			t.Errorf("a day later there is still %v", group.HealthCheck)
		}
	})
}

// TestHealthCheckThatWasPutBack: somebody who adds it again is overruled once, and a Service that wants one again starts anew.
func TestHealthCheckThatWasPutBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{})
		nodes, web := l.nodes("a"), service("web", 80)
		removedAgain := func() bool {
			local(web, true)
			l.settle(web, nodes)
			check := l.group().HealthCheck
			local(web, false)
			l.settle(web, nodes)
			group := l.group()
			update := iaas.UpdateTargetGroup{Name: group.Name, Labels: group.Labels, TargetPort: group.TargetPort, Protocol: group.Protocol, HealthCheck: check}
			if _, err := l.api().UpdateTargetGroup(t.Context(), iaas.UpdateTargetGroupRequest{Identity: group.Identity, UpdateTargetGroup: update}); err != nil {
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
		if told := l.eventsAbout(reasonHealthCheckKept); len(told) > 0 {
			t.Errorf("told %q, want nothing", told)
		}
	})
}

func TestRemovals(t *testing.T) {
	with := func(port int32) inventory.TargetGroup {
		return inventory.TargetGroup{ID: "tg-1", HealthCheck: &iaas.BackendHealthCheck{Port: port}}
	}
	var r removals
	for times := range removalTries {
		if r.inVain(with(1)) {
			t.Errorf("given up after %d removals, want %d", times, removalTries)
		}
		r.note(with(1))
	}
	if !r.inVain(with(1)) || r.inVain(with(2)) || r.inVain(inventory.TargetGroup{ID: "tg-1"}) || r.inVain(inventory.TargetGroup{ID: "tg-2", HealthCheck: with(1).HealthCheck}) {
		t.Error("another health check, none, or another group counts as the one that stays, or that one does not")
	}
	for times := range replacementTries {
		if !r.replaceable(with(1)) {
			t.Errorf("not replaced after %d failures, want %d", times, replacementTries)
		}
		r.failed("tg-1")
	}
	if r.replaceable(with(1)) || !r.stuck("tg-1") || r.stuck("tg-2") {
		t.Error("it is tried again and again to replace it")
	}
	if !r.tell(with(1)) || r.tell(with(1)) {
		t.Error("it is not told once")
	}
	r.forget("tg-1")
	if r.inVain(with(1)) || r.stuck("tg-1") || !r.tell(with(1)) {
		t.Error("a group that was forgotten is known")
	}
}
