package virtualnode

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcoordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
)

// Kubelet's periods.
const (
	leaseDuration = 40 * time.Second
	leaseRenewal  = leaseDuration / 4
	statusPeriod  = 5 * time.Minute
)

// live keeps the node Ready until ctx ends: it renews the lease, repeats the status now and then,
// and corrects it at once when somebody else has called the node not ready.
func (n *Node) live(ctx context.Context) {
	lease := time.NewTimer(0)
	if n.options.NoLease {
		lease.Stop()
	}
	defer lease.Stop()
	// The first wait is a random part of the period, so that a thousand nodes that were started
	// together do not beat together.
	next := rand.N(leaseRenewal)
	status := time.NewTicker(statusPeriod)
	defer status.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-lease.C:
			err = n.renew(ctx)
			lease.Reset(next)
			next = leaseRenewal
		case <-status.C:
			err = n.report(ctx)
		case <-n.corrections:
			err = n.report(ctx)
		}
		if err != nil && ctx.Err() == nil {
			n.logger.Warn("keeping the node ready; trying again", "node", n.options.Name, "error", err)
		}
	}
}

// report and renew do nothing while the object does not exist. Like kubelet, a node that was
// deleted does not come back by itself.
func (n *Node) report(ctx context.Context) error {
	node := n.seen.Load()
	if node == nil {
		return nil
	}
	_, err := n.patch(ctx, map[string]any{"status": map[string]any{"conditions": since(time.Now(), node)}}, "status")
	if err != nil {
		return fmt.Errorf("reporting on node %q: %w", n.options.Name, err)
	}
	return nil
}

// renew creates or renews the lease. The one that was written last is used again: nobody else
// writes it.
func (n *Node) renew(ctx context.Context) error {
	node := n.seen.Load()
	if node == nil {
		n.lease = nil
		return nil
	}
	if n.lease == nil {
		return n.findLease(ctx, node)
	}
	renewed, fresh := n.lease.DeepCopy(), n.newLease(node)
	renewed.Spec, renewed.OwnerReferences = fresh.Spec, fresh.OwnerReferences
	var err error
	if n.lease, err = n.leases().Update(ctx, renewed, metav1.UpdateOptions{}); err != nil {
		n.lease = nil
		return fmt.Errorf("renewing the lease of node %q: %w", n.options.Name, err)
	}
	return nil
}

// findLease creates the lease, or renews the one that is left from before.
func (n *Node) findLease(ctx context.Context, node *corev1.Node) error {
	current, err := n.leases().Get(ctx, n.options.Name, metav1.GetOptions{})
	if err == nil {
		n.lease = current
		return n.renew(ctx)
	}
	if apierrors.IsNotFound(err) {
		current, err = n.leases().Create(ctx, n.newLease(node), metav1.CreateOptions{})
	}
	if err != nil {
		return fmt.Errorf("finding or creating the lease of node %q: %w", n.options.Name, err)
	}
	n.lease = current
	return nil
}

func (n *Node) leases() typedcoordinationv1.LeaseInterface {
	return n.client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
}

// newLease is owned by the Node object, so that it goes away with it.
func (n *Node) newLease(node *corev1.Node) *coordinationv1.Lease {
	seconds, now := int32(leaseDuration/time.Second), metav1.NowMicro()
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Name: n.options.Name, Namespace: corev1.NamespaceNodeLease,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}},
		},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &n.options.Name, LeaseDurationSeconds: &seconds, RenewTime: &now},
	}
}
