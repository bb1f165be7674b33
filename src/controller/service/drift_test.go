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

// refuse is an API server that allows nothing.
func refuse(action clienttesting.Action) (bool, runtime.Object, error) {
	return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: action.GetResource().Resource}, "",
		errors.New("not allowed"))
}

// TestDrift is repaired, or reported, or not looked for.
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
				web := r.serve(1)
				r.cloud.set(func(p *plain) { p.balancers[web.UID].machines = []string{"vm-x"} })
				<-time.After(3 * driftPeriod)
				want(r, "the cloud has", r.cloud.has()["web"], tt.has)
				wantList(r, "events", r.told(), tt.events...)
				want(r, "condition", r.condition("web", conditionDrifted), tt.condition)

				r.changeService("web", func(s *corev1.Service) { s.Annotations = map[string]string{"changed": "yes"} })
				r.settle()
				want(r, "after a change of the Service the cloud has", r.cloud.has()["web"],
					"80/TCP to 30080 on vm-a vm-b")
				if tt.condition != "" {
					want(r, "condition", r.condition("web", conditionDrifted), "False AsWanted")
				}
			})
		})
	}
}

// TestDriftBesideARefusal: that something is refused as long as the Service asks for it makes no drift of its other
// ports, and does not let them be written in spite of the mode.
func TestDriftBesideARefusal(t *testing.T) {
	tests := map[cloud.DriftMode]struct{ has, events string }{
		cloud.Repair: {"80/TCP to 30080 on vm-a vm-b", "Warning LoadBalancerDrifted"},
		cloud.Report: {"80/TCP to 30080 on vm-x", "Warning LoadBalancerDrifted"},
		cloud.Off:    {"80/TCP to 30080 on vm-x", ""},
	}
	others := func(told []string) string { // than that it is refused, which goes on being told
		return strings.Join(slices.DeleteFunc(told, func(one string) bool {
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
				r.settle()
				want(r, "made", r.cloud.has()["web"], "80/TCP to 30080 on vm-a vm-b")
				want(r, "address", strings.Join(addressesOf(r.service("web").Status.LoadBalancer), " "), "192.0.2.1")
				want(r, "condition", r.condition("web", conditionProvisioned), "True Provisioned")
				want(r, "condition", r.condition("web", conditionSynced), "False Failed")
				<-time.After(time.Hour)
				want(r, "events while nothing happens", others(r.told()), "Normal EnsuringLoadBalancer")

				r.cloud.set(func(p *plain) { p.balancers[web.UID].machines = []string{"vm-x"} })
				<-time.After(3 * driftPeriod)
				want(r, "the cloud has", r.cloud.has()["web"], tt.has)
				want(r, "events", others(r.told()), tt.events)
				r.addNode("c")
				r.settle()
				want(r, "after a change of nodes the cloud has", r.cloud.has()["web"],
					"80/TCP to 30080 on vm-a vm-b vm-c")
				r.cloud.set(func(p *plain) { p.balancers[web.UID].machines = []string{"vm-x"} })
				r.changeService("web", func(s *corev1.Service) { s.Annotations = nil })
				r.settle()
				want(r, "when nothing is refused any more the cloud has", r.cloud.has()["web"],
					"80/TCP to 30080 on vm-a vm-b vm-c")
				want(r, "condition", r.condition("web", conditionSynced), "True AsWanted")
			})
		})
	}
}

// TestRefusalThatIsNew although nothing has changed in Kubernetes is drift, and ends with it.
func TestRefusalThatIsNew(t *testing.T) {
	inRig(t, func(r *rig) {
		r.serve(1)
		r.cloud.set(func(p *plain) { p.refused = errors.New("somebody closed a port") })
		<-time.After(3 * driftPeriod)
		wantList(r, "events", r.told(), "Warning LoadBalancerDrifted")
		r.cloud.set(func(p *plain) { p.refused = nil })
		<-time.After(3 * driftPeriod)
		want(r, "condition", r.condition("web", conditionSynced), "True AsWanted")
		wantList(r, "events when it is over", r.told())
	})
}

// TestRefusalThatEnds although nothing has changed in Kubernetes: what was refused is the Service's wish, and no drift.
func TestRefusalThatEnds(t *testing.T) {
	for _, mode := range []cloud.DriftMode{cloud.Repair, cloud.Report, cloud.Off} {
		inRig(t, func(r *rig) {
			r.behaviour.Drift = mode
			r.cloud.refused = errors.New("there is no such subnet")
			r.serve(1)
			<-time.After(3 * driftPeriod)
			want(r, "while it is refused", len(r.cloud.has()), 0)
			r.told()
			r.cloud.set(func(p *plain) { p.refused = nil })
			<-time.After(3 * driftPeriod)
			want(r, "afterwards, in mode "+string(mode), r.cloud.has()["web"], "80/TCP to 30080 on vm-a vm-b")
			wantList(r, "events", r.told(), "Normal EnsuringLoadBalancer", "Normal EnsuredLoadBalancer")
		})
	}
}

// TestOtherDriftIsReportedAgain in mode report, and the same is not.
func TestOtherDriftIsReportedAgain(t *testing.T) {
	inRig(t, func(r *rig) {
		r.behaviour.Drift = cloud.Report
		web := r.serve(1)
		for _, machines := range []string{"vm-x", "vm-y"} {
			r.cloud.set(func(p *plain) { p.balancers[web.UID].machines = []string{machines} })
			<-time.After(3 * driftPeriod)
			wantList(r, "events", r.told(), "Warning LoadBalancerDrifted")
		}
		wantList(r, "writes", r.cloud.done(), "create load balancer web")
	})
}

// TestDriftThatCannotBeRepaired is told once, with the reason, and repaired when it can be.
func TestDriftThatCannotBeRepaired(t *testing.T) {
	inRig(t, func(r *rig) {
		web := r.serve(1)
		r.cloud.set(func(p *plain) { delete(p.balancers, web.UID); p.refusing = errors.New("quota exceeded") })
		<-time.After(3 * driftPeriod)
		wantList(r, "events", r.told(), "Warning LoadBalancerDrifted", "Warning LoadBalancerNotRepaired")
		r.cloud.set(func(p *plain) { p.refusing = nil })
		<-time.After(2 * driftPeriod)
		wantList(r, "events", r.told(), "Warning LoadBalancerRepaired")
		want(r, "address", strings.Join(addressesOf(r.service("web").Status.LoadBalancer), " "), "192.0.2.2")
	})
}

// TestOutageIsNoDrift: when the cloud cannot be looked at, nothing is told or done.
func TestOutageIsNoDrift(t *testing.T) {
	inRig(t, func(r *rig) {
		r.serve(1)
		looks := r.looks()
		r.cloud.set(func(p *plain) { p.failing = errAway })
		<-time.After(3 * driftPeriod)
		wantList(r, "events", r.told())
		want(r, "looks", r.looks()-looks, 0)
	})
}

// TestSomebodyKeepsChangingIt: it is put right each time, and told three times.
func TestSomebodyKeepsChangingIt(t *testing.T) {
	inRig(t, func(r *rig) {
		web := r.serve(1)
		for range 10 {
			r.cloud.set(func(p *plain) { p.balancers[web.UID].machines = []string{"vm-x"} })
			<-time.After(driftPeriod)
			want(r, "the cloud has", r.cloud.has()["web"], "80/TCP to 30080 on vm-a vm-b")
		}
		wantList(r, "events", r.told(), "Warning LoadBalancerDrifted", "Warning LoadBalancerDrifted",
			"Warning LoadBalancerDrifted")
	})
}
