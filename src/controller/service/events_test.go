package service

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// TestRetainedLoadBalancer: when a Service is deleted or changes its type, its load balancer is retained, and an event
// reports that instead of the deletion.
func TestRetainedLoadBalancer(t *testing.T) {
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
				r.waitForSync()
				r.events()
				r.cloud.set(func(p *fakeCloud) { p.writeErr = errUnavailable })
				end(r)
				<-time.After(time.Minute)
				for _, event := range r.events() {
					want(r, "event while it fails", event, "Warning SyncLoadBalancerFailed")
				}
				r.cloud.set(func(p *fakeCloud) { p.writeErr = nil })
				<-time.After(5 * time.Minute)
				wantList(r, "events", r.events(), "Normal KeptLoadBalancer")
				wantList(r, "left to others", r.cloud.retained, "192.0.2.1")
				service := r.service("web")
				want(r, "status and finalizers", fmt.Sprint(service.Status, service.Finalizers),
					fmt.Sprint(corev1.ServiceStatus{}, []string{}))
			})
		})
	}
}

// TestKeptWhileConfirmed: a load balancer was left to others, and it is not certain yet that nothing is left. A look at
// the Service in between does not report a deletion.
func TestKeptWhileConfirmed(t *testing.T) {
	inRig(t, func(r *rig) {
		r.start(1)
		r.addService("web", func(s *corev1.Service) { s.Annotations = map[string]string{"plain/keep": "you"} })
		r.waitForSync()
		r.events()
		r.cloud.set(func(p *fakeCloud) {
			p.confirmed = time.Now().Add(10 * time.Second)
			delete(p.balancers, r.service("web").UID)
		})
		r.changeService("web", func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeNodePort })
		<-time.After(time.Second / 2)
		r.changeService("web", func(s *corev1.Service) { s.Labels = map[string]string{"a": "b"} })
		<-time.After(time.Minute)
		for _, event := range r.events() {
			if event == "Normal DeletingLoadBalancer" {
				t.Error("the deletion of a load balancer is reported, and there is none")
			}
		}
	})
}

// TestSeveralNotices: notices with the same topic and reason become one event each, not again in the next process, and
// again only after they ended.
func TestSeveralNotices(t *testing.T) {
	wrong := func(what string) func(*corev1.Service) {
		return func(s *corev1.Service) { s.Annotations = map[string]string{"plain/wrong": what} }
	}
	messages := func(r *rig) (messages []string) {
		for _, event := range r.fullEvents() {
			if message, is := strings.CutPrefix(event, "Warning Wrong "); is {
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
		r.waitForSync()
		wantList(r, "events", messages(r), "one", "two", "three")
		<-time.After(time.Hour)
		r.start(1)
		<-time.After(time.Hour)
		wantList(r, "events in two hours and two processes", messages(r))
		r.changeService("web", wrong("one three"))
		r.waitForSync()
		wantList(r, "events when one is gone", messages(r))
		r.cloud.set(func(p *fakeCloud) { p.diffErr = errUnavailable })
		r.addNode("c")
		<-time.After(10 * time.Minute)
		r.cloud.set(func(p *fakeCloud) { p.diffErr = nil })
		<-time.After(10 * time.Minute)
		wantList(r, "events after an outage", messages(r))
		r.changeService("web", wrong("three two one"))
		r.waitForSync()
		wantList(r, "events when it is back", messages(r), "two")
		r.changeService("web", wrong(long))
		r.waitForSync()
		want(r, "events of very many", len(messages(r)), 200)
		r.start(1)
		<-time.After(time.Hour)
		wantList(r, "and of the next process", messages(r))
	})
}

// TestNodeNoticesAreDelayed: new notices of the provider about nodes are delayed. Those that were reported before stay,
// and those of the controller are not delayed.
func TestNodeNoticesAreDelayed(t *testing.T) {
	notice := func(reason string) cloud.Notice {
		return cloud.Notice{Topic: cloud.Nodes, Reason: reason}
	}
	settings := cloud.Notice{Topic: cloud.Settings, Reason: "Setting"}
	notKnown := cloud.Targets{NotKnown: cloud.NodesNotRead}
	tests := map[string]struct {
		cause   cause
		targets cloud.Targets
		before  []cloud.Notice
		offered []cloud.Notice
		want    string
	}{
		"the Service changed": {causeService, notKnown, nil, []cloud.Notice{notice("New"),
			settings}, "[New Setting]"},
		"nodes changed": {causeNodes, notKnown, nil,
			[]cloud.Notice{notice("New"), settings}, "[Setting]"},
		"and one was there": {causeNodes, notKnown, []cloud.Notice{notice("Old"), settings},
			[]cloud.Notice{notice("New"), settings}, "[Setting Old]"},
		"and is not any more": {causeNodes, notKnown, []cloud.Notice{notice("Old")}, nil,
			"[]"},
		"no node matches": {causeNodes, cloud.Targets{NotKnown: cloud.NoNodeMatches}, nil,
			[]cloud.Notice{notice("New")}, "[NoNodeMatches]"},
		"of the controller, which ended": {causeNodes, notKnown,
			[]cloud.Notice{notice(reasonNoNodeMatches)}, []cloud.Notice{notice("New")}, "[]"},
		"no node and no address": {causeNodes, cloud.Targets{}, nil, nil, "[UnAvailableLoadBalancer]"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := &serviceState{}
			s.notices = tt.before
			reasons := []string{}
			for _, one := range noticesOf(s, request{service: &corev1.Service{}, targets: tt.targets}, tt.cause,
				cloud.Comparison{Notices: tt.offered}) {
				reasons = append(reasons, one.Reason)
			}
			if got := fmt.Sprint(reasons); got != tt.want {
				t.Errorf("notices %s, want %s", got, tt.want)
			}
		})
	}
}

