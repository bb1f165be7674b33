package virtualnode

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/apimachinery/lease"
	"k8s.io/utils/clock"
)

// Kubelet's periods.
const (
	leaseSeconds = 40
	leaseRenewal = leaseSeconds / 4 * time.Second
	statusPeriod = 5 * time.Minute
)

// live keeps the node Ready until ctx ends: it repeats the status now and then, and corrects it at
// once when the control plane has set the node not ready.
func (n *Node) live(ctx context.Context) {
	status := time.NewTicker(statusPeriod)
	defer status.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-status.C:
		case <-n.corrections:
		}
		if err := n.report(ctx); err != nil && ctx.Err() == nil {
			n.logger.Warn("keeping the node ready; trying again", "node", n.options.Name, "error", err)
		}
	}
}

// report does nothing while the object does not exist. Like kubelet, a node that was deleted does
// not come back by itself.
func (n *Node) report(ctx context.Context) error {
	node := n.seen.Load()
	if node == nil {
		return nil
	}
	body, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": since(time.Now(), node)}})
	if err != nil {
		return fmt.Errorf("reporting on node %q: %w", n.options.Name, err)
	}
	if _, err := n.network.client.CoreV1().Nodes().Patch(ctx, n.options.Name, types.StrategicMergePatchType, body,
		metav1.PatchOptions{}, "status"); err != nil {
		return fmt.Errorf("reporting on node %q: %w", n.options.Name, err)
	}
	return nil
}

// renewals renews the lease as kubelet does.
func (n *Node) renewals() lease.Controller {
	return lease.NewController(clock.RealClock{}, n.network.client, n.options.Name, leaseSeconds, nil,
		leaseRenewal, n.options.Name, corev1.NamespaceNodeLease, n.own)
}

// own makes the lease the property of the Node object, so that it goes away with it.
func (n *Node) own(l *coordinationv1.Lease) error {
	node := n.seen.Load()
	if node == nil {
		return fmt.Errorf("renewing the lease of node %q: the node was deleted", n.options.Name)
	}
	l.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}}
	return nil
}
