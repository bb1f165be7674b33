package service

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/service/helpers"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// TestLifeOfAService: finalizer, load balancer, address, conditions and events; and nothing of it is left in the end.
func TestLifeOfAService(t *testing.T) {
	inRig(t, func(r *rig) {
		r.cloud.takes = 20 * time.Second
		r.start(2)
		r.addService("web")
		r.settle()
		wantList(r, "writes", r.cloud.done(), "create load balancer web")
		want(r, "finalizer", helpers.HasLBFinalizer(r.service("web")), true)
		want(r, "while it is made", r.condition("web", conditionProvisioned), "False Waiting")
		<-time.After(30 * time.Second)
		service := r.service("web")
		want(r, "address", fmt.Sprint(addressesOf(service.Status.LoadBalancer)), "[192.0.2.1]")
		want(r, "provisioned", r.condition("web", conditionProvisioned), "True Provisioned")
		want(r, "targets", r.cloud.has()["web"], "80/TCP to 30080 on vm-a vm-b")
		wantList(r, "events", r.told(), "Normal EnsuringLoadBalancer", "Normal EnsuredLoadBalancer")

		r.changeService("web", func(s *corev1.Service) { s.Spec.Ports[0].Port = 81 })
		r.settle()
		wantList(r, "writes", r.cloud.done(), "update load balancer web: 80/TCP to 30080 becomes 81/TCP to 30080")
		wantList(r, "events", r.told(), "Normal EnsuringLoadBalancer", "Normal EnsuredLoadBalancer")

		r.deleteService("web")
		r.settle()
		want(r, "left in the cloud", len(r.cloud.has()), 0)
		want(r, "finalizer of a Service that is gone", helpers.HasLBFinalizer(r.service("web")), false)
		wantList(r, "events", r.told(), "Normal DeletingLoadBalancer", "Normal DeletedLoadBalancer")
		want(r, "remembered", len(r.controller.memories.all()), 0)
	})
}

// TestUnchangedServiceCostsNothing: no write to the cloud or to Kubernetes, and no event, in an hour with all its looks
// for drift.
func TestUnchangedServiceCostsNothing(t *testing.T) {
	inRig(t, func(r *rig) {
		r.serve(2)
		r.cloud.done()
		r.told()
		r.kubernetesWrites()
		<-time.After(time.Hour)
		wantList(r, "writes", r.cloud.done())
		wantList(r, "writes to Kubernetes", r.kubernetesWrites())
		wantList(r, "events", r.told())
		want(r, "refreshes", r.cloud.refreshes, 12)

		r.start(2) // and a restart neither
		wantList(r, "writes after a restart", r.cloud.done())
		wantList(r, "writes to Kubernetes after a restart", r.kubernetesWrites())
		wantList(r, "events after a restart", r.told())
	})
}

// TestNobodyWaits: one worker, and a load balancer that is never ready.
func TestNobodyWaits(t *testing.T) {
	inRig(t, func(r *rig) {
		r.cloud.takes = -1
		r.start(1)
		for i := range 20 {
			r.addService(fmt.Sprintf("web-%02d", i))
		}
		r.settle()
		want(r, "load balancers", len(r.cloud.has()), 20)
		r.told()
		<-time.After(6 * time.Minute)
		slow := r.told()
		want(r, "told to be slow", len(slow), 20)
		want(r, "event", slow[0], "Warning LoadBalancerSlow")
		r.cloud.set(func(p *plain) { p.takes = 0 })
		<-time.After(2 * time.Minute)
		want(r, "serves in the end", r.condition("web-07", conditionProvisioned), "True Provisioned")
	})
}

// TestTypeChanges: what it had goes, with address, conditions and finalizer; and comes back.
func TestTypeChanges(t *testing.T) {
	inRig(t, func(r *rig) {
		r.serve(2)
		r.changeService("web", func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeClusterIP })
		r.settle()
		service := r.service("web")
		want(r, "left in the cloud", len(r.cloud.has()), 0)
		want(r, "status and finalizers", fmt.Sprint(service.Status, service.Finalizers),
			fmt.Sprint(corev1.ServiceStatus{}, []string{}))
		r.changeService("web", func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeLoadBalancer })
		r.settle()
		want(r, "back again", r.condition("web", conditionProvisioned), "True Provisioned")
	})
}

// TestTypeChangedWhileNobodyLooked: the finalizer says that there is something to remove.
func TestTypeChangedWhileNobodyLooked(t *testing.T) {
	inRig(t, func(r *rig) {
		r.serve(2)
		r.stop()
		r.changeService("web", func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeNodePort })
		r.start(2)
		want(r, "left in the cloud", len(r.cloud.has()), 0)
		want(r, "finalizer", helpers.HasLBFinalizer(r.service("web")), false)
	})
}

