package route

import (
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/event"
)

// blockingNodes are the Nodes because of which routes that were left behind are not deleted. The zero value contains
// none.
type blockingNodes struct {
	since  map[types.UID]time.Time
	events event.Filter
}

// reportBlocking reports Nodes because of which routes that were left behind are not deleted. Such a Node has a
// provider ID without a machine, and blocks as long as it exists. A list may be incomplete for a moment, so a Node is
// reported from the second check on. Err is the error of the check. Errors other than an IncompleteListError change
// nothing.
func (c *Controller) reportBlocking(members []cloud.RouteMember, err error) {
	incomplete, isIncomplete := errors.AsType[*cloud.IncompleteListError](err)
	if err != nil && !isIncomplete {
		return
	}
	since := map[types.UID]time.Time{}
	for _, member := range members {
		node := member.Node
		if incomplete == nil || incomplete.Missing[node.Name] == "" {
			continue
		}
		first, known := c.blocking.since[node.UID]
		if !known {
			since[node.UID] = time.Now()
			continue
		}
		since[node.UID] = first
		if time.Since(first) >= minFreeTime {
			c.reportBlockingNode(node, incomplete.Missing[node.Name])
		}
	}
	c.blocking.since = since
	c.blocking.events.Retain(func(uid types.UID) bool { return !since[uid].IsZero() })
}

func (c *Controller) reportBlockingNode(node *corev1.Node, missing string) {
	warning := event.Warning{Reason: reasonStopped, Message: "The cloud's list of machines lacks " + missing +
		" of this Node, so the list may be incomplete. Routes of deleted Nodes are not deleted until the list is " +
		"complete. " +
		"If spec.providerID names a machine that does not exist, delete the Node, and let its kubelet register with " +
		"the right provider ID."}
	for _, n := range c.blocking.events.Update(string(node.UID), node.UID, []event.Warning{warning}) {
		c.recorder.Event(node, corev1.EventTypeWarning, n.Reason, n.Message)
	}
}
