package thalassa

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/providerid"
)

// existingTargets removes targets whose machine does not exist, is being deleted, or is in another VPC: the Node may
// exist longer than its machine, and the cloud refuses the whole set because of one such machine. If it is not known
// whether a machine exists, it stays where it is a target, and is not added elsewhere.
func (b *balancers) existingTargets(ctx context.Context, targets cloud.Targets) (cloud.Targets, error) {
	existing, unsure, err := b.inventory.TargetMachines(ctx, targets.Machines(), b.config.Inventory.MaxBalancerAge())
	if err != nil {
		return cloud.Targets{}, fmt.Errorf("choosing targets: %w", err)
	}
	return targets.Only(existing, unsure), nil
}

// identify returns the identity of a Node's machine. A Node is ours until it has the provider ID of another cloud.
func identify(node *corev1.Node) (identity string, ours bool) {
	machine, err := providerid.Machine(node.Spec.ProviderID)
	return machine, err == nil || node.Spec.ProviderID == "" || providerid.Owned(node.Spec.ProviderID)
}
