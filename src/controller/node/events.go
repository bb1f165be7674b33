package node

import (
	"errors"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/controller/event"
)

// reasonSynced is of the event that the node controller of k8s.io/cloud-provider has, too.
const reasonSynced = "Synced"

// reasonNotWritten is our own, beside those of problems: the API server refuses the patch.
const reasonNotWritten = "NodeNotWritten"

// tell makes events of what stands in the way of a Node, and of what of it cannot be used: each once, and again when it lasts. That the
// cloud gives no answer is told only of Nodes that wait for it: of a thousand others it is no news.
func (c *Controller) tell(node *corev1.Node, err error, problems []Problem) {
	notices := noticesOf(node, problems)
	if problem, ok := errors.AsType[*Problem](err); ok {
		if problem.ofCloud() && !waiting(node) {
			return
		}
		notices = append(notices, noticeOf(node, *problem))
	}
	for _, n := range c.told.Update(node.Name, node.UID, notices) {
		c.recorder.Event(node, corev1.EventTypeWarning, n.Reason, n.Message)
	}
}

// noticesOf are what a Node's owner is told of its problems.
func noticesOf(node *corev1.Node, problems []Problem) []event.Warning {
	var notices []event.Warning
	for _, p := range problems {
		if p.Reason != CloudNotReachable || waiting(node) {
			notices = append(notices, noticeOf(node, p))
		}
	}
	return notices
}

// noticeOf is what is told of a problem. How the cloud gives no answer changes from one attempt to the next, and is told once for all Nodes
// that are initialised.
func noticeOf(node *corev1.Node, p Problem) event.Warning {
	return event.Warning{
		Reason: p.Reason, Message: p.Message, Vague: p.ofCloud() || p.Reason == MachineNotKnown, Common: p.ofCloud() && !waiting(node),
	}
}