// TestFailureIsReportedOncePerBackOffStep: a failure becomes one event for each step of the back-off, whatever causes
// the reconciliation. A change of the Service is retried at once.
func TestFailureIsReportedOncePerBackOffStep(t *testing.T) {
	inRig(t, func(r *rig) {
		r.cloud.callErr = errors.New("quota exceeded")
		r.start(1)
		r.addService("web")
		r.waitForSync()
		wantList(r, "events", r.events(), "Normal EnsuringLoadBalancer", "Warning SyncLoadBalancerFailed")
		want(r, "condition", r.condition("web", conditionProvisioned), "False Failed")
		<-time.After(10 * time.Minute) // 5, 10, 20, 40, 80, 160, 300
		if events := r.events(); len(events) < 6 || len(events) > 8 ||
			slices.ContainsFunc(events, func(one string) bool { return one != "Warning SyncLoadBalancerFailed" }) {
			r.Errorf("events in ten minutes: %q", events)
		}
		for i := range 20 {
			r.addNode(fmt.Sprintf("n%d", i))
			<-time.After(2 * time.Second)
		}
		if events := r.events(); len(events) > 1 {
			t.Errorf("twenty nodes within 40 seconds: events %q", events)
		}
		r.cloud.set(func(p *fakeCloud) { p.callErr = nil })
		r.changeService("web", func(s *corev1.Service) { s.Annotations = map[string]string{"changed": "yes"} })
		r.waitForSync()
		want(r, "after a change", r.condition("web", conditionProvisioned), "True Provisioned")
	})
}

// TestFailureAfterDrift: a failure to write a change of the Service is not reported as a failed repair, even if a
// repair failed before.
func TestFailureAfterDrift(t *testing.T) {
	inRig(t, func(r *rig) {
		web := r.startWithService(1)
		r.cloud.set(func(p *fakeCloud) {
			p.balancers[web.UID].machines, p.writeErr = []string{"vm-x"}, errors.New("quota exceeded")
		})
		<-time.After(2 * driftPeriod)
		r.events()
		r.changeService("web", func(s *corev1.Service) { s.Spec.Ports[0].Port = 81 })
		r.waitForSync()
		if events := r.events(); !slices.Contains(events, "Warning SyncLoadBalancerFailed") ||
			slices.Contains(events, "Warning LoadBalancerNotRepaired") {
			t.Errorf("events %q, want one about the change", events)
		}
	})
}

// TestComparableAddresses: if the Service changes whether addresses or hostnames are published, the addresses did not
// change.
func TestComparableAddresses(t *testing.T) {
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
		"in another spelling":         {both, status("192.0.2.1", "A.test.", "2001:DB8:0::1", "a.test"), false},
		"without the hostname":        {both, status("192.0.2.1", "", "2001:db8::1", ""), false},
		"the hostname only":           {both, status("", "a.test"), false},
		"from the hostname":           {status("", "a.test"), both, false},
		"for the first time":          {status(), both, false},
		"another address":             {both, status("192.0.2.2", "a.test", "2001:db8::1", "a.test"), true},
		"another hostname":            {both, status("192.0.2.1", "b.test", "2001:db8::1", "b.test"), true},
		"another hostname, only that": {status("", "a.test"), status("", "b.test"), true},
		"one address less":            {both, status("192.0.2.1", "a.test"), true},
	} {
		if before, after := comparableAddresses(tt.before, tt.after); slices.Equal(before, after) == tt.other {
			t.Errorf("%s: %v became %v, want that it is another one: %t", name, before, after, tt.other)
		}
	}
}
