package service

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/loadbalancer"
)

// TestKeptLoadBalancer: a Service that goes, or wants none any more, leaves its load balancer to others, and its owner hears that instead.
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
				want(r, "status and finalizers", fmt.Sprint(service.Status, service.Finalizers), fmt.Sprint(corev1.ServiceStatus{}, []string{}))
			})
		})
	}
}

// TestSeveralNotices of one topic and reason are told once each, also by the next process, and again only after they were gone.
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

// TestNoticesOfNodesWait: those of the provider are about nodes that join; what was said before stays, and what is said here is said at once.
func TestNoticesOfNodesWait(t *testing.T) {
	notice := func(reason string) loadbalancer.Notice {
		return loadbalancer.Notice{Topic: loadbalancer.Nodes, Reason: reason}
	}
	settings := loadbalancer.Notice{Topic: loadbalancer.Settings, Reason: "Setting"}
	tests := map[string]struct {
		cause   cause
		targets loadbalancer.Targets
		before  []loadbalancer.Notice
		offered []loadbalancer.Notice
		want    string
	}{
		"the Service changed":    {causeService, loadbalancer.Targets{Incomplete: true}, nil, []loadbalancer.Notice{notice("New"), settings}, "[New Setting]"},
		"nodes changed":          {causeNodes, loadbalancer.Targets{Incomplete: true}, nil, []loadbalancer.Notice{notice("New"), settings}, "[Setting]"},
		"and one was there":      {causeNodes, loadbalancer.Targets{Incomplete: true}, []loadbalancer.Notice{notice("Old"), settings}, []loadbalancer.Notice{notice("New"), settings}, "[Setting Old]"},
		"and is not any more":    {causeNodes, loadbalancer.Targets{Incomplete: true}, []loadbalancer.Notice{notice("Old")}, nil, "[]"},
		"no node matches":        {causeNodes, loadbalancer.Targets{Incomplete: true, Unmatched: true}, nil, []loadbalancer.Notice{notice("New")}, "[NoNodeMatches]"},
		"no node and no address": {causeNodes, loadbalancer.Targets{Endless: true}, nil, nil, "[UnAvailableLoadBalancer]"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			m := &memory{}
			m.offered = tt.before
			reasons := []string{}
			for _, one := range noticesOf(m, wish{service: &corev1.Service{}, targets: tt.targets}, tt.cause, loadbalancer.Comparison{Notices: tt.offered}) {
				reasons = append(reasons, one.Reason)
			}
			if got := fmt.Sprint(reasons); got != tt.want {
				t.Errorf("notices %s, want %s", got, tt.want)
			}
		})
	}
}
