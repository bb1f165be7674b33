package service

import (
	"errors"
	"reflect"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// TestResetClearsAllFields: all state of a Service is in one struct, so that reset also clears new fields.
func TestResetClearsAllFields(t *testing.T) {
	for field := range reflect.TypeFor[serviceState]().Fields() {
		switch field.Name {
		case "Mutex", "lifetimeState", "snapshot":
		default:
			t.Errorf("serviceState.%s is not cleared by reset: put it into lifetimeState", field.Name)
		}
	}
	s := &serviceState{}
	service := &corev1.Service{}
	s.recordInSync(service, cloud.Comparison{LeftOut: true})
	s.cause, s.hasLeftovers, s.refused, s.noticesKnown, s.unfinished, s.events = causeDrift, true, "SCTP", true,
		&writeProgress{}, map[string]sentEvent{reasonSlow: {}}
	s.reset()
	if !reflect.ValueOf(s.lifetimeState).IsZero() || s.snapshot.Load() != nil {
		t.Errorf("after a reset it still has %+v", s.lifetimeState)
	}
}

// TestRecordInSync: recordInSync clears the syncState, and keeps the input for the next updateCause.
func TestRecordInSync(t *testing.T) {
	s := &serviceState{}
	s.syncState = syncState{
		ensuring: true, written: true, deleting: true, retains: "you", left: []string{"lb"}, drifted: true,
		driftSummary: "ports", wait: wait{object: "lb"}, events: map[string]sentEvent{reasonSlow: {}},
		unfinished: &writeProgress{}, stale: 1,
		message: "creating", failure: failure{text: "quota"},
	}
	fields := reflect.ValueOf(s.syncState)
	for i := range fields.NumField() {
		if fields.Field(i).IsZero() {
			t.Errorf("syncState.%s is not in this test", fields.Type().Field(i).Name)
		}
	}
	s.notices, s.machines, s.repair, s.refused = []cloud.Notice{{}}, []string{"vm-a"},
		repair{summary: "ports", times: 2}, "SCTP"
	s.recordInSync(&corev1.Service{}, cloud.Comparison{})
	if !reflect.ValueOf(s.syncState).IsZero() || !s.inSync || s.refused != "" {
		t.Errorf("settled, it has %+v", s.lifetimeState)
	}
	if s.notices == nil || s.machines == nil || s.repair.times != 2 {
		t.Errorf("settled, it has forgotten some of %+v", s.lifetimeState)
	}
}

// TestUpdateCause: the cause depends on which input has changed.
func TestUpdateCause(t *testing.T) {
	web, other := &corev1.Service{}, &corev1.Service{}
	other.Annotations = map[string]string{"changed": "yes"}
	one, two := []string{"vm-a"}, []string{"vm-a", "vm-b"}
	tests := map[string]struct {
		inSync   bool
		cause    cause
		service  *corev1.Service
		machines []string
		joining  []string
		want     cause
	}{
		"the first comparison":                     {false, "", web, one, nil, causeService},
		"nothing has changed":                      {true, causeService, web, one, nil, causeDrift},
		"nothing has, but it was not done":         {false, causeService, web, one, nil, causeService},
		"nothing has, but a repair was not done":   {false, causeDrift, web, one, nil, causeDrift},
		"nodes have":                               {true, causeService, web, two, nil, causeNodes},
		"nodes have, and the Service was not done": {false, causeService, web, two, nil, causeService},
		"nodes were not done":                      {false, causeNodes, web, one, nil, causeNodes},
		"one lost its network":                     {true, causeDrift, web, one, []string{"vm-b"}, causeNodes},
		"the Service has":                          {true, causeDrift, other, two, nil, causeService},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := &serviceState{}
			s.service, s.machines, s.inSync, s.cause = web, one, tt.inSync, tt.cause
			if name == "the first comparison" {
				s.service = nil
			}
			req := request{service: tt.service, targets: cloud.Targets{Staying: tt.joining}}
			s.refused = "SCTP"
			found := cloud.Comparison{Machines: tt.machines, Refused: errors.New(s.refused)}
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

// TestContinuedChangeOfTargets: a plan that continues a change of targets is not drift, whether or not a part of the
// change was postponed.
func TestContinuedChangeOfTargets(t *testing.T) {
	web, req := &corev1.Service{}, request{targets: cloud.Targets{}}
	req.service = web
	for _, postponed := range []bool{false, true} {
		for continues, want := range map[bool]cause{false: causeDrift, true: causeNodes} {
			s := &serviceState{}
			s.service, s.cause = web, causeNodes
			s.recordInSync(web, cloud.Comparison{Postponed: postponed})
			for range 2 {
				if got := s.updateCause(req, cloud.Comparison{Continues: continues}); got != want {
					t.Errorf("postponed: %t, continued: %t: the cause is %s, want %s", postponed, continues, got, want)
				}
			}
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
