package route

import (
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/event"
)

// hindrance is which Nodes keep what others left behind from being removed. The zero value is that none does.
type hindrance struct {
	since map[types.UID]time.Time
	told  event.Filter
}

// tellUnlisted tells Nodes that keep what others left behind from being removed: one with a provider ID that names no
// machine, or whose machine is gone, does so as long as it is there. A list may be partial for a moment, so that they
// are told from the second look on. Err is what the look said: another error than that of such Nodes says nothing of
// them.
func (c *Controller) tellUnlisted(members []cloud.RouteMember, err error) {
	unlisted, known := errors.AsType[*cloud.IncompleteListError](err)
	if err != nil && !known {
		return
	}
	since := map[types.UID]time.Time{}
	for _, member := range members {
		node := member.Node
		if unlisted == nil || unlisted.Missing[node.Name] == "" {
			continue
		}
		first, before := c.hindrance.since[node.UID]
		if !before {
			since[node.UID] = time.Now()
			continue
		}
		since[node.UID] = first
		if time.Since(first) >= vacantGrace {
			c.tellHindrance(node, unlisted.Missing[node.Name])
		}
	}
	c.hindrance.since = since
	c.hindrance.told.Retain(func(uid types.UID) bool { return !since[uid].IsZero() })
}

func (c *Controller) tellHindrance(node *corev1.Node, lacks string) {
	why := event.Warning{Reason: reasonStopped, Message: "The cloud's list of machines lacks " + lacks +
		" of this Node, so the list may be incomplete. Routes of deleted Nodes are not deleted until the list is " +
		"complete. " +
		"If spec.providerID names a machine that does not exist, delete the Node, and let its kubelet register with " +
		"the right provider ID."}
	for _, n := range c.hindrance.told.Update(string(node.UID), node.UID, []event.Warning{why}) {
		c.recorder.Event(node, corev1.EventTypeWarning, n.Reason, n.Message)
	}
}
