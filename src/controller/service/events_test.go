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

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// TestKeptLoadBalancer: a Service that goes, or wants none any more, leaves its load balancer to others, and its owner
// hears that instead.
func TestKeptLoadBalancer(t *testing.T) {
	ends := map[string]func(*rig){
		"deleted": func(r *rig) { r.deleteService("web") },
		"another type": func(r *rig) {
			r.changeService("web", func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeClusterIP })
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			inRig(t, func(r *rig) {
				r.start(1)
				r.addService("web", func(s *corev1.Service) { s.Annotations = map[string]string{"plain/keep": "you"} })
				r.settle()
				r.told()
				r.cloud.set(func(p *plain) { p.refusing = errAway })
				end(r)
				<-time.After(time.Minute)
				for _, told := range r.told() {
					want(r, "event while it fails", told, "Warning SyncLoadBalancerFailed")
				}
				r.cloud.set(func(p *plain) { p.refusing = nil })
				<-time.After(5 * time.Minute)
				wantList(r, "events", r.told(), "Normal KeptLoadBalancer")
				wantList(r, "left to others", r.cloud.left, "192.0.2.1")
				service := r.service("web")
				want(r, "status and finalizers", fmt.Sprint(service.Status, service.Finalizers),
					fmt.Sprint(corev1.ServiceStatus{}, []string{}))
			})
		})
	}
}

// TestSeveralNotices of one topic and reason are told once each, also by the next process, and again only after they
// were gone.
func TestSeveralNotices(t *testing.T) {
	wrong := func(what string) func(*corev1.Service) {
		return func(s *corev1.Service) { s.Annotations = map[string]string{"plain/wrong": what} }
	}
	messages := func(r *rig) (messages []string) {
		for _, told := range r.toldInFull() {
			if message, is := strings.CutPrefix(told, "Warning Wrong "); is {
				messages = append(messages, message)
			}
		}
		return messages
	}
	long := ""
	for i := range 200 {
		long += fmt.Sprintf("problem-%03d-of-many-ports ", i)
	}
	inRig(t, func(r *rig) {
		r.start(1)
		r.addService("web", wrong("one two two three"))
		r.settle()
		wantList(r, "events", messages(r), "one", "two", "three")
		<-time.After(time.Hour)
		r.start(1)
		<-time.After(time.Hour)
		wantList(r, "events in two hours and two processes", messages(r))
		r.changeService("web", wrong("one three"))
		r.settle()
		wantList(r, "events when one is gone", messages(r))
		r.cloud.set(func(p *plain) { p.blind = errAway })
		r.addNode("c")
		<-time.After(10 * time.Minute)
		r.cloud.set(func(p *plain) { p.blind = nil })
		<-time.After(10 * time.Minute)
		wantList(r, "events after an outage", messages(r))
		r.changeService("web", wrong("three two one"))
		r.settle()
		wantList(r, "events when it is back", messages(r), "two")
		r.changeService("web", wrong(long))
		r.settle()
		want(r, "events of very many", len(messages(r)), 200)
		r.start(1)
		<-time.After(time.Hour)
		wantList(r, "and of the next process", messages(r))
	})
}

// TestNoticesOfNodesWait: those of the provider are about nodes that join; what was said before stays, and what is said
// here is said at once.
func TestNoticesOfNodesWait(t *testing.T) {
	notice := func(reason string) cloud.Notice {
		return cloud.Notice{Topic: cloud.Nodes, Reason: reason}
	}
	settings := cloud.Notice{Topic: cloud.Settings, Reason: "Setting"}
	tests := map[string]struct {
		cause   cause
		targets cloud.Targets
		before  []cloud.Notice
		offered []cloud.Notice
		want    string
	}{
		"the Service changed": {causeService, cloud.Targets{Incomplete: true}, nil, []cloud.Notice{notice("New"),
			settings}, "[New Setting]"},
		"nodes changed": {causeNodes, cloud.Targets{Incomplete: true}, nil,
			[]cloud.Notice{notice("New"), settings}, "[Setting]"},
		"and one was there": {causeNodes, cloud.Targets{Incomplete: true}, []cloud.Notice{notice("Old"), settings},
			[]cloud.Notice{notice("New"), settings}, "[Setting Old]"},
		"and is not any more": {causeNodes, cloud.Targets{Incomplete: true}, []cloud.Notice{notice("Old")}, nil,
			"[]"},
		"no node matches": {causeNodes, cloud.Targets{Incomplete: true, Unmatched: true}, nil,
			[]cloud.Notice{notice("New")}, "[NoNodeMatches]"},
		"no node and no address": {causeNodes, cloud.Targets{NoEndpoints: true}, nil, nil, "[UnAvailableLoadBalancer]"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			m := &memory{}
			m.offered = tt.before
			reasons := []string{}
			for _, one := range noticesOf(m, wish{service: &corev1.Service{}, targets: tt.targets}, tt.cause,
				cloud.Comparison{Notices: tt.offered}) {
				reasons = append(reasons, one.Reason)
			}
			if got := fmt.Sprint(reasons); got != tt.want {
				t.Errorf("notices %s, want %s", got, tt.want)
			}
		})
	}
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
		if told := r.told(); len(told) < 6 || len(told) > 8 || slices.ContainsFunc(told, func(one string) bool {
			return one != "Warning SyncLoadBalancerFailed"
		}) {
			r.Errorf("events in ten minutes: %q", told)
		}
		r.cloud.set(func(p *plain) { p.failing = nil })
		r.changeService("web", func(s *corev1.Service) { s.Annotations = map[string]string{"changed": "yes"} })
		r.settle()
		want(r, "after a change", r.condition("web", conditionProvisioned), "True Provisioned")
	})
}

