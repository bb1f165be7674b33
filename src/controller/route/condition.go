package route

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
func conditionFor(missing []problem) condition {
	if len(missing) == 0 {
		return condition{corev1.ConditionFalse, routesCreated, "Every pod network of this Node has a route"}
	}
	reasons := make([]string, 0, len(missing))
	for _, one := range missing {
		if !strings.Contains(strings.Join(reasons, ", "), one.reason) {
			reasons = append(reasons, one.reason)
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

// pendingCondition is the desired condition of a Node without one, as long as its routes are not created.
func pendingCondition() condition {
	return condition{corev1.ConditionTrue, noRoutesCreated, "The routes of this Node are being created"}
}

// satisfiedBy says whether nothing has to be written. A condition of another writer, such as a network plugin, is
// sufficient if it says that the network is available.
func (c condition) satisfiedBy(other condition) bool {
	return c == other || (c.status == other.status && c.status == corev1.ConditionFalse)
}

// syncCondition writes the desired condition of a Node in one patch, unless the current one is sufficient. If another
// writer changes the condition to something else, it is not written again for some time, which is returned: two writers
// that overwrite each other for ever would load the API server.
func (c *Controller) syncCondition(ctx context.Context, node *corev1.Node,
	desired condition) (wait time.Duration, err error) {
	current := conditionOf(node)
	c.state.setDesiredCondition(node.UID, desired)
	if desired.satisfiedBy(current) {
		return 0, nil
	}
	if write, wait := c.state.mayPatch(node.UID, node.ResourceVersion, current, c.maxListAge()); !write {
		return wait, nil
	}
	return 0, c.patchCondition(ctx, node, desired)
}

func (c *Controller) patchCondition(ctx context.Context, node *corev1.Node, desired condition) error {
	_, err := patch.Strategic(ctx, c.client.CoreV1().Nodes().Patch, node.Name, patchOf(node, desired), "status")
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return nil // the Node was deleted or replaced, which starts another sync
	case err != nil:
		return fmt.Errorf("setting NodeNetworkUnavailable of node %s: %w", node.Name, err)
	}
	c.state.recordPatch(node.UID, node.ResourceVersion)
	return nil
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
