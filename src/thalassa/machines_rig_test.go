package thalassa

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// machineAnswers combines the answers of cloud.Machines for one Node, in the words of k8s.io/cloud-provider, as the
// controllers of Nodes combine them.
type machineAnswers struct{ cloud.Machines }

func (l *lab) answers() machineAnswers { return machineAnswers{l.cloud.machines} }

// InstanceExists reports whether the Node's machine exists. "No" comes only from the provider's list and from the cloud
// itself; a Node without a provider ID exists if its machine is found, and is otherwise not ours to judge: an error.
func (m machineAnswers) InstanceExists(ctx context.Context, node *corev1.Node) (bool, error) {
	state, err := m.state(ctx, node)
	if err != nil || state != cloud.MachineGone {
		return err == nil, err
	}
	state, err = m.Confirm(ctx, node)
	return err == nil && state != cloud.MachineGone, err
}

// InstanceShutdown reports whether the Node's machine exists and does not run, or is being deleted.
func (m machineAnswers) InstanceShutdown(ctx context.Context, node *corev1.Node) (bool, error) {
	state, err := m.state(ctx, node)
	return err == nil && (state == cloud.MachineStopped || state == cloud.MachineDeleting), err
}

// state is how the Node's machine is, as far as the list says.
func (m machineAnswers) state(ctx context.Context, node *corev1.Node) (cloud.MachineState, error) {
	if node.Spec.ProviderID == "" {
		machine, err := m.Find(ctx, node, node.CreationTimestamp.Time)
		if err != nil {
			return cloud.MachineUnknown, fmt.Errorf("node %s has no provider ID: %w", node.Name, err)
		}
		node = node.DeepCopy()
		node.Spec.ProviderID = machine.ProviderID
	}
	if !m.Owns(node.Spec.ProviderID) {
		return cloud.MachineUnknown, fmt.Errorf("node %s: provider ID %q is not of this cloud", node.Name,
			node.Spec.ProviderID)
	}
	return m.State(ctx, node, time.Time{})
}

// InstanceMetadata returns what Kubernetes should know of the Node's machine. The error is
// cloudprovider.InstanceNotFound when there is none.
func (m machineAnswers) InstanceMetadata(ctx context.Context,
	node *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	machine, err := m.Find(ctx, node, node.CreationTimestamp.Time)
	if problem, ok := errors.AsType[*cloud.MachineProblem](err); ok && (problem.Reason == cloud.MachineNotFound ||
		problem.Reason == cloud.MachineReplaced) {
		return nil, fmt.Errorf("node %s: %w (%w)", node.Name, err, cloudprovider.InstanceNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("node %s: %w", node.Name, err)
	}
	if at := slices.IndexFunc(machine.Problems, func(p cloud.MachineProblem) bool {
		return p.Reason == cloud.MachineNoAddress
	}); at >= 0 {
		return nil, fmt.Errorf("node %s: %w", node.Name, &machine.Problems[at])
	}
	return &cloudprovider.InstanceMetadata{
		ProviderID: machine.ProviderID, NodeAddresses: machine.Addresses, InstanceType: machine.Type,
		Zone: machine.Zone, Region: machine.Region, AdditionalLabels: machine.Labels,
	}, nil
}
