package nodeipam

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/controller/patch"
)

// writeTimeout limits the duration of a write. It is shorter than the time in which another process can become the
// leader and list the Nodes, so that its list contains the last write of this process.
const writeTimeout = 5 * time.Second

// write sets a Node's networks in one patch, if the Node has not changed since it was read: networks are immutable once
// they are set. After a conflict the write has certainly not been made.
func (c *Controller) write(ctx context.Context, node *corev1.Node, networks []netip.Prefix) error {
	texts := make([]string, 0, len(networks))
	for _, network := range networks {
		texts = append(texts, network.String())
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	_, err := patch.Merge(ctx, c.client.CoreV1().Nodes().Patch, node.Name, patch.Body{
		Metadata: patch.Metadata{UID: node.UID, ResourceVersion: node.ResourceVersion},
		Spec:     map[string]any{"podCIDR": texts[0], "podCIDRs": texts},
	})
	if err != nil {
		return fmt.Errorf("giving node %s the networks %v of its pods: %w; it is retried automatically", node.Name,
			texts, err)
	}
	return nil
}
