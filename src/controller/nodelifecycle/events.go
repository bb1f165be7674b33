package nodelifecycle

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/controller/event"
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

// warn records a warning event about a condition of a Node, unless it did so recently.
func (c *Controller) warn(s *subject, reason, topic, text string) {
	if c.warnings.Add(s.node.Name, s.node.UID, event.Warning{Reason: reason, Topic: topic, Message: text}) {
		c.recorder.Event(s.node, corev1.EventTypeWarning, reason, text)
	}
}

// warnOnce records one warning event about a condition of several Nodes, unless it did so recently. The event is of the
// first Node.
func (c *Controller) warnOnce(subjects []*subject, why reason, eventReason, topic, text string) {
	if c.common.Add(string(why), "", event.Warning{Reason: eventReason, Topic: topic, Message: text, Vague: true}) {
		c.recorder.Event(subjects[0].node, corev1.EventTypeWarning, eventReason, text)
	}
}

// clearBlocked deletes the reasons of Nodes whose machines are not missing any more, and warns about machines in
// unknown states.
func (c *Controller) clearBlocked(subjects []*subject) {
	var unknownSince []*subject
	for _, s := range subjects {
		known := c.records[s.node.UID]
		switch {
		case s.step == unknownState:
			known.blocked = ""
			c.warn(s, reasonStateUnknown, string(s.observation.state), "The state of this Node's machine is not "+
				"known to this version, so the Node does not change. Check whether a newer version supports it")
		case s.observation.err != nil && !s.ready(): // nothing is known now
			if !s.observation.kept && s.observation.at.Sub(s.history.unknownSince) >= max(unknownLimit,
				c.behaviour.GracePeriod) {
				unknownSince = append(unknownSince, s)
			}
		case s.step != pending && s.step != due:
			known.blocked = ""
			if s.ready() {
				c.warnings.Forget(s.node.Name)
			}
		}
	}
	c.warnUnknown(unknownSince)
}

// unknownLimit is how long the state of the machine of a Node that is not ready may be unknown before there is an
// event.
const unknownLimit = 10 * time.Minute

// warnUnknown records one event about all Nodes whose machines are in an unknown state.
func (c *Controller) warnUnknown(unknownSince []*subject) {
	if len(unknownSince) == 0 {
		c.common.Forget(string(blockedNoAnswer))
		return
	}
	for _, s := range unknownSince {
		c.note(s, blockedNoAnswer)
	}
	since := time.Since(unknownSince[0].history.unknownSince).Round(time.Minute)
	c.warnOnce(unknownSince, blockedNoAnswer, reasonNotRemoved, string(blockedNoAnswer), fmt.Sprintf(
		"These Nodes are not ready, and the state of their machines has been unknown for %s, so the Nodes do not "+
			"change: %s. The cloud's answer: %v",
		since, named(unknownSince), unknownSince[0].observation.err))
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
	c.warn(s, reasonNotRemoved, string(why), "The machine of this Node is missing, but the Node is not deleted: "+text)
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
