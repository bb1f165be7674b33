package service

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// forbid is a reaction with which the API server forbids everything.
func forbid(action clienttesting.Action) (bool, runtime.Object, error) {
	return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: action.GetResource().Resource}, "",
		errors.New("not allowed"))
}

// TestDrift: drift is repaired, reported or not checked, as configured.
func TestDrift(t *testing.T) {
	tests := map[string]struct {
		change    func(*cloud.LoadBalancerBehaviour)
		has       string
		events    []string
		condition string
	}{
		"repair": {func(*cloud.LoadBalancerBehaviour) {}, "80/TCP to 30080 on vm-a vm-b",
			[]string{"Warning LoadBalancerDrifted"}, ""},
		"report": {func(b *cloud.LoadBalancerBehaviour) {
			b.Drift = cloud.Report
		}, "80/TCP to 30080 on vm-x", []string{"Warning LoadBalancerDrifted"}, "True LoadBalancerDrifted"},
		"off": {func(b *cloud.LoadBalancerBehaviour) { b.DriftPeriod = 0 }, "80/TCP to 30080 on vm-x", nil, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			inRig(t, func(r *rig) {
				tt.change(&r.behaviour)
				web := r.startWithService(1)
				r.cloud.set(func(p *fakeCloud) { p.balancers[web.UID].machines = []string{"vm-x"} })
				<-time.After(3 * driftPeriod)
				want(r, "the cloud has", r.cloud.contents()["web"], tt.has)
				wantList(r, "events", r.events(), tt.events...)
				want(r, "condition", r.condition("web", conditionDrifted), tt.condition)

				r.changeService("web", func(s *corev1.Service) { s.Annotations = map[string]string{"changed": "yes"} })
				r.waitForSync()
				want(r, "after a change of the Service the cloud has", r.cloud.contents()["web"],
					"80/TCP to 30080 on vm-a vm-b")
				if tt.condition != "" {
					want(r, "condition", r.condition("web", conditionDrifted), "False AsWanted")
				}
			})
		})
	}
}

// TestDriftWithARefusedSetting: a refused setting does not make the other ports drift, and does not cause writes in
// spite of the mode.
func TestDriftWithARefusedSetting(t *testing.T) {
	tests := map[cloud.DriftMode]struct{ has, events string }{
		cloud.Repair: {"80/TCP to 30080 on vm-a vm-b", "Warning LoadBalancerDrifted"},
		cloud.Report: {"80/TCP to 30080 on vm-x", "Warning LoadBalancerDrifted"},
		cloud.Off:    {"80/TCP to 30080 on vm-x", ""},
	}
	others := func(events []string) string { // than the event about the refusal, which is repeated
		return strings.Join(slices.DeleteFunc(events, func(one string) bool {
			return one == "Warning SyncLoadBalancerFailed"
		}), ", ")
	}
	for mode, tt := range tests {
		t.Run(string(mode), func(t *testing.T) {
			inRig(t, func(r *rig) {
				r.behaviour.Drift = mode
				r.start(1)
				web := r.addService("web", func(s *corev1.Service) {
					s.Annotations = map[string]string{"plain/refused": "no SCTP"}
				})
				r.waitForSync()
				want(r, "made", r.cloud.contents()["web"], "80/TCP to 30080 on vm-a vm-b")
				want(r, "address", strings.Join(addressesOf(r.service("web").Status.LoadBalancer), " "), "192.0.2.1")
				want(r, "condition", r.condition("web", conditionProvisioned), "True Provisioned")
				want(r, "condition", r.condition("web", conditionSynced), "False Failed")
				<-time.After(time.Hour)
				want(r, "events while nothing happens", others(r.events()), "Normal EnsuringLoadBalancer")

				r.cloud.set(func(p *fakeCloud) { p.balancers[web.UID].machines = []string{"vm-x"} })
				<-time.After(3 * driftPeriod)
				want(r, "the cloud has", r.cloud.contents()["web"], tt.has)
				want(r, "events", others(r.events()), tt.events)
				r.addNode("c")
				r.waitForSync()
				want(r, "after a change of nodes the cloud has", r.cloud.contents()["web"],
					"80/TCP to 30080 on vm-a vm-b vm-c")
				r.cloud.set(func(p *fakeCloud) { p.balancers[web.UID].machines = []string{"vm-x"} })
				r.changeService("web", func(s *corev1.Service) { s.Annotations = nil })
				r.waitForSync()
				want(r, "when nothing is refused any more the cloud has", r.cloud.contents()["web"],
					"80/TCP to 30080 on vm-a vm-b vm-c")
				want(r, "condition", r.condition("web", conditionSynced), "True AsWanted")
			})
		})
	}
}

