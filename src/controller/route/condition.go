package route

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/patch"
	"github.com/thalassa-cloud/thalassa-ccm/src/event"
)

// Reasons of the condition NetworkUnavailable, as in k8s.io/cloud-provider.
const (
	routesCreated   = "RouteCreated"
	noRoutesCreated = "NoRouteCreated"
)

// condition is the content of a Node's condition NetworkUnavailable. Conditions can be compared with ==.
type condition struct {
	status  corev1.ConditionStatus
	reason  string
	message string
}

// conditionFor is the desired condition of a Node whose routes are missing because of these problems.
func conditionFor(missing []event.Warning) condition {
	if len(missing) == 0 {
		return condition{corev1.ConditionFalse, routesCreated, "Every pod network of this Node has a route"}
	}
	var reasons []string
	for _, one := range missing {
		if !slices.Contains(reasons, one.Reason) {
			reasons = append(reasons, one.Reason)
		}
	}
	return condition{corev1.ConditionTrue, noRoutesCreated,
		"Some routes to the pods of this Node are missing, see its events: " + strings.Join(reasons, ", ")}
}

// conditionOf is the current condition of a Node; the zero condition if it has none.
func conditionOf(node *corev1.Node) condition {
	for _, one := range node.Status.Conditions {
		if one.Type == corev1.NodeNetworkUnavailable {
			return condition{one.Status, one.Reason, one.Message}
		}
	}
	return condition{}
}

// pending is the desired condition of a Node without one, as long as its routes are not created.
func pending() condition {
	return condition{corev1.ConditionTrue, noRoutesCreated, "The routes of this Node are being created"}
}

// satisfiedBy reports whether nothing has to be written. A condition of another writer, such as a network plugin, is
// sufficient if it says that the network is available.
func (c condition) satisfiedBy(other condition) bool {
	return c == other || (c.status == other.status && c.status == corev1.ConditionFalse)
}

// conditions are the desired conditions of Nodes. It is safe for concurrent use.
type conditions struct {
	mu sync.Mutex
	of map[types.UID]conditionRecord
}

// conditionRecord is the desired condition of a Node, with the time and the version of the Node at which it was
// written; the zero Time if it was not.
type conditionRecord struct {
	desired condition
	version string
	written time.Time
}

func (c *conditions) get(node types.UID) conditionRecord {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.of[node]
}

// set records the desired condition of a Node; a pending one only if no other one was desired before.
func (c *conditions) set(node types.UID, desired condition) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.of[node].desired
	if before == desired || (desired == pending() && before != condition{}) {
		return
	}
	if c.of == nil {
		c.of = map[types.UID]conditionRecord{}
	}
	c.of[node] = conditionRecord{desired: desired}
}

// setWritten records that the desired condition of a Node was written, unless another one is desired now.
func (c *conditions) setWritten(node *corev1.Node, desired condition) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of[node.UID].desired == desired {
		c.of[node.UID] = conditionRecord{desired, node.ResourceVersion, time.Now()}
	}
}

// inSync reports whether a Node's current condition is sufficient. It is not if the desired one is unknown.
func (c *conditions) inSync(node types.UID, current condition) bool {
	desired := c.get(node).desired
	return desired != condition{} && desired.satisfiedBy(current)
}

// retain removes the records of Nodes that do not exist any more.
func (c *conditions) retain(alive map[types.UID]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.of, func(uid types.UID, _ conditionRecord) bool { return !alive[uid] })
}

// due reports whether the condition is to be written. It is not if the current one is sufficient, or if it was written
// and the Node in the cache is older than that. If another writer has changed it since, it is written again only after
// minInterval, and the remaining time is returned: two writers that overwrite each other for ever would load the API
// server.
func (r conditionRecord) due(node *corev1.Node, minInterval time.Duration) (write bool, wait time.Duration) {
	current, remaining := conditionOf(node), minInterval-time.Since(r.written)
	switch {
	case r.desired == condition{}, r.desired.satisfiedBy(current):
		return false, 0
	case r.written.IsZero():
		return true, 0
	case r.version == node.ResourceVersion:
		return false, 0
	case current == condition{}, remaining <= 0:
		return true, 0
	}
	return false, remaining
}

// setCondition queues the desired condition of a Node to be written.
func (c *Controller) setCondition(node *corev1.Node, desired condition) {
	c.conditions.set(node.UID, desired)
	c.unwritten.Add(node.Name)
}

// pendingAfter is how long a Node may wait for its routes without a condition. After that it gets the pending one:
// otherwise pods would be scheduled to it too early, such as while the cloud is slow, fails, or does not show the
// machine. Most Nodes have their routes sooner, and need no pending condition.
const pendingAfter = 1500 * time.Millisecond

// writeCondition writes the desired condition of a Node in one patch, if necessary. That of a Node without any that
// waits for routes is the pending one.
func (c *Controller) writeCondition(ctx context.Context, name string) {
	node, err := c.nodes.Get(name)
	if err != nil {
		return
	}
	if conditionOf(node) == (condition{}) && len(podCIDRs(node)) > 0 && !cloud.Uninitialised(node) &&
		!c.excludes(node) && c.provider.Owns(node) {
		c.conditions.set(node.UID, pending())
	}
	record := c.conditions.get(node.UID)
	if record.desired.status == corev1.ConditionTrue && (c.excludes(node) || !c.provider.Owns(node)) {
		return // it takes no part in routes any more
	}
	write, wait := record.due(node, c.maxListAge())
	if write {
		_, err = patch.Strategic(ctx, c.client.CoreV1().Nodes().Patch, name, patchOf(node, record.desired), "status")
	}
	switch {
	case apierrors.IsNotFound(err): // it was deleted
	case err != nil:
		klog.FromContext(ctx).Error(err, "The condition about routes of a Node could not be written; it is retried",
			"node", name)
		c.unwritten.AddAfter(name, minRetryDelay)
	case write:
		c.conditions.setWritten(node, record.desired)
	case wait > 0:
		c.unwritten.AddAfter(name, wait)
	}
}

// clearConditions clears the conditions that this controller wrote before Nodes were excluded. Otherwise no new pods
// would ever be scheduled to them. It does not change conditions of other writers, or Nodes of other clouds.
func (c *Controller) clearConditions(nodes []*corev1.Node) {
	for _, node := range nodes {
		if current := conditionOf(node); c.excludes(node) && c.provider.Owns(node) &&
			current.status == corev1.ConditionTrue && current.reason == noRoutesCreated {
			c.setCondition(node, condition{corev1.ConditionFalse, routesCreated, "No routes are made for this Node"})
		}
	}
}

// patchOf is a patch of one condition that applies only to this Node, and not to a later one of the same name.
func patchOf(node *corev1.Node, desired condition) patch.Body {
	now := metav1.NewTime(time.Now())
	condition := corev1.NodeCondition{
		Type: corev1.NodeNetworkUnavailable, Status: desired.status, Reason: desired.reason, Message: desired.message,
		LastHeartbeatTime: now, LastTransitionTime: now,
	}
	for _, one := range node.Status.Conditions {
		if one.Type == condition.Type && one.Status == condition.Status {
			condition.LastTransitionTime = one.LastTransitionTime
		}
	}
	return patch.Body{
		Metadata: patch.Metadata{UID: node.UID},
		Status:   map[string]any{"conditions": []corev1.NodeCondition{condition}},
	}
}
