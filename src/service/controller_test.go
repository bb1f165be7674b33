package service

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cloud-provider/service/helpers"

	"github.com/thalassa-cloud/thalassa-ccm/src/loadbalancer"
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
		want(r, "provisioned", r.condition("web", conditionProvisioned), "True Serving")
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

// TestUnchangedServiceCostsNothing: no write to the cloud or to Kubernetes, and no event, in an hour with all its looks for drift.
func TestUnchangedServiceCostsNothing(t *testing.T) {
	inRig(t, func(r *rig) {
		r.start(2)
		r.addService("web")
		r.settle()
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
		want(r, "serves in the end", r.condition("web-07", conditionProvisioned), "True Serving")
	})
}

// TestFailureIsToldOncePerStep of the back-off, and repaired at once when the Service is.
func TestFailureIsToldOncePerStep(t *testing.T) {
	inRig(t, func(r *rig) {
		r.cloud.failing = errors.New("quota exceeded")
		r.start(1)
		r.addService("web")
		r.settle()
		wantList(r, "events", r.told(), "Normal EnsuringLoadBalancer", "Warning SyncLoadBalancerFailed")
		want(r, "condition", r.condition("web", conditionProvisioned), "False Failed")
		<-time.After(10 * time.Minute) // 5, 10, 20, 40, 80, 160, 300
		if told := r.told(); len(told) < 6 || len(told) > 8 || slices.ContainsFunc(told, func(one string) bool { return one != "Warning SyncLoadBalancerFailed" }) {
			r.Errorf("events in ten minutes: %q", told)
		}
		r.cloud.set(func(p *plain) { p.failing = nil })
		r.changeService("web", func(s *corev1.Service) { s.Annotations = map[string]string{"changed": "yes"} })
		r.settle()
		want(r, "after a change", r.condition("web", conditionProvisioned), "True Serving")
	})
}

// TestTypeChanges: what it had goes, with address, conditions and finalizer; and comes back.
func TestTypeChanges(t *testing.T) {
	inRig(t, func(r *rig) {
		r.start(2)
		r.addService("web")
		r.settle()
		r.changeService("web", func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeClusterIP })
		r.settle()
		service := r.service("web")
		want(r, "left in the cloud", len(r.cloud.has()), 0)
		want(r, "status and finalizers", fmt.Sprint(service.Status, service.Finalizers), fmt.Sprint(corev1.ServiceStatus{}, []string{}))
		r.changeService("web", func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeLoadBalancer })
		r.settle()
		want(r, "back again", r.condition("web", conditionProvisioned), "True Serving")
	})
}