// TestNewRefusalIsDrift: a refusal that starts without a change in Kubernetes is drift, until it ends.
func TestNewRefusalIsDrift(t *testing.T) {
	inRig(t, func(r *rig) {
		r.startWithService(1)
		r.cloud.set(func(p *fakeCloud) { p.refusedErr = errors.New("somebody closed a port") })
		<-time.After(3 * driftPeriod)
		wantList(r, "events", r.events(), "Warning LoadBalancerNotRepaired")
		r.cloud.set(func(p *fakeCloud) { p.refusedErr = nil })
		<-time.After(3 * driftPeriod)
		want(r, "condition", r.condition("web", conditionSynced), "True AsWanted")
		wantList(r, "events when it is over", r.events())
	})
}

// TestDifferentDriftIsReportedAgain: in the mode report, different drift becomes another event, and the same does not.
func TestDifferentDriftIsReportedAgain(t *testing.T) {
	inRig(t, func(r *rig) {
		r.behaviour.Drift = cloud.Report
		web := r.startWithService(1)
		for _, machines := range []string{"vm-x", "vm-y"} {
			r.cloud.set(func(p *fakeCloud) { p.balancers[web.UID].machines = []string{machines} })
			<-time.After(3 * driftPeriod)
			wantList(r, "events", r.events(), "Warning LoadBalancerDrifted")
		}
		wantList(r, "writes", r.cloud.takeWrites(), "create load balancer web")
	})
}

// TestFailedRepairIsReportedOnce: one event contains the reason of the failure, and drift is repaired when the failure
// ends.
func TestFailedRepairIsReportedOnce(t *testing.T) {
	inRig(t, func(r *rig) {
		web := r.startWithService(1)
		r.cloud.set(func(p *fakeCloud) { delete(p.balancers, web.UID); p.writeErr = errors.New("quota exceeded") })
		<-time.After(3 * driftPeriod)
		wantList(r, "events", r.events(), "Warning LoadBalancerDrifted", "Warning LoadBalancerNotRepaired")
		r.cloud.set(func(p *fakeCloud) { p.writeErr = nil })
		<-time.After(2 * driftPeriod)
		wantList(r, "events", r.events(), "Warning LoadBalancerRepaired")
		want(r, "address", strings.Join(addressesOf(r.service("web").Status.LoadBalancer), " "), "192.0.2.2")
	})
}

// TestRepeatedDriftIsReported: the same drift is repaired and reported at each check, however frequent they are.
func TestRepeatedDriftIsReported(t *testing.T) {
	inRig(t, func(r *rig) {
		r.behaviour.DriftPeriod = time.Minute
		web := r.startWithService(1)
		for range 4 {
			r.cloud.set(func(p *fakeCloud) { p.balancers[web.UID].machines = []string{"vm-x"} })
			<-time.After(time.Minute)
			want(r, "the cloud has", r.cloud.contents()["web"], "80/TCP to 30080 on vm-a vm-b")
			wantList(r, "events", r.events(), "Warning LoadBalancerDrifted")
		}
	})
}
