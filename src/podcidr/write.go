package podcidr

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// attempts is how often a write is made at once when somebody else has just changed the Node: kubelets do that all the time.
const attempts = 3

// write sets a Node's networks, if it has none: they cannot be changed once they are set. Each patch is made on the condition that the Node
// is as it was seen; where it is not, it is looked at again. The conflict that is left says that the write has not happened.
func (c *Controller) write(ctx context.Context, node *corev1.Node, networks []netip.Prefix) error {
	for attempt := 1; ; attempt++ {
		err := c.patch(ctx, node, networks)
		if !apierrors.IsConflict(err) || attempt == attempts {
			return err
		}
		latest, failed := c.client.CoreV1().Nodes().Get(ctx, node.Name, metav1.GetOptions{})
		if failed != nil || latest.UID != node.UID || len(latest.Spec.PodCIDRs) > 0 {
			return err
		}
		node = latest
	}
}

func (c *Controller) patch(ctx context.Context, node *corev1.Node, networks []netip.Prefix) error {
	texts := make([]string, 0, len(networks))
	for _, network := range networks {
		texts = append(texts, network.String())
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": node.UID, "resourceVersion": node.ResourceVersion},
		"spec":     map[string]any{"podCIDR": texts[0], "podCIDRs": texts},
	})
	if err != nil {
		return fmt.Errorf("writing the networks of node %s: %w", node.Name, err)
	}
	if _, err = c.client.CoreV1().Nodes().Patch(ctx, node.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("giving node %s the networks %v of its pods: %w; it is tried again", node.Name, texts, err)
	}
	return nil
}
