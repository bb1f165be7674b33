package service

import (
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/service/helpers"
)

// TestServiceLifecycle: a Service gets a finalizer, a load balancer, an address, conditions and events. After its
// deletion, none of its state remains.
func TestServiceLifecycle(t *testing.T) {
	inRig(t, func(r *rig) {
		r.cloud.readyAfter = 20 * time.Second
		r.start(2)
		r.addService("web")
		r.waitForSync()
		wantList(r, "writes", r.cloud.takeWrites(), "create load balancer web")
		want(r, "finalizer", helpers.HasLBFinalizer(r.service("web")), true)
		want(r, "while it is made", r.condition("web", conditionProvisioned), "False Waiting")
		<-time.After(30 * time.Second)
		service := r.service("web")
		want(r, "address", fmt.Sprint(addressesOf(service.Status.LoadBalancer)), "[192.0.2.1]")
		want(r, "provisioned", r.condition("web", conditionProvisioned), "True Provisioned")
		want(r, "targets", r.cloud.contents()["web"], "80/TCP to 30080 on vm-a vm-b")
		wantList(r, "events", r.events(), "Normal EnsuringLoadBalancer", "Normal EnsuredLoadBalancer")

		r.changeService("web", func(s *corev1.Service) { s.Spec.Ports[0].Port = 81 })
		r.waitForSync()
		wantList(r, "writes", r.cloud.takeWrites(), "update load balancer web: 80/TCP to 30080 becomes 81/TCP to 30080")
		wantList(r, "events", r.events(), "Normal EnsuringLoadBalancer", "Normal EnsuredLoadBalancer")

		r.deleteService("web")
		r.waitForSync()
		want(r, "left in the cloud", len(r.cloud.contents()), 0)
		want(r, "finalizer of a Service that is gone", helpers.HasLBFinalizer(r.service("web")), false)
		wantList(r, "events", r.events(), "Normal DeletingLoadBalancer", "Normal DeletedLoadBalancer")
		want(r, "remembered", len(r.controller.states.keys()), 0)
	})
}

// TestUnchangedServiceCausesNoWrite: in an hour with checks for drift, there is no write to the cloud or to Kubernetes,
// and no event.
func TestUnchangedServiceCausesNoWrite(t *testing.T) {
	inRig(t, func(r *rig) {
		r.startWithService(2)
		r.cloud.takeWrites()
		r.events()
		r.takeKubernetesWrites()
		<-time.After(time.Hour)
		wantList(r, "writes", r.cloud.takeWrites())
		wantList(r, "writes to Kubernetes", r.takeKubernetesWrites())
		wantList(r, "events", r.events())
		want(r, "refreshes", r.cloud.refreshes, 12)

		r.start(2) // nor after a restart
		wantList(r, "writes after a restart", r.cloud.takeWrites())
		wantList(r, "writes to Kubernetes after a restart", r.takeKubernetesWrites())
		wantList(r, "events after a restart", r.events())
	})
}

// TestWorkersDoNotWait: one worker reconciles other Services while load balancers are not ready.
func TestWorkersDoNotWait(t *testing.T) {
	inRig(t, func(r *rig) {
		r.cloud.readyAfter = -1
		r.start(1)
		for i := range 20 {
			r.addService(fmt.Sprintf("web-%02d", i))
		}
		r.waitForSync()
		want(r, "load balancers", len(r.cloud.contents()), 20)
		r.events()
		<-time.After(6 * time.Minute)
		slow := r.events()
		want(r, "marked as slow", len(slow), 20)
		want(r, "event", slow[0], "Warning LoadBalancerSlow")
		r.cloud.set(func(p *fakeCloud) { p.readyAfter = 0 })
		<-time.After(2 * time.Minute)
		want(r, "serves in the end", r.condition("web-07", conditionProvisioned), "True Provisioned")
	})
}

// TestServiceIsReplaced: the load balancer of a Service without a finalizer is deleted after another Service with its
// name was created.
func TestServiceIsReplaced(t *testing.T) {
	inRig(t, func(r *rig) {
		first := r.startWithService(2)
		r.deleteIgnoringFinalizers("web")
		second := r.addService("web")
		r.waitForSync()
		r.cloud.set(func(p *fakeCloud) {
			if p.balancers[first.UID] != nil || p.balancers[second.UID] == nil {
				t.Errorf("the cloud has %v, want one for %s only", p.balancers, second.UID)
			}
		})
		r.deleteIgnoringFinalizers("web")
		r.waitForSync()
		want(r, "left in the cloud", len(r.cloud.contents()), 0)
	})
}

