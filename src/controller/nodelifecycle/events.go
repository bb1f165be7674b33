package nodelifecycle

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/event"
)

// Reasons of events that the lifecycle controller of k8s.io/cloud-provider has, too.
const (
	reasonDeleting       = "DeletingNode"
	reasonDeletingFailed = "DeletingNodeFailed"
)

// Other reasons.
const (
	// reasonNotRemoved: the machine is missing, and the Node is not deleted now.
	reasonNotRemoved = "NodeNotRemoved"
	// reasonRemovalsStopped: more Nodes are missing than may be deleted, so none is.
	reasonRemovalsStopped = "NodeRemovalsStopped"
	// reasonStateUnknown: this version does not know the state of the machine.
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
	var unknown []*subject
	for _, s := range subjects {
		known := c.records[s.node.UID]
		switch {
		case s.step == unknownState:
			known.blocked = ""
			c.warn(s, reasonStateUnknown, string(s.observation.state), "The state of this Node's machine is not "+
				"known to this version, so the Node does not change. Check whether a newer version supports it")
		case s.observation.err != nil && !s.ready(): // the state of the machine is unknown now
			if !s.observation.kept && s.observation.at.Sub(s.history.unknownSince) >= max(unknownLimit,
				c.behaviour.GracePeriod) {
				unknown = append(unknown, s)
			}
		case s.step != pending && s.step != due:
			known.blocked = ""
			if s.ready() {
				c.warnings.Forget(s.node.Name)
			}
		}
	}
	c.warnUnknown(unknown)
}

// unknownLimit is how long the state of the machine of a Node that is not ready may be unknown before there is an
// event.
const unknownLimit = 10 * time.Minute

// warnUnknown records one event about all Nodes whose machines are in an unknown state.
func (c *Controller) warnUnknown(unknown []*subject) {
	if len(unknown) == 0 {
		c.common.Forget(string(blockedNoAnswer))
		return
	}
	for _, s := range unknown {
		c.setBlocked(s, blockedNoAnswer)
	}
	since := time.Since(unknown[0].history.unknownSince).Round(time.Minute)
	c.warnOnce(unknown, blockedNoAnswer, reasonNotRemoved, string(blockedNoAnswer), fmt.Sprintf(
		"These Nodes are not ready, and the state of their machines has been unknown for %s, so the Nodes do not "+
			"change: %s. The cloud's answer: %v",
		since, nodeNames(unknown), unknown[0].observation.err))
}

// setBlocked records and counts why the Node is not deleted now.
func (c *Controller) setBlocked(s *subject, why reason) {
	if known := c.records[s.node.UID]; known.blocked != why {
		known.blocked = why
		c.metrics.blocked.WithLabelValues(string(why)).Inc()
	}
}

// hold reports why the Node is not deleted now. It is still due.
func (c *Controller) hold(s *subject, why reason, text string) {
	c.setBlocked(s, why)
	c.warn(s, reasonNotRemoved, string(why), "The machine of this Node is missing, but the Node is not deleted: "+text)
}

// block is hold, and starts over.
func (c *Controller) block(s *subject, why reason, text string) {
	c.startOver(s)
	c.hold(s, why, text)
}

// startOver requires that all answers about the Node are confirmed again.
func (c *Controller) startOver(s *subject) {
	s.history = s.history.startOver(time.Now())
	c.records[s.node.UID].history = s.history
}

func (c *Controller) blockAll(batch []*subject, why reason, text string) {
	for _, s := range batch {
		c.block(s, why, text)
	}
}
