package node

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
)

// classic makes a Provider of one that only has the interface of k8s.io/cloud-provider: it is asked for each Node on its own.
type classic struct {
	scheme    string // of provider IDs
	instances cloudprovider.InstancesV2
}

// Classic returns a provider that calls the methods of InstancesV2. Those Nodes are its own whose provider ID begins with its name.
func Classic(name string, instances cloudprovider.InstancesV2) Provider {
	return classic{scheme: name + "://", instances: instances}
}

// Owns implements Provider.
func (c classic) Owns(providerID string) bool { return strings.HasPrefix(providerID, c.scheme) }

// Find implements Provider. A provider that returns nothing at all has nothing to say of the Node. Each answer is newer than any time
// that has passed.
func (c classic) Find(ctx context.Context, node *corev1.Node, _ time.Time) (Machine, error) {
	metadata, err := c.instances.InstanceMetadata(ctx, node)
	switch {
	case errors.Is(err, cloudprovider.InstanceNotFound):
		return Machine{}, &Problem{Reason: MachineNotFound, Message: fmt.Sprintf("The cloud has no machine for this Node: %v", err)}
	case err != nil:
		return Machine{}, fmt.Errorf("asking for the machine of Node %s: %w", node.Name, err)
	case metadata == nil:
		return Machine{}, ErrNotOurs
	}
	return Machine{
		ProviderID: metadata.ProviderID, Addresses: metadata.NodeAddresses, Type: metadata.InstanceType,
		Zone: metadata.Zone, Region: metadata.Region, Labels: metadata.AdditionalLabels,
	}, nil
}

// Look implements Provider. Each answer is newer than any time that has passed.
func (c classic) Look(ctx context.Context, node *corev1.Node, _ time.Time) (State, error) {
	exists, err := c.instances.InstanceExists(ctx, node)
	switch {
	case err != nil:
		return Unknown, fmt.Errorf("asking whether the machine of Node %s exists: %w", node.Name, err)
	case !exists:
		return Gone, nil
	}
	off, err := c.instances.InstanceShutdown(ctx, node)
	switch {
	case err != nil:
		return Unknown, fmt.Errorf("asking whether the machine of Node %s is shut down: %w", node.Name, err)
	case off:
		return Stopped, nil
	}
	return Running, nil
}

// Confirm implements Provider.
func (c classic) Confirm(ctx context.Context, node *corev1.Node) (State, error) {
	return c.Look(ctx, node, time.Time{})
}

// Vouch implements Provider: one of the witnesses must be there. Without any, nothing such a provider says proves that its
// credentials are good.
func (c classic) Vouch(ctx context.Context, witnesses []*corev1.Node) error {
	if len(witnesses) == 0 {
		return errors.New("no Node is alive whose machine the cloud could be asked for, so nothing proves that it answers rightly")
	}
	exists, err := c.instances.InstanceExists(ctx, witnesses[0])
	switch {
	case err != nil:
		return fmt.Errorf("asking for the machine of Node %s, which is alive: %w", witnesses[0].Name, err)
	case !exists:
		return fmt.Errorf("the cloud says that the machine of Node %s is gone, which is alive: it does not answer rightly", witnesses[0].Name)
	}
	return nil
}

// Namesake implements Provider: such a provider cannot be asked by name.
func (classic) Namesake(context.Context, *corev1.Node) (string, error) { return "", nil }