// TestFailureOfAChangeAfterDrift is told as what it is, also when a repair failed before.
func TestFailureOfAChangeAfterDrift(t *testing.T) {
	inRig(t, func(r *rig) {
		web := r.serve(1)
		r.cloud.set(func(p *plain) {
			p.balancers[web.UID].machines, p.refusing = []string{"vm-x"}, errors.New("quota exceeded")
		})
		<-time.After(2 * driftPeriod)
		r.told()
		r.changeService("web", func(s *corev1.Service) { s.Spec.Ports[0].Port = 81 })
		r.settle()
		if told := r.told(); !slices.Contains(told, "Warning SyncLoadBalancerFailed") ||
			slices.Contains(told, "Warning LoadBalancerNotRepaired") {
			t.Errorf("events %q, want one about the change", told)
		}
	})
}

// TestEventsReachTheCluster when nobody else takes them.
func TestEventsReachTheCluster(t *testing.T) {
	inRig(t, func(r *rig) {
		r.start(1)
		r.stop()
		r.recorder = true
		r.serve(1)
		events, err := r.cluster.CoreV1().Events("shop").List(t.Context(), metav1.ListOptions{})
		// In virtual time two events of the same moment have the same name.
		if err != nil || len(events.Items) == 0 || events.Items[0].Source.Component != "service-controller" {
			t.Errorf("events %v, error %v; want some of the service-controller", events, err)
		}
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
		want(r, "serves all the same", r.condition("web", conditionProvisioned), "True Provisioned")
		r.changeService("web", func(s *corev1.Service) { s.Annotations["plain/wrong"] = "two" })
		r.settle()
		wantList(r, "events", r.told(), "Warning Wrong")
		r.changeService("web", func(s *corev1.Service) { s.Annotations = nil })
		r.settle()
		want(r, "condition", r.condition("web", "LoadBalancerConfigValid"), "True AsWanted")
	})
}

// TestReachedBy: what the Service itself publishes differently is no other address.
func TestReachedBy(t *testing.T) {
	status := func(pairs ...string) (s corev1.LoadBalancerStatus) {
		for pair := range slices.Chunk(pairs, 2) {
			s.Ingress = append(s.Ingress, corev1.LoadBalancerIngress{IP: pair[0], Hostname: pair[1]})
		}
		return s
	}
	both := status("192.0.2.1", "a.test", "2001:db8::1", "a.test")
	for name, tt := range map[string]struct {
		before, after corev1.LoadBalancerStatus
		other         bool
	}{
		"the same":                    {both, both, false},
		"in another order":            {both, status("2001:db8::1", "a.test", "192.0.2.1", "a.test"), false},
		"without the hostname":        {both, status("192.0.2.1", "", "2001:db8::1", ""), false},
		"the hostname only":           {both, status("", "a.test"), false},
		"from the hostname":           {status("", "a.test"), both, false},
		"for the first time":          {status(), both, false},
		"another address":             {both, status("192.0.2.2", "a.test", "2001:db8::1", "a.test"), true},
		"another hostname":            {both, status("192.0.2.1", "b.test", "2001:db8::1", "b.test"), true},
		"another hostname, only that": {status("", "a.test"), status("", "b.test"), true},
		"one address less":            {both, status("192.0.2.1", "a.test"), true},
	} {
		if before, after := reachedBy(tt.before, tt.after); slices.Equal(before, after) == tt.other {
			t.Errorf("%s: %v became %v, want that it is another one: %t", name, before, after, tt.other)
		}
	}
}
