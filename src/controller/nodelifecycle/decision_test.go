package nodelifecycle

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// at is a time in the tests of decide, in seconds.
func at(base time.Time, seconds int) time.Time { return base.Add(time.Duration(seconds) * time.Second) }

// TestTableOfStates is the table in docs/guides/node-removal.md.
func TestTableOfStates(t *testing.T) {
	const yes, no, unknown = corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown
	down := errors.New("no answer")
	tests := map[string]struct {
		ready   corev1.ConditionStatus
		state   cloud.MachineState
		err     error
		tainted bool
		kept    bool
		want    step
	}{
		"ready, running":                       {yes, cloud.MachineRunning, nil, false, false, keep},
		"ready, running, tainted":              {yes, cloud.MachineRunning, nil, true, false, untaint},
		"ready, stopped, tainted":              {yes, cloud.MachineStopped, nil, true, false, untaint},
		"ready, stopped":                       {yes, cloud.MachineStopped, nil, false, false, keep},
		"ready, gone":                          {yes, cloud.MachineGone, nil, false, false, keep},
		"ready, no answer, tainted":            {yes, "", down, true, false, untaint},
		"not ready, running":                   {unknown, cloud.MachineRunning, nil, false, false, keep},
		"not ready, running, tainted":          {unknown, cloud.MachineRunning, nil, true, false, untaint},
		"reports not ready, running, tainted":  {no, cloud.MachineRunning, nil, true, false, untaint},
		"not ready, stopped":                   {unknown, cloud.MachineStopped, nil, false, false, taint},
		"reports not ready, stopped":           {no, cloud.MachineStopped, nil, false, false, taint},
		"not ready, stopped, tainted":          {unknown, cloud.MachineStopped, nil, true, false, keep},
		"not ready, stopped, opted out":        {unknown, cloud.MachineStopped, nil, false, true, keep},
		"not ready, deleting":                  {unknown, cloud.MachineDeleting, nil, false, false, taint},
		"not ready, unknown":                   {unknown, cloud.MachineUnknown, nil, false, false, unknownState},
		"not ready, unknown, tainted":          {unknown, cloud.MachineUnknown, nil, true, false, unknownState},
		"not ready, an unknown word":           {unknown, "rebooting", nil, false, false, unknownState},
		"not ready, gone":                      {unknown, cloud.MachineGone, nil, false, false, pending},
		"not ready, gone, tainted":             {unknown, cloud.MachineGone, nil, true, false, pending},
		"not ready, no answer":                 {unknown, "", down, false, false, keep},
		"not ready, no answer, tainted":        {unknown, "", down, true, false, keep},
		"not ready, an error says that's gone": {unknown, cloud.MachineGone, down, false, false, keep},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			base := time.Now()
			s := observation{at: base, providerID: "x://1", ready: tt.ready, tainted: tt.tainted, kept: tt.kept,
				observed: true, answered: base, state: tt.state, err: tt.err}
			h, got := decide(updateHistory(history{}, s), s, time.Minute)
			if got != tt.want {
				t.Errorf("step %d, want %d", got, tt.want)
			}
			if missing := !h.missing.IsZero(); missing != (tt.want == pending) {
				t.Errorf("it counts as missing: %v", missing)
			}
		})
	}
}

// observed is one observation in TestWhenRemovalIsDue.
type observed struct {
	at       int // seconds
	ready    corev1.ConditionStatus
	state    cloud.MachineState
	err      error
	reported int // seconds
	other    bool
	want     step
}

