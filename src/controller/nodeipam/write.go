package nodeipam

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// writeTimeout is how long a write may take. It is shorter than it takes another process to become the leader and to look at what there is,
// so that it does not miss what this one has written at last.
const writeTimeout = 5 * time.Second

// write sets a Node's networks in one patch, if nobody has changed the Node since it was seen: networks cannot be changed once they are
// set. A conflict says that the write has not happened.
func (c *Controller) write(ctx context.Context, node *corev1.Node, networks []netip.Prefix) error {
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
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	if _, err = c.client.CoreV1().Nodes().Patch(ctx, node.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("giving node %s the networks %v of its pods: %w; it is retried automatically", node.Name, texts, err)
	}
	return nil
}
