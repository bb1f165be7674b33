package nodeipam

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/controller/patch"
)

// writeTimeout is how long a write may take. It is shorter than it takes another process to become the leader and to
// look at what there is, so that it does not miss what this one has written at last.
const writeTimeout = 5 * time.Second

// write sets a Node's networks in one patch, if nobody has changed the Node since it was seen: networks cannot be
// changed once they are set. A conflict says that the write has not happened.
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
