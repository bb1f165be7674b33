package node

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// classic makes a Provider of one that only has the interface of k8s.io/cloud-provider: it is asked for each Node on its own.
type classic struct {
	scheme    string // of provider IDs
	instances cloudprovider.InstancesV2
}

// Classic returns a provider that calls the methods of InstancesV2. Those Nodes are its own whose provider ID begins with its name.
func Classic(name string, instances cloudprovider.InstancesV2) cloud.Machines {
	return classic{scheme: name + "://", instances: instances}
}

// Owns implements cloud.Machines.
func (c classic) Owns(providerID string) bool { return strings.HasPrefix(providerID, c.scheme) }

// Find implements cloud.Machines. A provider that returns nothing at all has nothing to say of the Node. Each answer is newer than any time
// that has passed.
func (c classic) Find(ctx context.Context, node *corev1.Node, _ time.Time) (cloud.Machine, error) {
	metadata, err := c.instances.InstanceMetadata(ctx, node)
	switch {
	case errors.Is(err, cloudprovider.InstanceNotFound):
		return cloud.Machine{}, &cloud.MachineProblem{Reason: cloud.MachineNotFound, Message: fmt.Sprintf("The cloud has no machine for this Node: %v", err)}
	case err != nil:
		return cloud.Machine{}, fmt.Errorf("asking for the machine of Node %s: %w", node.Name, err)
	case metadata == nil:
		return cloud.Machine{}, cloud.ErrOtherCloud
	}
	return cloud.Machine{
		ProviderID: metadata.ProviderID, Addresses: metadata.NodeAddresses, Type: metadata.InstanceType,
		Zone: metadata.Zone, Region: metadata.Region, Labels: metadata.AdditionalLabels,
	}, nil
}

// State implements cloud.Machines. Each answer is newer than any time that has passed.
func (c classic) State(ctx context.Context, node *corev1.Node, _ time.Time) (cloud.MachineState, error) {
	exists, err := c.instances.InstanceExists(ctx, node)
	switch {
	case err != nil:
		return cloud.MachineUnknown, fmt.Errorf("asking whether the machine of Node %s exists: %w", node.Name, err)
	case !exists:
		return cloud.MachineGone, nil
	}
	off, err := c.instances.InstanceShutdown(ctx, node)
	switch {
	case err != nil:
		return cloud.MachineUnknown, fmt.Errorf("asking whether the machine of Node %s is shut down: %w", node.Name, err)
	case off:
		return cloud.MachineStopped, nil
	}
	return cloud.MachineRunning, nil
}

// Confirm implements cloud.Machines.
func (c classic) Confirm(ctx context.Context, node *corev1.Node) (cloud.MachineState, error) {
	return c.State(ctx, node, time.Time{})
}

// CheckCredentials implements cloud.Machines: one of the canaries must be there. Without any, nothing such a provider says proves that its
// credentials are good.
func (c classic) CheckCredentials(ctx context.Context, canaries []*corev1.Node) error {
	if len(canaries) == 0 {
		return errors.New("no Node is alive whose machine the cloud could be asked for, so nothing proves that it answers rightly")
	}
	exists, err := c.instances.InstanceExists(ctx, canaries[0])
	switch {
	case err != nil:
		return fmt.Errorf("asking for the machine of Node %s, which is alive: %w", canaries[0].Name, err)
	case !exists:
		return fmt.Errorf("the cloud says that the machine of Node %s is gone, which is alive: it does not answer rightly", canaries[0].Name)
	}
	return nil
}

// NameConflict implements cloud.Machines: such a provider cannot be asked by name.
func (classic) NameConflict(context.Context, *corev1.Node) (string, error) { return "", nil }
