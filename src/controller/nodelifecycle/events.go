package nodelifecycle

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Reasons of events that the life cycle controller of k8s.io/cloud-provider has, too.
const (
	reasonDeleting       = "DeletingNode"
	reasonDeletingFailed = "DeletingNodeFailed"
)

// Reasons of our own.
const (
	// reasonNotRemoved: the machine is missing, and the Node stays for now.
	reasonNotRemoved = "NodeNotRemoved"
	// reasonRemovalsStopped: so many Nodes would be removed that none is.
	reasonRemovalsStopped = "NodeRemovalsStopped"
	// reasonStateUnknown: the cloud uses a word for the machine's state that is not known here.
	reasonStateUnknown = "MachineStateUnknown"
)

const (
	// maxVoice is how many events one pass makes about single Nodes: of a thousand at once the rest follows in the next ones.
	maxVoice = 25
	// tellAnew is after how long the same is told in other words, tellAgain after how long it is told again: Kubernetes forgets
	// events after an hour.
	tellAnew  = 10 * time.Minute
	tellAgain = time.Hour
)

// telling is an event about a Node.
type telling struct {
	text string
	at   time.Time
}

// stale says that something is to be told again, in these words.
func (t telling) stale(text string, now time.Time) bool {
	age := now.Sub(t.at)
	return t.at.IsZero() || age >= tellAgain || t.text != text && age >= tellAnew
}

// tell makes a warning about a topic, unless that was done lately.
func (c *Controller) tell(s *subject, reason, topic, text string) {
	known := c.records[s.node.UID]
	now := time.Now()
	if c.voice == 0 || !known.told[topic].stale(text, now) {
		return
	}
	if known.told == nil {
		known.told = map[string]telling{}
	}
	c.voice--
	known.told[topic] = telling{text, now}
	c.recorder.Event(s.node, corev1.EventTypeWarning, reason, text)
}

// calm forgets why Nodes were not removed whose machines are not missing any more, and tells of machines in states that are not known.
func (c *Controller) calm(subjects []*subject) {
	var dark []*subject
	for _, s := range subjects {
		known := c.records[s.node.UID]
		switch {
		case s.step == strange:
			known.blocked = ""
			c.tell(s, reasonStateUnknown, string(s.sight.state), "The state of this Node's machine is not known to this version, so the Node does not change. Check whether a newer version supports it")
		case s.sight.err != nil && !s.ready(): // nothing is known now
			if !s.sight.kept && s.sight.at.Sub(s.history.dark) >= max(darkLimit, c.behaviour.GracePeriod) {
				dark = append(dark, s)
			}
		case s.step != pending && s.step != due:
			known.blocked = ""
			if s.ready() {
				known.told = nil // that is over: when it happens again, it is told again
			}
		}
	}
	c.despair(dark)
}

// darkLimit is for how long it may not be known how the machine of a Node is that is not ready until somebody is told.
const darkLimit = 10 * time.Minute

// despair notes that nobody can say how the machines of these Nodes are. They have that in common, so one event tells of all.
func (c *Controller) despair(dark []*subject) {
	if len(dark) == 0 {
		c.unlit = telling{}
		return
	}
	for _, s := range dark {
		c.note(s, blockedNoAnswer)
	}
	now, first := time.Now(), dark[0]
	if !c.unlit.stale("", now) {
		return
	}
	c.unlit = telling{"", now}
	c.recorder.Eventf(first.node, corev1.EventTypeWarning, reasonNotRemoved,
		"These Nodes are not ready, and the state of their machines has been unknown for %s, so the Nodes do not change: %s. The cloud's answer: %v",
		now.Sub(first.history.dark).Round(time.Minute), named(dark), first.sight.err)
}

// note counts why the Node is not removed now.
func (c *Controller) note(s *subject, why reason) {
	if known := c.records[s.node.UID]; known.blocked != why {
		known.blocked = why
		c.metrics.blocked.WithLabelValues(string(why)).Inc()
	}
}

// hold notes why the Node is not removed now. When that passes, it is due.
func (c *Controller) hold(s *subject, why reason, text string) {
	c.note(s, why)
	c.tell(s, reasonNotRemoved, string(why), "The machine of this Node is missing, but the Node is not deleted: "+text)
}

// block is hold, and begins anew.
func (c *Controller) block(s *subject, why reason, text string) {
	c.anew(s)
	c.hold(s, why, text)
}

// anew makes everything to be said twice again.
func (c *Controller) anew(s *subject) {
	s.history = s.history.anew(time.Now())
	c.records[s.node.UID].history = s.history
}

func (c *Controller) blockAll(batch []*subject, why reason, text string) {
	for _, s := range batch {
		c.block(s, why, text)
	}
}
