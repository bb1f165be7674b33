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

// state is what the condition of a Node says. States can be compared with ==.
type state struct {
	status  corev1.ConditionStatus
	reason  string
	message string
}

// stateOf is what it should say of a Node that lacks routes for these reasons.
func stateOf(lacking []notice) state {
	if len(lacking) == 0 {
		return state{corev1.ConditionFalse, routesCreated, "Every pod network of this Node has a route"}
	}
	reasons := make([]string, 0, len(lacking))
	for _, one := range lacking {
		if !strings.Contains(strings.Join(reasons, ", "), one.reason) {
			reasons = append(reasons, one.reason)
		}
	}
	return state{corev1.ConditionTrue, noRoutesCreated,
		"Some routes to the pods of this Node are missing, see its events: " + strings.Join(reasons, ", ")}
}

// available is what the condition of a Node says now.
func available(node *corev1.Node) state {
	for _, one := range node.Status.Conditions {
		if one.Type == corev1.NodeNetworkUnavailable {
			return state{one.Status, one.Reason, one.Message}
		}
	}
	return state{}
}

// waiting is what it should say of a Node whose routes are to be made, as long as it says nothing.
func waiting() state {
	return state{corev1.ConditionTrue, noRoutesCreated, "The routes of this Node are being created"}
}

// accepts says whether nothing has to be written. That the network is available is as good in the words of others, such
// as a network plugin.
func (s state) accepts(other state) bool {
	return s == other || (s.status == other.status && s.status == corev1.ConditionFalse)
}

// settle makes the condition of a Node what is wanted, in one patch, unless it is already. A Node that is gone needs
// none. Where another one writes it, too, and something else, it is not written again before a while, which is
// returned: two writers that put each other right for ever help nobody.
func (c *Controller) settle(ctx context.Context, node *corev1.Node, wanted state) (wait time.Duration, err error) {
	present := available(node)
	c.memory.wish(node.UID, wanted)
	if wanted.accepts(present) {
		return 0, nil
	}
	if write, wait := c.memory.mayPatch(node.UID, node.ResourceVersion, present, c.lookPeriod()); !write {
		return wait, nil
	}
	return 0, c.patch(ctx, node, wanted)
}

func (c *Controller) patch(ctx context.Context, node *corev1.Node, wanted state) error {
	_, err := patch.Strategic(ctx, c.client.CoreV1().Nodes().Patch, node.Name, patchOf(node, wanted), "status")
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return nil // it is gone, or another one of its name is there: that brings a pass of its own
	case err != nil:
		return fmt.Errorf("setting NodeNetworkUnavailable of node %s: %w", node.Name, err)
	}
	c.memory.notePatched(node.UID, node.ResourceVersion)
	return nil
}

// patchOf is a patch of one condition, for this very Node.
func patchOf(node *corev1.Node, wanted state) patch.Body {
	now := metav1.NewTime(time.Now())
	condition := corev1.NodeCondition{
		Type: corev1.NodeNetworkUnavailable, Status: wanted.status, Reason: wanted.reason, Message: wanted.message,
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
