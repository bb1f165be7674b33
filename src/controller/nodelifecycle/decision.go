package nodelifecycle

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

const (
	// firstSeenGrace is the time in which a missing machine that this process has never seen does not count: a cloud
	// may show a new machine late.
	firstSeenGrace = 5 * time.Minute
	// maxSilence is how long the kubelet of a Node whose Ready condition is False must not have reported before the
	// Node may be deleted. A kubelet without changes reports every five minutes. If the lease is not renewed,
	// kube-controller-manager sets the condition to Unknown much sooner.
	maxSilence = 6 * time.Minute
)

// observation is the state of a Node in one pass.
type observation struct {
	at         time.Time // when the pass began
	providerID string
	ready      corev1.ConditionStatus
	reported   metav1.Time // when the kubelet last reported, by its own clock: only compared with itself
	tainted    bool        // with the shutdown taint
	kept       bool        // excluded from deletion by its owner

	observed bool               // its machine was requested
	answered time.Time          // when the answer arrived
	state    cloud.MachineState // if err is nil
	err      error
}

// history is what is remembered of a Node, by its UID. All times are readings of the monotonic clock, so changes of the
// clock have no effect.
type history struct {
	providerID    string
	known         time.Time   // since when this process has seen the Node, with this provider ID
	unready       time.Time   // from when on an answer that the machine is missing counts; zero while ready
	reported      metav1.Time // see observation
	reportedSince time.Time   // since when reported is the same
	seen          bool        // its machine existed before
	missing       time.Time   // when the first answer arrived that it is missing; zero: it is not missing
	// the Node is ready, and the list and a direct request say that its machine does not exist
	confirmedMissing bool
	requested        time.Time // when its machine was last requested because the list lacks it; only while ready
	unansweredSince  time.Time // since when that request is not answered; zero: it was answered, or there was none
	inOtherNetwork   bool      // its machine was last in another network, so the Node is not deleted
	unknownSince     time.Time // since when the Node is not ready and the state of its machine is unknown
}

// updateHistory returns the history of a Node before its machine is observed.
func updateHistory(h history, s observation) history {
	if h.known.IsZero() || h.providerID != s.providerID {
		h = history{providerID: s.providerID, known: s.at}
	}
	if h.reportedSince.IsZero() || !h.reported.Equal(&s.reported) {
		h.reported, h.reportedSince = s.reported, s.at
	}
	switch {
	case s.ready == corev1.ConditionTrue:
		h.unready, h.missing, h.unknownSince = time.Time{}, time.Time{}, time.Time{}
	case h.unready.IsZero():
		h.unready = s.at
	}
	return h
}

// notBefore is the time from which on an answer that the machine is missing counts.
func (h history) notBefore() time.Time {
	if h.missing.IsZero() {
		return h.unready
	}
	return h.missing
}

// startOver forgets that the machine was missing: only later answers count.
func (h history) startOver(now time.Time) history {
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

// step is what to do with a Node.
type step int

// The steps.
const (
	keep         step = iota
	taint             // add the shutdown taint
	untaint           // remove it
	pending           // its machine is missing; the grace period has not ended
	due               // its machine is missing, which a second request may confirm
	unknownState      // the state of its machine is unknown to this version
)

// decide returns the history of a Node after its machine was observed, and the next step. It is the table in
// docs/guides/node-removal.md.
func decide(h history, s observation, grace time.Duration) (history, step) {
	answered := s.observed && s.err == nil
	if answered && s.state != cloud.MachineGone {
		h.seen, h.confirmedMissing, h.inOtherNetwork, h.requested,
			h.unansweredSince = true, false, false, time.Time{}, time.Time{}
	}
	if answered {
		h.unknownSince = time.Time{}
	}
	switch {
	case s.ready == corev1.ConditionTrue: // a kubelet that reports runs on a machine, even if no list contains it
		return h, s.removeTaint()
	case !answered:
		return h.noteUnknown(s.at).startOver(s.at), keep
	case s.state != cloud.MachineGone:
		h.missing = time.Time{}
	}
	switch s.state {
	case cloud.MachineRunning:
		return h, s.removeTaint()
	case cloud.MachineStopped, cloud.MachineDeleting:
		return h, s.addTaint()
	case cloud.MachineGone:
		return h.machineMissing(s, grace)
	case cloud.MachineUnknown:
	}
	return h, unknownState
}

// removeTaint is the step for a Node whose machine runs.
func (s observation) removeTaint() step {
	if s.tainted {
		return untaint
	}
	return keep
}

// addTaint is the step for a Node whose machine is shut down.
func (s observation) addTaint() step {
	if s.tainted || s.kept {
		return keep
	}
	return taint
}

// machineMissing is the step for a Node that is not ready and whose machine is missing.
func (h history) machineMissing(s observation, grace time.Duration) (history, step) {
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
		at = latest(at, h.reportedSince.Add(maxSilence))
	}
	return at
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
