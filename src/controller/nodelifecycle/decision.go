package nodelifecycle

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cloud "github.com/thalassa-cloud/thalassa-ccm/src/controller/node"
)

const (
	// newcomerGrace is for how long nothing is concluded from a missing machine that this process has never seen: a cloud may show a
	// new one late.
	newcomerGrace = 5 * time.Minute
	// silence is for how long a Node whose Ready condition is False must not have reported. A kubelet that has nothing new to say does so
	// every five minutes; kube-controller-manager makes Unknown of it much sooner when nobody renews its lease.
	silence = 6 * time.Minute
)

// sight is what one pass sees of a Node.
type sight struct {
	at         time.Time // when the pass began
	providerID string
	ready      corev1.ConditionStatus
	reported   metav1.Time // when the kubelet did so last, by its own clock: only compared with itself
	tainted    bool        // with the shutdown taint
	kept       bool        // its owner asked that it be left alone

	looked   bool        // at its machine
	answered time.Time   // when there was an answer
	state    cloud.State // if err is nil
	err      error
}

// history is what is remembered of a Node, by its UID. All times are readings of the monotonic clock: a clock that is set changes nothing.
type history struct {
	providerID string
	known      time.Time   // since when this process knows the Node, with this provider ID
	unready    time.Time   // from when on answers count that say that its machine is gone; zero while it is ready
	reported   metav1.Time // see sight
	still      time.Time   // since when that is the same
	seen       bool        // its machine was once there
	missing    time.Time   // when the first look was answered that said that it is gone; zero: it is not missing
	odd        bool        // it is ready, and the cloud says in every way that there is no such machine here
	asked      time.Time   // when its machine was asked for last because it is ready and the list lacks that
	mute       time.Time   // since when there is no answer to that; zero: there is one, or nobody asked
	away       bool        // its machine was last said to be in another network, so it would not go
	dark       time.Time   // since when it is not ready and nobody knows how its machine is
}

// meet returns what is known of a Node before its machine is looked at.
func meet(h history, s sight) history {
	if h.known.IsZero() || h.providerID != s.providerID {
		h = history{providerID: s.providerID, known: s.at}
	}
	if h.still.IsZero() || !h.reported.Equal(&s.reported) {
		h.reported, h.still = s.reported, s.at
	}
	switch {
	case s.ready == corev1.ConditionTrue:
		h.unready, h.missing, h.dark = time.Time{}, time.Time{}, time.Time{}
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

// darken notes that nobody knows how the machine is.
func (h history) darken(now time.Time) history {
	if h.dark.IsZero() {
		h.dark = now
	}
	return h
}

// step is what is to be done about a Node.
type step int

// The steps.
const (
	leave   step = iota
	taint        // it gets the shutdown taint
	untaint      // it loses it
	pending      // its machine is missing; that is not believed yet
	due          // a second look may say so, too
	strange      // the cloud uses a word for its machine that is not known here
)

// judge returns what is known of a Node after its machine was looked at, and what is to be done. It is the table in
// docs/guides/node-removal.md.
func judge(h history, s sight, grace time.Duration) (history, step) {
	answered := s.looked && s.err == nil
	if answered && s.state != cloud.Gone {
		h.seen, h.odd, h.away, h.asked, h.mute = true, false, false, time.Time{}, time.Time{}
	}
	if answered {
		h.dark = time.Time{}
	}
	switch {
	case s.ready == corev1.ConditionTrue: // a kubelet that reports is a living server, whatever a list says
		return h, s.lighten()
	case !answered:
		return h.darken(s.at).anew(s.at), leave
	case s.state != cloud.Gone:
		h.missing = time.Time{}
	}
	switch s.state {
	case cloud.Running:
		return h, s.lighten()
	case cloud.Stopped, cloud.Deleting:
		return h, s.burden()
	case cloud.Gone:
		return h.miss(s, grace)
	case cloud.Unknown:
	}
	return h, strange
}

// lighten is how a Node whose machine runs loses the taint.
func (s sight) lighten() step {
	if s.tainted {
		return untaint
	}
	return leave
}

// burden is how a Node whose machine is shut down gets it.
func (s sight) burden() step {
	if s.tainted || s.kept {
		return leave
	}
	return taint
}

// miss goes on after a look that says that the machine of a Node is gone which is not ready.
func (h history) miss(s sight, grace time.Duration) (history, step) {
	if h.missing.IsZero() {
		h.missing = s.answered
	}
	if s.at.Before(h.ripe(s.ready, grace)) {
		return h, pending
	}
	return h, due
}

// ripe is from when on a second look may say so, too.
func (h history) ripe(ready corev1.ConditionStatus, grace time.Duration) time.Time {
	at := h.missing.Add(grace)
	if !h.seen {
		at = latest(at, h.known.Add(newcomerGrace))
	}
	if ready == corev1.ConditionFalse {
		at = latest(at, h.still.Add(silence))
	}
	return at
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
