package service

import (
	"reflect"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// TestNothingIsForgottenToBeForgotten: what is remembered of a Service is in one value, so that a new field is
// forgotten with the others.
func TestNothingIsForgottenToBeForgotten(t *testing.T) {
	for field := range reflect.TypeFor[memory]().Fields() {
		switch field.Name {
		case "Mutex", "knowledge", "facts":
		default:
			t.Errorf("memory.%s is not forgotten when nothing of a Service is left: put it into knowledge", field.Name)
		}
	}
	m := &memory{}
	service := &corev1.Service{}
	m.settle(service, cloud.Comparison{LeftOut: true})
	m.cause, m.foreign, m.refused, m.noticed, m.unfinished, m.told = causeDrift, true, "SCTP", true, &progress{},
		map[string]telling{reasonSlow: {}}
	m.reset()
	if !reflect.ValueOf(m.knowledge).IsZero() || m.facts.Load() != nil {
		t.Errorf("after a reset it still knows %+v", m.knowledge)
	}
}

// TestSettled ends all that was said and done on the way, and keeps what the next look compares with.
func TestSettled(t *testing.T) {
	m := &memory{}
	m.effort = effort{
		ensuring: true, changed: true, removing: true, handsOver: "you", left: []string{"lb"}, repairing: true,
		drift: "ports", wait: wait{object: "lb"}, told: map[string]telling{reasonSlow: {}}, unfinished: &progress{},
		message: "creating", failure: failure{text: "quota"},
	}
	effort := reflect.ValueOf(m.effort)
	for i := range effort.NumField() {
		if effort.Field(i).IsZero() {
			t.Errorf("effort.%s is not in this test", effort.Type().Field(i).Name)
		}
	}
	m.notices, m.machines, m.repair, m.refused = []cloud.Notice{{}}, []string{"vm-a"}, repair{what: "ports", times: 2},
		"SCTP"
	m.settle(&corev1.Service{}, cloud.Comparison{})
	if !reflect.ValueOf(m.effort).IsZero() || !m.settled || m.refused != "" {
		t.Errorf("settled, it remembers %+v", m.knowledge)
	}
	if m.notices == nil || m.machines == nil || m.repair.times != 2 {
		t.Errorf("settled, it has forgotten some of %+v", m.knowledge)
	}
}

// TestCause: who is the reason that something differs.
func TestCause(t *testing.T) {
	web, other := &corev1.Service{}, &corev1.Service{}
	other.Annotations = map[string]string{"changed": "yes"}
	one, two := []string{"vm-a"}, []string{"vm-a", "vm-b"}
	tests := map[string]struct {
		settled  bool
		cause    cause
		service  *corev1.Service
		machines []string
		joining  []string
		want     cause
	}{
		"the first look":                           {false, "", web, one, nil, causeService},
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
			m := &memory{}
			m.service, m.machines, m.settled, m.cause = web, one, tt.settled, tt.cause
			if name == "the first look" {
				m.service = nil
			}
			w := wish{service: tt.service, targets: cloud.Targets{Joining: tt.joining}}
			m.refused = "SCTP"
			if got := m.causeOf(w, tt.machines, "SCTP"); got != tt.want ||
				m.settled != (tt.settled && got == causeDrift) {
				t.Errorf("cause %s, settled %v; want %s", got, m.settled, tt.want)
			}
			if got := m.causeOf(w, tt.machines, "SCTP"); tt.want == causeDrift && got != causeDrift {
				t.Errorf("the same look again has the cause %s", got)
			}
			m.settled = tt.settled
			if got := m.causeOf(w, tt.machines, ""); got != causeService || m.settled {
				t.Errorf("when nothing is refused any more the cause is %s, settled %v", got, m.settled)
			}
		})
	}
}

// TestWaitedSince begins anew with another object, and with its end.
func TestWaitedSince(t *testing.T) {
	m := &memory{}
	first := m.waitedSince(cloud.Wait{Object: "lb-1"})
	m.wait.since = m.wait.since.Add(-time.Hour)
	if got := m.waitedSince(cloud.Wait{Object: "lb-1", Status: "other"}); !got.Equal(first.Add(-time.Hour)) {
		t.Errorf("the same object: since %s", got)
	}
	for _, w := range []cloud.Wait{{Object: "lb-2"}, {Object: "lb-2", Deleting: true}} {
		m.wait.since = m.wait.since.Add(-time.Hour)
		if got := m.waitedSince(w); time.Since(got) > time.Minute {
			t.Errorf("%+v: since %s", w, got)
		}
	}
}
