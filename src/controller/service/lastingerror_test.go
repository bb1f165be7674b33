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

// TestLastingRefusal: what only a change of the Service can end is one event and one condition. It is not tried again,
// and is no error in the log; a change of the Service is served at once.
func TestLastingRefusal(t *testing.T) {
	inRig(t, func(r *rig) {
		r.start(1)
		r.cloud.set(func(p *plain) {
			p.refused = cloud.UntilChanged(cloud.AlreadyReported(errors.New("no port can be opened")))
		})
		r.addService("web", func(s *corev1.Service) { s.Annotations = map[string]string{"plain/wrong": "ports"} })
		r.settle()
		wantList(r, "events", r.told(), "Warning Wrong")
		want(r, "what it asks for", r.condition("web", "LoadBalancerConfigValid"), "False Wrong")
		want(r, "conditions about a load balancer that nobody makes", r.condition("web", conditionProvisioned)+
			r.condition("web", conditionSynced), "")
		looks := r.looks()
		<-time.After(driftPeriod - 10*time.Second)
		want(r, "looks without a change", r.looks()-looks, 0)

		var lines []string
		logger := funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{})
		r.controller.serve(klog.NewContext(t.Context(), logger), "shop/web")
		wantList(r, "lines in the log", lines)
		<-time.After(3 * driftPeriod)
		wantList(r, "later events", r.told())

		r.cloud.set(func(p *plain) { p.refused = nil })
		r.changeService("web", func(s *corev1.Service) { delete(s.Annotations, "plain/wrong") })
		r.settle()
		want(r, "once it has changed", r.condition("web", conditionProvisioned), "True Provisioned")
	})
}

// TestLastingRefusalOfOneThatServed: its conditions do not go on saying that it serves as it should.
func TestLastingRefusalOfOneThatServed(t *testing.T) {
	inRig(t, func(r *rig) {
		r.serve(1)
		r.cloud.set(func(p *plain) { p.refused = cloud.UntilChanged(errors.New("no port can be opened")) })
		r.changeService("web", func(s *corev1.Service) { s.Annotations = map[string]string{"changed": "true"} })
		r.settle()
		want(r, "in sync", r.condition("web", conditionSynced), "False Failed")
	})
}

// TestHealthInTheCondition: that a load balancer is there does not say that it serves. The condition says what the
// cloud tells about the health of targets, as of the latest look, and is written only when that changes.
func TestHealthInTheCondition(t *testing.T) {
	inRig(t, func(r *rig) {
		r.cloud.set(func(p *plain) { p.health = "Nobody knows." })
		r.serve(1)
		message := func() string {
			condition, _ := find(r.service("web").Status.Conditions, conditionProvisioned)
			return condition.Message
		}
		want(r, "at first", message(), "Nobody knows.")
		r.kubernetesWrites()
		<-time.After(3 * driftPeriod)
		wantList(r, "writes while nothing changes", r.kubernetesWrites())
		r.cloud.set(func(p *plain) { p.health = "One of two is healthy." })
		<-time.After(3 * driftPeriod)
		want(r, "later", message(), "One of two is healthy.")
		wantList(r, "writes after a change", r.kubernetesWrites(), "patch services/status")
	})
}
