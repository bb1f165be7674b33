package node

import (
	"errors"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/event"
)

// reasonSynced is a reason of the node controller of k8s.io/cloud-provider, too.
const reasonSynced = "Synced"

// reasonNotWritten is the reason if the API server refuses the patch.
const reasonNotWritten = "NodeNotWritten"

// warn records events about why a Node is not in sync and which settings cannot be used: each once, and again while it
// lasts. A cloud that does not answer is reported only on Nodes that are not initialised.
func (c *Controller) warn(node *corev1.Node, err error, problems []cloud.MachineProblem) {
	warnings := warningsOf(node, problems)
	if problem, ok := errors.AsType[*cloud.MachineProblem](err); ok {
		if ofCloud(problem) && !cloud.Uninitialised(node) {
			return
		}
		warnings = append(warnings, warningOf(node, *problem))
	}
	c.warnings.Record(c.recorder, node, warnings)
}

// warningsOf returns the warnings for a Node's problems.
func warningsOf(node *corev1.Node, problems []cloud.MachineProblem) []event.Warning {
	var warnings []event.Warning
	for _, p := range problems {
		if p.Reason != cloud.CloudNotReachable || cloud.Uninitialised(node) {
			warnings = append(warnings, warningOf(node, p))
		}
	}
	return warnings
}

// warningOf returns the warning for a problem. The message about a cloud that does not answer differs at each attempt.
// All initialised Nodes have such a problem in common.
func warningOf(node *corev1.Node, p cloud.MachineProblem) event.Warning {
	return event.Warning{
		Reason: p.Reason, Message: p.Message, Vague: ofCloud(&p) || p.Reason == cloud.MachineNotKnown,
		Common: ofCloud(&p) && !cloud.Uninitialised(node),
	}
}

// ofCloud says that the problem concerns the cloud, and not only one Node.
func ofCloud(p *cloud.MachineProblem) bool {
	return p.Reason == cloud.CloudRefused || p.Reason == cloud.CloudNotReachable
}