// TestWhenRemovalIsDue: when the removal of a Node with a missing machine is due.
func TestWhenRemovalIsDue(t *testing.T) {
	const yes, no, unknown = corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown
	down := errors.New("no answer")
	tests := map[string][]observed{
		"a grace period": {
			{at: 0, ready: yes, state: cloud.MachineRunning}, {at: 10, ready: unknown, state: cloud.MachineGone,
				want: pending},
			{at: 69, ready: unknown, state: cloud.MachineGone, want: pending},
			{at: 70, ready: unknown, state: cloud.MachineGone, want: due}},
		"not gone in between": {
			{at: 0, ready: yes, state: cloud.MachineRunning}, {at: 10, ready: unknown, state: cloud.MachineGone,
				want: pending}, {at: 60, ready: unknown, state: cloud.MachineRunning},
			{at: 70, ready: unknown, state: cloud.MachineGone, want: pending},
			{at: 129, ready: unknown, state: cloud.MachineGone, want: pending},
			{at: 130, ready: unknown, state: cloud.MachineGone, want: due}},
		"an error in between": {
			{at: 0, ready: yes, state: cloud.MachineRunning}, {at: 10, ready: unknown, state: cloud.MachineGone,
				want: pending}, {at: 60, ready: unknown, err: down},
			{at: 70, ready: unknown, state: cloud.MachineGone, want: pending},
			{at: 130, ready: unknown, state: cloud.MachineGone, want: due}},
		"an unknown state in between": {
			{at: 0, ready: yes, state: cloud.MachineRunning}, {at: 10, ready: unknown, state: cloud.MachineGone,
				want: pending}, {at: 60, ready: unknown, state: cloud.MachineUnknown, want: unknownState},
			{at: 70, ready: unknown, state: cloud.MachineGone, want: pending},
			{at: 130, ready: unknown, state: cloud.MachineGone, want: due}},
		"ready in between": {
			{at: 0, ready: yes, state: cloud.MachineRunning}, {at: 10, ready: unknown, state: cloud.MachineGone,
				want: pending}, {at: 60, ready: yes, state: cloud.MachineGone},
			{at: 70, ready: unknown, state: cloud.MachineGone, want: pending},
			{at: 130, ready: unknown, state: cloud.MachineGone, want: due}},
		"ready for ever": {{at: 0, ready: yes, state: cloud.MachineGone},
			{at: 100000, ready: yes, state: cloud.MachineGone}},
		"another machine": {
			{at: 0, ready: yes, state: cloud.MachineRunning}, {at: 10, ready: unknown, state: cloud.MachineGone,
				want: pending},
			{at: 70, ready: unknown, state: cloud.MachineGone, other: true, want: pending},
			{at: 369, ready: unknown, state: cloud.MachineGone, other: true, want: pending},
			{at: 370, ready: unknown, state: cloud.MachineGone, other: true, want: due}},
		"a machine that was never seen": {
			{at: 0, ready: unknown, state: cloud.MachineGone, want: pending},
			{at: 299, ready: unknown, state: cloud.MachineGone, want: pending},
			{at: 300, ready: unknown, state: cloud.MachineGone, want: due}},
		"a Node that was known for long": {
			{at: 0, ready: yes, state: cloud.MachineGone}, {at: 400, ready: unknown, state: cloud.MachineGone,
				want: pending}, {at: 460, ready: unknown, state: cloud.MachineGone, want: due}},
		"a kubelet that may still report": {
			{at: 0, ready: yes, state: cloud.MachineRunning}, {at: 10, ready: no, state: cloud.MachineGone,
				reported: 10, want: pending},
			{at: 300, ready: no, state: cloud.MachineGone, reported: 300, want: pending},
			{at: 659, ready: no, state: cloud.MachineGone, reported: 300, want: pending},
			{at: 660, ready: no, state: cloud.MachineGone, reported: 300, want: due}},
		"of which Kubernetes then says that it does not": {
			{at: 0, ready: yes, state: cloud.MachineRunning}, {at: 10, ready: no, state: cloud.MachineGone,
				reported: 10, want: pending}, {at: 70, ready: unknown, state: cloud.MachineGone, reported: 10,
				want: due}},
	}
	for name, looks := range tests {
		t.Run(name, func(t *testing.T) {
			base, h := time.Now(), history{}
			for _, l := range looks {
				s := observation{at: at(base, l.at), providerID: "x://1", ready: l.ready, observed: true,
					answered: at(base, l.at), state: l.state, err: l.err,
					reported: metav1.NewTime(time.Unix(int64(l.reported), 0))}
				if l.other {
					s.providerID = "x://2"
				}
				var got step
				if h, got = decide(updateHistory(h, s), s, time.Minute); got != l.want {
					t.Errorf("after %d s: step %d, want %d", l.at, got, l.want)
				}
			}
		})
	}
}

// TestSlowAnswer: the grace period begins when the first answer arrives.
func TestSlowAnswer(t *testing.T) {
	base := time.Now()
	s := observation{at: base, ready: corev1.ConditionUnknown, observed: true, answered: at(base, 40),
		state: cloud.MachineGone}
	h := history{known: at(base, -1000), seen: true}
	h, _ = decide(updateHistory(h, s), s, time.Minute)
	for seconds, want := range map[int]step{99: pending, 100: due} {
		s.at = at(base, seconds)
		if _, got := decide(updateHistory(h, s), s, time.Minute); got != want {
			t.Errorf("after %d s: step %d, want %d", seconds, got, want)
		}
	}
}

// TestClockJumps: times in Nodes are compared only with each other, and the controller's times are readings of the
// monotonic clock.
func TestClockJumps(t *testing.T) {
	for name, stamp := range map[string]time.Time{"far past": time.Unix(0, 0), "far future": time.Now().AddDate(50, 0,
		0)} {
		t.Run(name, func(t *testing.T) {
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", CreationTimestamp: metav1.NewTime(stamp)},
				Spec: corev1.NodeSpec{ProviderID: "x://1"},
				Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady,
					Status:            corev1.ConditionUnknown,
					LastHeartbeatTime: metav1.NewTime(stamp), LastTransitionTime: metav1.NewTime(stamp)}}}}
			var h history
			base := time.Now()
			for _, moment := range []struct {
				seconds int
				want    step
			}{{0, pending}, {1, pending}, {299, pending}, {300, due}} {
				s := observationOf(node, "", at(base, moment.seconds))
				s.observed, s.answered, s.state = true, s.at, cloud.MachineGone
				var got step
				if h, got = decide(updateHistory(h, s), s, time.Minute); got != moment.want {
					t.Errorf("after %d s: step %d, want %d", moment.seconds, got, moment.want)
				}
			}
			for what, moment := range map[string]time.Time{"known": h.known, "unready": h.unready,
				"still":   h.reportedSince,
				"missing": h.missing} {
				if !strings.Contains(moment.String(), " m=") {
					t.Errorf("%s has lost its reading of the monotonic clock: %s", what, moment)
				}
			}
		})
	}
}

// TestStartOver: after an answer that does not count, older answers do not count either.
func TestStartOver(t *testing.T) {
	base := time.Now()
	h := history{unready: base, missing: at(base, 10)}
	if got := h.notBefore(); !got.Equal(at(base, 10)) {
		t.Errorf("answers count since %s, want the first one that said that it is missing", got)
	}
	if got := h.startOver(at(base, 80)).notBefore(); !got.Equal(at(base, 80)) {
		t.Errorf("answers count since %s, want the time at which all began anew", got)
	}
}