// TestRecreatedUnderTheSameName: the one before had lost its finalizer, so nobody waited for its load balancer to go.
func TestRecreatedUnderTheSameName(t *testing.T) {
	inRig(t, func(r *rig) {
		first := r.serve(2)
		r.strip("web")
		second := r.addService("web")
		r.settle()
		r.cloud.set(func(p *plain) {
			if p.balancers[first.UID] != nil || p.balancers[second.UID] == nil {
				t.Errorf("the cloud has %v, want one for %s only", p.balancers, second.UID)
			}
		})
		r.strip("web")
		r.settle()
		want(r, "left in the cloud", len(r.cloud.has()), 0)
	})
}

// TestFinalizerIsNeverPutBack on a Service that is being deleted, whatever happens to nodes meanwhile.
func TestFinalizerIsNeverPutBack(t *testing.T) {
	inRig(t, func(r *rig) {
		r.start(2)
		r.addService("web", func(s *corev1.Service) { s.Finalizers = []string{"example.com/other"} })
		r.settle()
		r.deleteService("web")
		r.addNode("c")
		r.settle()
		wantList(r, "finalizers", r.service("web").Finalizers, "example.com/other")
		r.kubernetesWrites()
		r.addNode("d")
		<-time.After(time.Hour)
		wantList(r, "writes to Kubernetes", r.kubernetesWrites())
		want(r, "left in the cloud", len(r.cloud.has()), 0)
	})
}

// TestFinalizerComesFirst: without it nothing is made, because nobody would wait for its end.
func TestFinalizerComesFirst(t *testing.T) {
	inRig(t, func(r *rig) {
		r.cluster.PrependReactor("patch", "services", refuse)
		r.start(1)
		r.addService("web")
		<-time.After(time.Minute)
		want(r, "made", len(r.cloud.has()), 0)
	})
}

// TestClasses: ours are served, and those of others keep what they have, also finalizer and addresses, in life and
// death.
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
		r.settle()
		want(r, "served", fmt.Sprint(r.cloud.has()),
			"map[none:80/TCP to 30080 on vm-a vm-b ours:80/TCP to 30080 on vm-a vm-b]")
		r.kubernetesWrites()
		r.changeService("theirs", func(s *corev1.Service) {
			s.Spec.Type, s.Spec.LoadBalancerClass = corev1.ServiceTypeClusterIP, nil
		})
		r.settle()
		r.changeService("theirs", func(s *corev1.Service) {
			s.Spec.Type, s.Spec.LoadBalancerClass = corev1.ServiceTypeLoadBalancer, &theirs
		})
		r.deleteService("theirs")
		<-time.After(time.Hour)
		wantList(r, "writes to Kubernetes", r.kubernetesWrites())
		want(r, "finalizer of others", helpers.HasLBFinalizer(r.service("theirs")), true)
	})
	inRig(t, func(r *rig) {
		r.behaviour.Class, r.behaviour.OnlyClass = ours, true
		r.addService("none")
		r.addService("ours", classed(&ours))
		r.start(2)
		want(r, "served", fmt.Sprint(r.cloud.has()), "map[ours:80/TCP to 30080 on vm-a vm-b]")
	})
}

// TestClassOfOthersFromNowOn: a Service that was ours, and is that of others now, leaves nothing of ours behind when
// this process has served it. When nobody looked, somebody else may serve what there is: it is reported, and never
// removed.
func TestClassOfOthersFromNowOn(t *testing.T) {
	theirs := "example.com/theirs"
	handOver := func(s *corev1.Service) { s.Spec.LoadBalancerClass = &theirs }
	tests := []struct {
		looking, orphans bool
		left             int
	}{{true, false, 1}, {false, false, 2}, {false, true, 2}}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("looking %v, removing orphans %v", tt.looking, tt.orphans), func(t *testing.T) {
			inRig(t, func(r *rig) {
				r.behaviour.RemoveOrphans = tt.orphans
				r.start(2)
				r.addService("other")
				r.addService("web")
				r.settle()
				if !tt.looking {
					r.stop()
				}
				r.changeService("web", handOver)
				if !tt.looking {
					r.start(2)
				}
				<-time.After(3 * driftPeriod)
				want(r, "left in the cloud", len(r.cloud.has()), tt.left)
				want(r, "finalizer, which others may count on now", helpers.HasLBFinalizer(r.service("web")), true)
			})
		})
	}
}

