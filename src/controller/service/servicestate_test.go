package service

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cloud-provider/service/helpers"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// TestUpdateCause: the cause depends on which input has changed.
func TestUpdateCause(t *testing.T) {
	web, other := &corev1.Service{}, &corev1.Service{}
	other.Annotations = map[string]string{"changed": "yes"}
	joining := []cloud.Target{{Machine: "vm-b"}}
	one, two := []string{"vm-a"}, []string{"vm-a", "vm-b"}
	tests := map[string]struct {
		inSync   bool
		cause    cause
		service  *corev1.Service
		machines []string
		joining  []cloud.Target
		want     cause
	}{
		"the first comparison":                     {false, "", web, one, nil, causeService},
		"nothing has changed":                      {true, causeService, web, one, nil, causeDrift},
		"nothing has, but it was not done":         {false, causeService, web, one, nil, causeService},
		"nothing has, but a repair was not done":   {false, causeDrift, web, one, nil, causeDrift},
		"nodes have":                               {true, causeService, web, two, nil, causeNodes},
		"nodes have, and the Service was not done": {false, causeService, web, two, nil, causeService},
		"nodes were not done":                      {false, causeNodes, web, one, nil, causeNodes},
		"one lost its network":                     {true, causeDrift, web, one, joining, causeNodes},
		"the Service has":                          {true, causeDrift, other, two, nil, causeService},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := &serviceState{}
			s.service, s.input.machines, s.inSync, s.cause = web, one, tt.inSync, tt.cause
			if name == "the first comparison" {
				s.service = nil
			}
			req := request{service: tt.service, targets: cloud.Targets{Joining: tt.joining}}
			s.refused = "SCTP"
			found := cloud.Comparison{Targets: cloud.Choice{Machines: tt.machines}, Refused: errors.New(s.refused)}
			if got := s.updateCause(req, found); got != tt.want ||
				s.inSync != (tt.inSync && got == causeDrift) {
				t.Errorf("cause %s, settled %v; want %s", got, s.inSync, tt.want)
			}
			if got := s.updateCause(req, found); tt.want == causeDrift && got != causeDrift {
				t.Errorf("the same comparison again has the cause %s", got)
			}
			s.inSync = tt.inSync
			found.Refused = nil
			if got := s.updateCause(req, found); got != causeService || s.inSync {
				t.Errorf("when nothing is refused any more the cause is %s, settled %v", got, s.inSync)
			}
		})
	}
}

// TestReplacedTargetsLeave: that targets leave which others have replaced is not drift. They leave when nothing has
// changed for some time: neither the Service, nor its targets, nor by a write.
func TestReplacedTargetsLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const after = time.Minute
		web, s := &corev1.Service{}, &serviceState{}
		req := request{service: web, targets: cloud.Targets{Serving: []cloud.Target{{Machine: "vm-a", Ready: true}}}}
		if s.settled(req, after) {
			t.Error("a Service is settled at its first comparison")
		}
		excess := cloud.Comparison{Targets: cloud.Choice{Excess: true}}
		s.updateCause(req, cloud.Comparison{})
		s.recordInSync(web, excess)
		for range 2 {
			if got := s.updateCause(req, excess); got != causeNodes {
				t.Errorf("the cause is %s", got)
			}
			s.recordInSync(web, excess)
			before := s.settled(req, after)
			<-time.After(after)
			if !s.settled(req, after) || before {
				t.Errorf("settled before the time: %t, and then: %t", before, s.settled(req, after))
			}
			s.recordAttempt(cloud.Attempt{Err: errors.New("refused")})
			if !s.settled(req, after) {
				t.Error("after a write that failed it is not settled")
			}
			s.recordAttempt(cloud.Attempt{})
		}
		<-time.After(after)
		other := req
		other.targets = cloud.Targets{Serving: []cloud.Target{{Machine: "vm-a"}}}
		if s.settled(other, after) || !s.settled(req, after) {
			t.Error("a Service whose Node has become not ready is settled, or one whose Node has not is not")
		}
	})
}

// TestSettledAfter: targets that others have replaced stay for five minutes at least, however often drift is checked.
func TestSettledAfter(t *testing.T) {
	for period, want := range map[time.Duration]time.Duration{
		0: minSettled, time.Second: minSettled, time.Hour: time.Hour,
	} {
		r := &reconciler{behaviour: cloud.LoadBalancerBehaviour{DriftPeriod: period}}
		if got := r.settledAfter(); got != want {
			t.Errorf("with a period of %s: %s, want %s", period, got, want)
		}
	}
}

// TestExpect: a Service that needs its load balancer again has no event about the end of a deletion, and the other way
// round.
func TestExpect(t *testing.T) {
	s := &serviceState{}
	for _, tt := range []struct {
		begin   func()
		reason  string
		changed bool
	}{
		{func() { s.updateCause(request{service: &corev1.Service{}}, cloud.Comparison{}) }, reasonEnsured, true},
		{func() { s.updateCause(request{service: &corev1.Service{}}, cloud.Comparison{}) }, reasonEnsured, false},
		{s.prepareDeletion, reasonDeleted, true},
		{s.prepareDeletion, reasonDeleted, false},
		{func() { s.updateCause(request{service: &corev1.Service{}}, cloud.Comparison{}) }, reasonEnsured, true},
	} {
		before := s.due.reason
		if tt.begin(); tt.changed && s.due.reason != "" {
			t.Errorf("%s is expected after the beginning of %s", before, tt.reason)
		}
		if changed := s.expect(tt.reason, "text"); changed != tt.changed {
			t.Errorf("%s after %q: changed %t", tt.reason, before, changed)
		}
	}
}

// TestWaitedSince: the time starts again with another object, and with its deletion.
func TestWaitedSince(t *testing.T) {
	s := &serviceState{}
	since := s.waitedSince(cloud.Wait{Object: "lb-1"})
	s.wait.since = s.wait.since.Add(-time.Hour)
	if got := s.waitedSince(cloud.Wait{Object: "lb-1", Status: "other"}); !got.Equal(since.Add(-time.Hour)) {
		t.Errorf("the same object: since %s", got)
	}
	for _, w := range []cloud.Wait{{Object: "lb-2"}, {Object: "lb-2", Deleting: true}} {
		s.wait.since = s.wait.since.Add(-time.Hour)
		if got := s.waitedSince(w); time.Since(got) > time.Minute {
			t.Errorf("%+v: since %s", w, got)
		}
	}
}

// TestWritesOfAnotherService: what was written to a Service is not assumed for another one with the same name.
func TestWritesOfAnotherService(t *testing.T) {
	for uid, want := range map[types.UID]bool{"one": true, "another": false} {
		wrote, read := web(), web()
		wrote.UID, wrote.ResourceVersion, wrote.Finalizers = "one", "7", []string{helpers.LoadBalancerCleanupFinalizer}
		read.UID, read.ResourceVersion = uid, "1"
		s := &serviceState{}
		s.written = wrote
		if got := helpers.HasLBFinalizer(s.latest(read)); got != want {
			t.Errorf("Service %s has the finalizer of Service one: %t, want %t", uid, got, want)
		}
	}
}
