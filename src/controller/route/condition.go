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

	"github.com/thalassa-cloud/thalassa-ccm/src/controller/event"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/patch"
)

// Reasons of the condition NodeNetworkUnavailable, as in k8s.io/cloud-provider.
const (
	routesCreated   = "RouteCreated"
	noRoutesCreated = "NoRouteCreated"
)

// condition is the content of a Node's condition NodeNetworkUnavailable. Conditions can be compared with ==.
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

// satisfiedBy says whether nothing has to be written. A condition of another writer, such as a network plugin, is
// sufficient if it says that the network is available.
func (c condition) satisfiedBy(other condition) bool {
	return c == other || (c.status == other.status && c.status == corev1.ConditionFalse)
}

// conditions are the desired conditions of Nodes. It is safe for concurrent use.
type conditions struct {
	mu sync.Mutex
	of map[types.UID]*conditionRecord
}

// conditionRecord is the desired condition of a Node, with the time and the version of the Node at which it was
// written; the zero Time if it was not.
type conditionRecord struct {
	patching chan struct{} // has an element during a patch, so that a pending condition does not replace a later one
	desired  condition
	version  string
	written  time.Time
}

func (c *conditions) get(node types.UID) *conditionRecord {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = map[types.UID]*conditionRecord{}
	}
	if c.of[node] == nil {
		c.of[node] = &conditionRecord{patching: make(chan struct{}, 1)}
	}
	return c.of[node]
}

// inSync says whether a Node's current condition is sufficient. It is not if the desired one is unknown.
func (c *conditions) inSync(node types.UID, current condition) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	record := c.of[node]
	return record != nil && record.desired != condition{} && record.desired.satisfiedBy(current)
}

// retain removes the records of Nodes that do not exist any more.
func (c *conditions) retain(alive map[types.UID]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.of, func(uid types.UID, _ *conditionRecord) bool { return !alive[uid] })
}

// begin records the desired condition of a Node, and says whether it is to be written. It is not if the current one is
// sufficient, or if it was written and the Node in the cache is older than that. If another writer has changed it
// since, it is written again only after minInterval, and the remaining time is returned: two writers that overwrite
// each other for ever would load the API server. A pending condition is only written if no other one was desired
// before.
func (c *conditions) begin(record *conditionRecord, node *corev1.Node, desired condition,
	minInterval time.Duration) (write bool, wait time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	current := conditionOf(node)
	if desired == pending() && record.desired != (condition{}) && record.desired != desired {
		return false, 0
	}
	if record.desired != desired {
		record.desired, record.version, record.written = desired, "", time.Time{}
	}
	remaining := minInterval - time.Since(record.written)
	switch {
	case desired.satisfiedBy(current):
		return false, 0
	case record.written.IsZero():
		return true, 0
	case record.version == node.ResourceVersion:
		return false, 0
	case current == condition{}, remaining <= 0:
		return true, 0
	}
	return false, remaining
}

// setCondition writes the desired condition of a Node in one patch, if necessary. It returns when to retry; 0: never.
func (c *Controller) setCondition(ctx context.Context, node *corev1.Node, desired condition) (retry time.Duration) {
	record := c.conditions.get(node.UID)
	record.patching <- struct{}{}
	defer func() { <-record.patching }()
	write, retry := c.conditions.begin(record, node, desired, c.maxListAge())
	if !write {
		return retry
	}
	_, err := patch.Strategic(ctx, c.client.CoreV1().Nodes().Patch, node.Name, patchOf(node, desired), "status")
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return 0 // the Node was deleted or replaced, which starts another sync
	case err != nil:
		klog.FromContext(ctx).Error(err, "The condition about routes of a Node could not be written; it is retried",
			"node", node.Name)
		return minRetryDelay
	}
	c.conditions.mu.Lock()
	defer c.conditions.mu.Unlock()
	record.version, record.written = node.ResourceVersion, time.Now()
	return 0
}

// pendingAfter is how long a Node may wait for its routes without a condition. After that it gets the pending one:
// otherwise pods would be scheduled to it too early, such as while the cloud is slow, fails, or does not show the
// machine. Most Nodes have their routes sooner, and need no pending condition.
const pendingAfter = 1500 * time.Millisecond

// setPending sets the pending condition of a Node that has none, and waits for routes.
func (c *Controller) setPending(ctx context.Context, name string) {
	node, err := c.nodes.Get(name)
	if err != nil || conditionOf(node) != (condition{}) || len(podCIDRs(node)) == 0 || uninitialised(node) ||
		c.excludes(node) || !c.provider.Owns(node) {
		return
	}
	if retry := c.setCondition(ctx, node, pending()); retry > 0 {
		c.waiting.AddAfter(name, retry)
	}
}

// clearConditions clears the conditions that this controller wrote before Nodes were excluded. Otherwise no new pods
// would ever be scheduled to them. It does not change conditions of other writers, or Nodes of other clouds.
func (c *Controller) clearConditions(ctx context.Context, nodes []*corev1.Node, result *outcome) {
	for _, node := range nodes {
		if current := conditionOf(node); c.excludes(node) && current.status == corev1.ConditionTrue &&
			current.reason == noRoutesCreated {
			result.retryAfter(c.setCondition(ctx, node,
				condition{corev1.ConditionFalse, routesCreated, "No routes are made for this Node"}))
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