// TestFailedLookIsNoDrift: a change that could not be made at once is still one of the Service, or of the nodes, in
// every mode.
func TestFailedLookIsNoDrift(t *testing.T) {
	for _, mode := range []cloud.DriftMode{cloud.Repair, cloud.Report, cloud.Off} {
		inRig(t, func(r *rig) {
			r.behaviour.Drift = mode
			r.serve(1)
			r.cloud.set(func(p *plain) { p.blind = errAway })
			r.changeService("web", func(s *corev1.Service) { s.Spec.Ports[0].Port = 81 })
			r.deleteNode("b")
			r.settle()
			r.cloud.set(func(p *plain) { p.blind, p.refusing = nil, errors.New("quota exceeded") })
			<-time.After(time.Minute)
			r.cloud.set(func(p *plain) { p.refusing = nil })
			<-time.After(5 * time.Minute)
			want(r, "in mode "+string(mode)+" the cloud has", r.cloud.has()["web"], "81/TCP to 30080 on vm-a")
			for _, event := range r.told() {
				if strings.Contains(event, "Drift") || strings.Contains(event, "NotRepaired") {
					t.Errorf("in mode %s: event %q", mode, event)
				}
			}
		})
	}
}

// TestOutageDoesNotHideThatItServes: what cannot be looked at has not stopped.
func TestOutageDoesNotHideThatItServes(t *testing.T) {
	inRig(t, func(r *rig) {
		r.serve(1)
		r.kubernetesWrites()
		r.cloud.set(func(p *plain) { p.blind = errAway })
		r.addNode("c")
		<-time.After(10 * time.Minute)
		wantList(r, "writes to Kubernetes", r.kubernetesWrites())
		want(r, "condition", r.condition("web", conditionProvisioned), "True Provisioned")
		r.cloud.set(func(p *plain) { p.blind, p.refusing = nil, errors.New("quota exceeded") })
		<-time.After(10 * time.Minute)
		want(r, "condition", r.condition("web", conditionProvisioned), "True Provisioned")
		want(r, "condition", r.condition("web", conditionSynced), "False Failed")
		r.cloud.set(func(p *plain) { p.refusing = nil })
		<-time.After(10 * time.Minute)
		want(r, "condition", r.condition("web", conditionSynced), "True AsWanted")
	})
}

// TestStopIsNoFailure: what the process leaves unfinished the next one does.
func TestStopIsNoFailure(t *testing.T) {
	inRig(t, func(r *rig) {
		writing := make(chan struct{}, 1)
		r.cloud.during = func() { writing <- struct{}{}; <-time.After(time.Second) }
		r.cloud.twoSteps = true
		r.start(1)
		r.addService("web")
		<-writing
		r.stop()
		wantList(r, "events", r.told(), "Normal EnsuringLoadBalancer")
	})
}

// TestStopFinishesTheWrite that is under way, and begins no other.
func TestStopFinishesTheWrite(t *testing.T) {
	inRig(t, func(r *rig) {
		writing := make(chan struct{})
		r.cloud.during = func() { close(writing); <-time.After(10 * time.Second) }
		r.start(1)
		r.addService("one")
		r.addService("two")
		<-writing
		began := time.Now()
		r.stop()
		want(r, "stopping took", time.Since(began).Round(time.Second), 10*time.Second)
		want(r, "made", len(r.cloud.has()), 1)
	})
}

// TestStatusIsPutBack when somebody changes it, and the finalizer too.
func TestStatusIsPutBack(t *testing.T) {
	inRig(t, func(r *rig) {
		r.serve(1)
		r.changeService("web", func(s *corev1.Service) { s.Status.LoadBalancer = corev1.LoadBalancerStatus{} })
		r.settle()
		want(r, "address", fmt.Sprint(addressesOf(r.service("web").Status.LoadBalancer)), "[192.0.2.1]")
		r.changeService("web", func(s *corev1.Service) { s.Finalizers = nil })
		r.settle()
		want(r, "finalizer", helpers.HasLBFinalizer(r.service("web")), true)
	})
}

// TestNoNodePorts: a Service that cannot be served says why.
func TestNoNodePorts(t *testing.T) {
	inRig(t, func(r *rig) {
		r.start(1)
		r.addService("web", func(s *corev1.Service) { s.Spec.Ports[0].NodePort = 0 })
		r.settle()
		wantList(r, "events", r.told(), "Warning SyncLoadBalancerFailed")
		want(r, "condition", r.condition("web", conditionProvisioned), "False Failed")
	})
}