// TestDeletedServiceGetsNoFinalizer: changes of nodes do not add the finalizer to a Service that is being deleted.
func TestDeletedServiceGetsNoFinalizer(t *testing.T) {
	inRig(t, func(r *rig) {
		r.start(2)
		r.addService("web", func(s *corev1.Service) { s.Finalizers = []string{"example.com/other"} })
		r.waitForSync()
		r.deleteService("web")
		r.addNode("c")
		r.waitForSync()
		wantList(r, "finalizers", r.service("web").Finalizers, "example.com/other")
		r.takeKubernetesWrites()
		r.addNode("d")
		<-time.After(time.Hour)
		wantList(r, "writes to Kubernetes", r.takeKubernetesWrites())
		want(r, "left in the cloud", len(r.cloud.contents()), 0)
	})
}

// TestFinalizerIsAddedBeforeTheFirstWrite: without the finalizer no load balancer is created, because it would not be
// deleted with the Service.
func TestFinalizerIsAddedBeforeTheFirstWrite(t *testing.T) {
	inRig(t, func(r *rig) {
		r.cluster.PrependReactor("patch", "services", forbid)
		r.start(1)
		r.addService("web")
		<-time.After(time.Minute)
		want(r, "made", len(r.cloud.contents()), 0)
	})
}

// TestClasses: Services of the configured class are reconciled. Services of other classes keep their finalizer and
// addresses, also when they are deleted.
func TestClasses(t *testing.T) {
	ours, theirs := "example.com/ours", "example.com/theirs"
	classed := func(class *string) func(*corev1.Service) {
		return func(s *corev1.Service) { s.Spec.LoadBalancerClass = class }
	}
	inRig(t, func(r *rig) {
		r.behaviour.Class = ours
		r.start(2)
		r.addService("none")
		r.addService("ours", classed(&ours))
		r.addService("theirs", classed(&theirs), func(s *corev1.Service) {
			s.Finalizers = []string{helpers.LoadBalancerCleanupFinalizer}
			s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "203.0.113.1"}}
		})
		r.waitForSync()
		want(r, "served", fmt.Sprint(r.cloud.contents()),
			"map[none:80/TCP to 30080 on vm-a vm-b ours:80/TCP to 30080 on vm-a vm-b]")
		r.takeKubernetesWrites()
		r.deleteService("theirs")
		<-time.After(time.Hour)
		wantList(r, "writes to Kubernetes", r.takeKubernetesWrites())
		want(r, "finalizer of others", helpers.HasLBFinalizer(r.service("theirs")), true)
	})
}

// TestOutageDoesNotChangeConditions: while the cloud cannot be read, a load balancer that was ready counts as ready.
func TestOutageDoesNotChangeConditions(t *testing.T) {
	inRig(t, func(r *rig) {
		r.startWithService(1)
		r.takeKubernetesWrites()
		r.cloud.set(func(p *fakeCloud) { p.diffErr = errUnavailable })
		r.addNode("c")
		<-time.After(10 * time.Minute)
		wantList(r, "writes to Kubernetes", r.takeKubernetesWrites())
		want(r, "condition", r.condition("web", conditionProvisioned), "True Provisioned")
		r.cloud.set(func(p *fakeCloud) { p.diffErr, p.writeErr = nil, errors.New("quota exceeded") })
		<-time.After(10 * time.Minute)
		want(r, "condition", r.condition("web", conditionProvisioned), "True Provisioned")
		want(r, "condition", r.condition("web", conditionSynced), "False Failed")
		r.cloud.set(func(p *fakeCloud) { p.writeErr = nil })
		<-time.After(10 * time.Minute)
		want(r, "condition", r.condition("web", conditionSynced), "True AsWanted")
	})
}

// TestStopIsNotReportedAsFailure: writes that a process does not finish cause no event, because the next process makes
// them.
func TestStopIsNotReportedAsFailure(t *testing.T) {
	inRig(t, func(r *rig) {
		writing := make(chan struct{}, 1)
		r.cloud.onWrite = func() { writing <- struct{}{}; <-time.After(time.Second) }
		r.cloud.twoSteps = true
		r.start(1)
		r.addService("web")
		<-writing
		r.stop()
		wantList(r, "events", r.events(), "Normal EnsuringLoadBalancer")
	})
}

// TestStatusIsRestored: the addresses and the finalizer are restored if they are removed.
func TestStatusIsRestored(t *testing.T) {
	inRig(t, func(r *rig) {
		r.startWithService(1)
		r.changeService("web", func(s *corev1.Service) { s.Status.LoadBalancer = corev1.LoadBalancerStatus{} })
		r.waitForSync()
		want(r, "address", fmt.Sprint(addressesOf(r.service("web").Status.LoadBalancer)), "[192.0.2.1]")
		r.changeService("web", func(s *corev1.Service) { s.Finalizers = nil })
		r.waitForSync()
		want(r, "finalizer", helpers.HasLBFinalizer(r.service("web")), true)
	})
}