// TestTypeChangedWhileNobodyLooked: the finalizer says that there is something to remove.
func TestTypeChangedWhileNobodyLooked(t *testing.T) {
	inRig(t, func(r *rig) {
		r.start(2)
		r.addService("web")
		r.settle()
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
		r.start(2)
		first := r.addService("web")
		r.settle()
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

// TestClasses: ours are served, and those of others keep what they have, also finalizer and addresses, in life and death.
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
		want(r, "served", fmt.Sprint(r.cloud.has()), "map[none:80/TCP to 30080 on vm-a vm-b ours:80/TCP to 30080 on vm-a vm-b]")
		r.kubernetesWrites()
		r.changeService("theirs", func(s *corev1.Service) { s.Spec.Type, s.Spec.LoadBalancerClass = corev1.ServiceTypeClusterIP, nil })
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

// TestClassOfOthersFromNowOn: a Service that was ours, and is that of others now, leaves nothing of ours behind when this process has
// served it. When nobody looked, somebody else may serve what there is: it is reported, and never removed.
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

// TestFailedLookIsNoDrift: a change that could not be made at once is still one of the Service, or of the nodes, in every mode.
func TestFailedLookIsNoDrift(t *testing.T) {
	for _, mode := range []loadbalancer.DriftMode{loadbalancer.Repair, loadbalancer.Report, loadbalancer.Off} {
		inRig(t, func(r *rig) {
			r.behaviour.Drift = mode
			r.start(1)
			r.addService("web")
			r.settle()
			r.told()
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

// TestNodeEventsDoNotRepeatFailures: the owner is told once per step of the back-off, whatever causes a look.
func TestNodeEventsDoNotRepeatFailures(t *testing.T) {
	inRig(t, func(r *rig) {
		r.cloud.refusing = errors.New("quota exceeded")
		r.start(1)
		r.addService("web")
		<-time.After(10 * time.Minute)
		r.told()
		for i := range 20 {
			r.addNode(fmt.Sprintf("n%d", i))
			<-time.After(2 * time.Second)
		}
		if told := r.told(); len(told) > 1 {
			t.Errorf("twenty nodes within 40 seconds: events %q", told)
		}
	})
}

// TestOutageDoesNotHideThatItServes: what cannot be looked at has not stopped.
func TestOutageDoesNotHideThatItServes(t *testing.T) {
	inRig(t, func(r *rig) {
		r.start(1)
		r.addService("web")
		r.settle()
		r.kubernetesWrites()
		r.cloud.set(func(p *plain) { p.blind = errAway })
		r.addNode("c")
		<-time.After(10 * time.Minute)
		wantList(r, "writes to Kubernetes", r.kubernetesWrites())
		want(r, "condition", r.condition("web", conditionProvisioned), "True Serving")
		r.cloud.set(func(p *plain) { p.blind, p.refusing = nil, errors.New("quota exceeded") })
		<-time.After(10 * time.Minute)
		want(r, "condition", r.condition("web", conditionProvisioned), "True Serving")
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

// TestNodes: those that join together are written together, those that leave soon, and what says nothing about targets costs nothing.
func TestNodes(t *testing.T) {
	inRig(t, func(r *rig) {
		r.start(2)
		r.addService("web")
		r.settle()
		r.cloud.done()
		r.told()
		for _, name := range []string{"c", "d", "e"} {
			r.addNode(name)
			<-time.After(200 * time.Millisecond)
		}
		r.settle()
		wantList(r, "three nodes join", r.cloud.done(), "update load balancer web: [vm-a vm-b] becomes [vm-a vm-b vm-c vm-d vm-e]")
		wantList(r, "events", r.told(), "Normal UpdatedLoadBalancer")

		looks := r.looks()
		r.changeNode("c", func(n *corev1.Node) {
			n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse}}
		})
		r.changeNode("c", func(n *corev1.Node) { n.Spec.Unschedulable = true })
		r.settle()
		want(r, "looks because a node is not ready, or cordoned", r.looks()-looks, 0)

		r.changeNode("c", func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: "ToBeDeletedByClusterAutoscaler", Effect: corev1.TaintEffectNoSchedule}}
		})
		<-time.After(leaveWindow + time.Millisecond)
		wantList(r, "marked by the autoscaler", r.cloud.done(), "update load balancer web: [vm-a vm-b vm-c vm-d vm-e] becomes [vm-a vm-b vm-d vm-e]")
		r.deleteNode("d")
		<-time.After(leaveWindow + time.Millisecond)
		wantList(r, "deleted", r.cloud.done(), "update load balancer web: [vm-a vm-b vm-d vm-e] becomes [vm-a vm-b vm-e]")
		r.changeNode("e", func(n *corev1.Node) { n.Labels = map[string]string{corev1.LabelNodeExcludeBalancers: ""} })
		<-time.After(leaveWindow + time.Millisecond)
		wantList(r, "excluded", r.cloud.done(), "update load balancer web: [vm-a vm-b vm-e] becomes [vm-a vm-b]")
	})
}

// TestFailureOfAChangeAfterDrift is told as what it is, also when a repair failed before.
func TestFailureOfAChangeAfterDrift(t *testing.T) {
	inRig(t, func(r *rig) {
		r.start(1)
		web := r.addService("web")
		r.settle()
		r.cloud.set(func(p *plain) {
			p.balancers[web.UID].machines, p.refusing = []string{"vm-x"}, errors.New("quota exceeded")
		})
		<-time.After(2 * driftPeriod)
		r.told()
		r.changeService("web", func(s *corev1.Service) { s.Spec.Ports[0].Port = 81 })
		r.settle()
		if told := r.told(); !slices.Contains(told, "Warning SyncLoadBalancerFailed") || slices.Contains(told, "Warning LoadBalancerNotRepaired") {
			t.Errorf("events %q, want one about the change", told)
		}
	})
}

// TestNodeWithoutNetworkLeaves: in every mode it is a change of the nodes, not drift.
func TestNodeWithoutNetworkLeaves(t *testing.T) {
	inRig(t, func(r *rig) {
		r.behaviour.Drift = loadbalancer.Off
		r.start(1)
		r.addService("web")
		r.settle()
		r.changeNode("a", func(n *corev1.Node) {
			n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeNetworkUnavailable, Status: corev1.ConditionTrue}}
		})
		r.settle()
		want(r, "without a network", r.cloud.has()["web"], "80/TCP to 30080 on vm-a vm-b")
		r.deleteNode("a")
		r.settle()
		want(r, "and deleted", r.cloud.has()["web"], "80/TCP to 30080 on vm-b")
	})
}

// TestNetwork: a node is not added before it has one, and not taken away when it is gone for a moment.
func TestNetwork(t *testing.T) {
	without := func(status corev1.ConditionStatus) func(*corev1.Node) {
		return func(n *corev1.Node) {
			n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeNetworkUnavailable, Status: status}}
		}
	}
	inRig(t, func(r *rig) {
		r.changeNode("b", without(corev1.ConditionTrue))
		r.start(1)
		r.addService("web")
		r.settle()
		want(r, "before", r.cloud.has()["web"], "80/TCP to 30080 on vm-a")
		r.changeNode("b", without(corev1.ConditionFalse))
		r.settle()
		want(r, "with a network", r.cloud.has()["web"], "80/TCP to 30080 on vm-a vm-b")
		r.changeNode("a", without(corev1.ConditionTrue))
		r.changeNode("b", without(corev1.ConditionTrue))
		r.settle()
		want(r, "without one for a moment", r.cloud.has()["web"], "80/TCP to 30080 on vm-a vm-b")
	})
}

// TestEventsReachTheCluster when nobody else takes them.
func TestEventsReachTheCluster(t *testing.T) {
	inRig(t, func(r *rig) {
		r.start(1)
		r.stop()
		r.recorder = true
		r.start(1)
		r.addService("web")
		r.settle()
		events, err := r.cluster.CoreV1().Events("shop").List(t.Context(), metav1.ListOptions{})
		// In virtual time two events of the same moment have the same name.
		if err != nil || len(events.Items) == 0 || events.Items[0].Source.Component != "service-controller" {
			t.Errorf("events %v, error %v; want some of the service-controller", events, err)
		}
	})
}

// TestNoNodeIsLeft: the set is emptied only when the cluster truly has no node for it, and its owner hears of it.
func TestNoNodeIsLeft(t *testing.T) {
	inRig(t, func(r *rig) {
		r.start(2)
		r.addService("web")
		r.settle()
		r.told()
		r.changeNode("a", func(n *corev1.Node) { n.Spec.ProviderID = "other://a" })
		r.changeNode("b", func(n *corev1.Node) { n.Spec.ProviderID = "" })
		r.settle()
		want(r, "nobody knows the machines", r.cloud.has()["web"], "80/TCP to 30080 on vm-a vm-b")
		r.deleteNode("a")
		r.deleteNode("b")
		r.settle()
		want(r, "no node is left", r.cloud.has()["web"], "80/TCP to 30080 on ")
		want(r, "condition", r.condition("web", "LoadBalancerTargetsComplete"), "False UnAvailableLoadBalancer")
		r.addNode("c")
		r.settle()
		want(r, "condition", r.condition("web", "LoadBalancerTargetsComplete"), "True AsWanted")
	})
}

// TestLocal: traffic goes to nodes with a ready endpoint; where there is none the nodes stay, and the owner hears of it.
func TestLocal(t *testing.T) {
	inRig(t, func(r *rig) {
		r.addNode("c")
		r.start(2)
		r.setEndpoints("web", "a")
		r.addService("web", func(s *corev1.Service) { s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal })
		r.settle()
		want(r, "one endpoint", r.cloud.has()["web"], "80/TCP to 30080 on vm-a")
		r.setEndpoints("web", "a", "c", "c")
		r.settle()
		want(r, "two nodes", r.cloud.has()["web"], "80/TCP to 30080 on vm-a vm-c")
		r.setEndpoints("web", "c")
		<-time.After(leaveWindow + time.Millisecond)
		want(r, "soon after one left", r.cloud.has()["web"], "80/TCP to 30080 on vm-c")
		r.told()
		r.setEndpoints("web")
		r.settle()
		want(r, "none is ready", r.cloud.has()["web"], "80/TCP to 30080 on vm-c")
		want(r, "condition", r.condition("web", "LoadBalancerTargetsComplete"), "False NoReadyEndpoints")
		wantList(r, "events", r.told(), "Warning NoReadyEndpoints")
		r.setEndpoints("web", "b")
		r.settle()
		want(r, "ready again", r.cloud.has()["web"], "80/TCP to 30080 on vm-b")
		r.changeService("web", func(s *corev1.Service) { s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyCluster })
		r.settle()
		want(r, "policy Cluster", r.cloud.has()["web"], "80/TCP to 30080 on vm-a vm-b vm-c")
		looks := r.looks()
		r.setEndpoints("web", "a")
		r.settle()
		want(r, "looks because of endpoints that do not matter", r.looks()-looks, 0)
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
		r.start(1)
		r.addService("web")
		r.settle()
		r.changeService("web", func(s *corev1.Service) { s.Status.LoadBalancer = corev1.LoadBalancerStatus{} })
		r.settle()
		want(r, "address", fmt.Sprint(addressesOf(r.service("web").Status.LoadBalancer)), "[192.0.2.1]")
		r.changeService("web", func(s *corev1.Service) { s.Finalizers = nil })
		r.settle()
		want(r, "finalizer", helpers.HasLBFinalizer(r.service("web")), true)
	})
}

// TestNotices are told once, and again when they change.
func TestNotices(t *testing.T) {
	inRig(t, func(r *rig) {
		r.start(1)
		r.addService("web", func(s *corev1.Service) { s.Annotations = map[string]string{"plain/wrong": "one"} })
		<-time.After(time.Hour)
		wantList(r, "events", r.told(), "Warning Wrong", "Normal EnsuringLoadBalancer", "Normal EnsuredLoadBalancer")
		want(r, "condition", r.condition("web", "LoadBalancerConfigValid"), "False Wrong")
		want(r, "serves all the same", r.condition("web", conditionProvisioned), "True Serving")
		r.changeService("web", func(s *corev1.Service) { s.Annotations["plain/wrong"] = "two" })
		r.settle()
		wantList(r, "events", r.told(), "Warning Wrong")
		r.changeService("web", func(s *corev1.Service) { s.Annotations = nil })
		r.settle()
		want(r, "condition", r.condition("web", "LoadBalancerConfigValid"), "True AsWanted")
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
