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

func (n *Node) report(ctx context.Context) error {
	return n.patch(ctx, map[string]any{"status": map[string]any{"conditions": since(time.Now(), n.seen.Load())}}, "status")
}

// renew creates or renews the lease. The one that was written last is used again: nobody else
// writes it.
func (n *Node) renew(ctx context.Context) error {
	leases := n.client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	now := metav1.NowMicro()
	if n.lease == nil {
		current, err := leases.Get(ctx, n.options.Name, metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("reading the lease of node %q: %w", n.options.Name, err)
		}
		if err != nil {
			n.lease, err = leases.Create(ctx, n.newLease(now), metav1.CreateOptions{})
			if err != nil {
				n.lease = nil
				return fmt.Errorf("creating the lease of node %q: %w", n.options.Name, err)
			}
			return nil
		}
		n.lease = current
	}
	renewed := n.lease.DeepCopy()
	renewed.Spec = n.newLease(now).Spec
	var err error
	if n.lease, err = leases.Update(ctx, renewed, metav1.UpdateOptions{}); err != nil {
		n.lease = nil
		return fmt.Errorf("renewing the lease of node %q: %w", n.options.Name, err)
	}
	return nil
}

// newLease is owned by the Node object, so that it goes away with it.
func (n *Node) newLease(now metav1.MicroTime) *coordinationv1.Lease {
	seconds := int32(leaseDuration / time.Second)
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: n.options.Name, Namespace: corev1.NamespaceNodeLease},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &n.options.Name, LeaseDurationSeconds: &seconds, RenewTime: &now},
	}
	if node := n.seen.Load(); node != nil {
		lease.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}}
	}
	return lease
}
