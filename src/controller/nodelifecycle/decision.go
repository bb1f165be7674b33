package nodelifecycle

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

const (
	// firstSeenGrace is for how long nothing is concluded from a missing machine that this process has never seen: a
	// cloud may show a new one late.
	firstSeenGrace = 5 * time.Minute
	// silentLimit is how long a Node whose Ready condition is False must not have reported before it may be removed. A
	// kubelet that has nothing new to say does so every five minutes; kube-controller-manager makes Unknown of it much
	// sooner when nobody renews its lease.
	silentLimit = 6 * time.Minute
)

// observation is the state of a Node in one pass.
type observation struct {
	at         time.Time // when the pass began
	providerID string
	ready      corev1.ConditionStatus
	reported   metav1.Time // when the kubelet did so last, by its own clock: only compared with itself
	tainted    bool        // with the shutdown taint
	kept       bool        // its owner asked that it be left alone

	looked   bool               // at its machine
	answered time.Time          // when there was an answer
	state    cloud.MachineState // if err is nil
	err      error
}

// history is what is remembered of a Node, by its UID. All times are readings of the monotonic clock: a clock that is
// set changes nothing.
type history struct {
	providerID string
	known      time.Time   // since when this process knows the Node, with this provider ID
	unready    time.Time   // from when on answers count that say that its machine is gone; zero while it is ready
	reported   metav1.Time // see observation
	still      time.Time   // since when that is the same
	seen       bool        // its machine was once there
	missing    time.Time   // when the first look was answered that said that it is gone; zero: it is not missing
	// the Node is ready, and the list and a direct request say that its machine does not exist
	confirmedMissing bool
	asked            time.Time // when its machine was asked for last because it is ready and the list lacks that
	unansweredSince  time.Time // since when there is no answer to that; zero: there is one, or nobody asked
	away             bool      // its machine was last said to be in another network, so it would not go
	unknownSince     time.Time // since when it is not ready and nobody knows how its machine is
}

// meet returns what is known of a Node before its machine is looked at.
func meet(h history, s observation) history {
	if h.known.IsZero() || h.providerID != s.providerID {
		h = history{providerID: s.providerID, known: s.at}
	}
	if h.still.IsZero() || !h.reported.Equal(&s.reported) {
		h.reported, h.still = s.reported, s.at
	}
	switch {
	case s.ready == corev1.ConditionTrue:
		h.unready, h.missing, h.unknownSince = time.Time{}, time.Time{}, time.Time{}
	case h.unready.IsZero():
		h.unready = s.at
	}
	return h
}

// since is from when on an answer counts that says that the machine is gone.
func (h history) since() time.Time {
	if h.missing.IsZero() {
		return h.unready
	}
	return h.missing
}

// anew forgets that the machine was missing: only answers from now on count.
func (h history) anew(now time.Time) history {
	h.unready, h.missing = now, time.Time{}
	return h
}

// noteUnknown records that the state of the machine is unknown.
func (h history) noteUnknown(now time.Time) history {
	if h.unknownSince.IsZero() {
		h.unknownSince = now
	}
	return h
}

// step is what is to be done about a Node.
type step int

// The steps.
const (
	leave        step = iota
	taint             // it gets the shutdown taint
	untaint           // it loses it
	pending           // its machine is missing; that is not believed yet
	due               // a second look may say so, too
	unknownState      // the state of its machine is not known to this version
)

// decide returns the history of a Node after its machine was observed, and the next step. It is the table in
// docs/guides/node-removal.md.
func decide(h history, s observation, grace time.Duration) (history, step) {
	answered := s.looked && s.err == nil
	if answered && s.state != cloud.MachineGone {
		h.seen, h.confirmedMissing, h.away, h.asked, h.unansweredSince = true, false, false, time.Time{}, time.Time{}
	}
	if answered {
		h.unknownSince = time.Time{}
	}
	switch {
	case s.ready == corev1.ConditionTrue: // a kubelet that reports is a living server, whatever a list says
		return h, s.removeTaint()
	case !answered:
		return h.noteUnknown(s.at).anew(s.at), leave
	case s.state != cloud.MachineGone:
		h.missing = time.Time{}
	}
	switch s.state {
	case cloud.MachineRunning:
		return h, s.removeTaint()
	case cloud.MachineStopped, cloud.MachineDeleting:
		return h, s.addTaint()
	case cloud.MachineGone:
		return h.miss(s, grace)
	case cloud.MachineUnknown:
	}
	return h, unknownState
}

// removeTaint is the step for a Node whose machine runs.
func (s observation) removeTaint() step {
	if s.tainted {
		return untaint
	}
	return leave
}

// addTaint is the step for a Node whose machine is shut down.
func (s observation) addTaint() step {
	if s.tainted || s.kept {
		return leave
	}
	return taint
}

// miss goes on after a look that says that the machine of a Node is gone which is not ready.
func (h history) miss(s observation, grace time.Duration) (history, step) {
	if h.missing.IsZero() {
		h.missing = s.answered
	}
	if s.at.Before(h.eligible(s.ready, grace)) {
		return h, pending
	}
	return h, due
}

// eligible returns the time from which on the removal of the Node may be confirmed.
func (h history) eligible(ready corev1.ConditionStatus, grace time.Duration) time.Time {
	at := h.missing.Add(grace)
	if !h.seen {
		at = latest(at, h.known.Add(firstSeenGrace))
	}
	if ready == corev1.ConditionFalse {
		at = latest(at, h.still.Add(silentLimit))
	}
	return at
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
