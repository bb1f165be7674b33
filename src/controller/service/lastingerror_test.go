package service

import (
	"errors"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// TestLastingErrorIsNotRetried: an error that only a change of the Service can end causes one event and one condition.
// It is not retried, and is not in the log as an error. A change of the Service is reconciled at once. The conditions
// of a ready load balancer show the error.
func TestLastingErrorIsNotRetried(t *testing.T) {
	inRig(t, func(r *rig) {
		r.start(1)
		lasting := cloud.Reason{Err: errors.New("no port can be opened"), Until: cloud.ServiceChanges, Reported: true}
		r.cloud.set(func(p *fakeCloud) { p.refusedErr = lasting })
		r.addService("web", func(s *corev1.Service) { s.Annotations = map[string]string{"plain/wrong": "ports"} })
		r.waitForSync()
		wantList(r, "events", r.events(), "Warning Wrong")
		want(r, "what it requests", r.condition("web", "LoadBalancerConfigValid"), "False Wrong")
		want(r, "conditions about a load balancer that is not created", r.condition("web", conditionProvisioned)+
			r.condition("web", conditionSynced), "")
		comparisons := r.comparisons()
		<-time.After(driftPeriod - 10*time.Second)
		want(r, "comparisons without a change", r.comparisons()-comparisons, 0)

		var lines []string
		logger := funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{})
		r.controller.processKey(klog.NewContext(t.Context(), logger), "shop/web")
		wantList(r, "lines in the log", lines)
		<-time.After(3 * driftPeriod)
		wantList(r, "later events", r.events())

		r.cloud.set(func(p *fakeCloud) { p.refusedErr = nil })
		r.changeService("web", func(s *corev1.Service) { delete(s.Annotations, "plain/wrong") })
		r.waitForSync()
		want(r, "once it has changed", r.condition("web", conditionProvisioned), "True Provisioned")

		r.cloud.set(func(p *fakeCloud) { p.refusedErr = lasting })
		r.changeService("web", func(s *corev1.Service) { s.Annotations = map[string]string{"changed": "true"} })
		r.waitForSync()
		want(r, "a ready one is in sync", r.condition("web", conditionSynced), "False Failed")
	})
}

// TestHealthIsInTheCondition: the condition contains the health of the targets at the latest diff, and is written only
// if the health changes.
func TestHealthIsInTheCondition(t *testing.T) {
	inRig(t, func(r *rig) {
		r.cloud.set(func(p *fakeCloud) { p.health = "It is unknown." })
		r.startWithService(1)
		message := func() string {
			condition, _ := findCondition(r.service("web").Status.Conditions, conditionProvisioned)
			return condition.Message
		}
		want(r, "at first", message(), "It is unknown.")
		r.takeKubernetesWrites()
		<-time.After(3 * driftPeriod)
		wantList(r, "writes while nothing changes", r.takeKubernetesWrites())
		r.cloud.set(func(p *fakeCloud) { p.health = "One of two is healthy." })
		<-time.After(3 * driftPeriod)
		want(r, "later", message(), "One of two is healthy.")
		wantList(r, "writes after a change", r.takeKubernetesWrites(), "patch services/status")
	})
}
