package thalassa

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/service/helpers"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
)

// situation is a change of a Service, or of its objects by hand, and a part of the plan that a leader then has; "" if
// it has none.
type situation struct {
	begin func(l *lab, web *corev1.Service)
	plan  string
}

var situations = map[string]situation{
	"nothing differs": {func(*lab, *corev1.Service) {}, ""},
	"the load balancer and its target groups are deleted": {func(l *lab, _ *corev1.Service) { l.removeByHand() },
		"create load balancer"},
	"a port is added": {func(_ *lab, web *corev1.Service) {
		web.Spec.Ports = append(web.Spec.Ports, service("web", 8080).Spec.Ports...)
	}, "create listener"},
	"max-targets is lower": {func(_ *lab, web *corev1.Service) { annotated("max-targets", "1")(web) },
		"2 machines become 1"},
	"it adopts what does not exist": {func(l *lab, web *corev1.Service) {
		l.removeByHand()
		web.Annotations[label.AnnotationPrefix+"adopt"] = "lb-0123456789abcdef0123"
	}, ""},
}

// inSituation calls check with the plan of a leader that has compared a Service for an hour before the situation began.
func inSituation(t *testing.T, check func(l *lab, web *corev1.Service, targets cloud.Targets,
	leader cloud.Comparison)) {
	t.Helper()
	for name, s := range situations {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newFeatureLab(t)
				nodes, web := l.nodes("a", "b", "c"), serviceWith(annotated("max-targets", "2"))
				setReady(nodes)
				web.Finalizers = []string{helpers.LoadBalancerCleanupFinalizer}
				web.Status.LoadBalancer = *l.settle(web, nodes)
				<-time.After(time.Hour)
				l.settle(web, nodes)
				s.begin(l, web)
				<-time.After(time.Hour)
				targets := cloud.ChooseTargets(nodes, identify)
				leader := l.diff(l.cloud, web, targets)
				if plan := leader.Plan.String(); !strings.Contains(plan, s.plan) || s.plan == "" && plan != "" {
					t.Errorf("the leader plans %q, want %q", plan, s.plan)
				}
				check(l, web, targets, leader)
			})
		})
	}
}

// diff compares a Service that is settled.
func (l *lab) diff(of *Cloud, web *corev1.Service, targets cloud.Targets) cloud.Comparison {
	l.Helper()
	found, err := of.balancers.Diff(l.Context(), web, targets, true)
	if err != nil {
		l.Fatal(err)
	}
	return found
}

// TestCompareTwice: comparing twice gives the same plan, however much time is between.
func TestCompareTwice(t *testing.T) {
	inSituation(t, func(l *lab, web *corev1.Service, targets cloud.Targets, first cloud.Comparison) {
		for _, pause := range []time.Duration{0, time.Second, time.Minute, time.Hour} {
			<-time.After(pause)
			again := l.diff(l.cloud, web, targets)
			diff := cmp.Diff(first.Plan, again.Plan)
			if diff != "" || messageOf(first.Refused) != messageOf(again.Refused) {
				l.Errorf("after %s: refused %v and %v, plan (-first +again):\n%s", pause, first.Refused, again.Refused,
					diff)
			}
		}
	})
}

func messageOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestPlanOfAFreshProcess: a program that only reads, and has just begun, plans what the leader plans.
func TestPlanOfAFreshProcess(t *testing.T) {
	inSituation(t, func(l *lab, web *corev1.Service, targets cloud.Targets, leader cloud.Comparison) {
		l.restart()
		l.cloud.readOnly()
		reads := l.diff(l.cloud, web, targets)
		if diff := cmp.Diff(leader.Plan, reads.Plan); diff != "" || reads.Wait != nil ||
			messageOf(leader.Refused) != messageOf(reads.Refused) {
			l.Errorf("refused %v and %v, wait %v, plan (-leader +reads):\n%s", leader.Refused, reads.Refused,
				reads.Wait, diff)
		}
	})
}

// TestNewLeaderWaits: a leader that has just begun writes nothing for a Service without a load balancer until lists
// must contain what the one before created, also if they contain its target groups.
func TestNewLeaderWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newFeatureLab(t)
		nodes, web := l.nodes("a"), serviceWith(nil)
		web.Finalizers = []string{helpers.LoadBalancerCleanupFinalizer}
		targets := cloud.ChooseTargets(nodes, identify)
		first := l.diff(l.cloud, web, targets)
		if len(first.Plan) > 0 || first.Wait == nil {
			t.Fatalf("plan %v, wait %v", first.Plan, first.Wait)
		}
		<-time.After(first.Wait.Within)
		l.emulator.ResetCounters()
		if then := l.diff(l.cloud, web, targets); len(then.Plan) == 0 || then.Wait != nil {
			t.Errorf("after %s: plan %v, wait %v", first.Wait.Within, then.Plan, then.Wait)
		}
		if lists := l.emulator.Counters()["GET /v1/loadbalancers"]; lists != 1 {
			t.Errorf("%d lists after the time, want one that began after it", lists)
		}
		if _, err := l.cloud.balancers.Apply(l.Context(), web, l.diff(l.cloud, web, targets).Plan[:1]); err != nil {
			t.Fatal(err)
		}
		l.restart()
		if begun := l.diff(l.cloud, web, targets); len(begun.Plan) > 0 || begun.Wait == nil {
			t.Errorf("with a part of the objects: plan %v, wait %v", begun.Plan, begun.Wait)
		}
	})
}
