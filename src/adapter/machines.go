package adapter

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

// machines are the machines of a cloud that has cloudprovider.InstancesV2. It makes a call for each Node.
type machines struct {
	scheme    scheme
	instances cloudprovider.InstancesV2
}

// Machines returns the machines of a cloud. Those Nodes belong to it whose provider ID begins with its name.
func Machines(name string, instances cloudprovider.InstancesV2) cloud.Machines {
	return machines{scheme: schemeOf(name), instances: instances}
}

// scheme begins the provider IDs of a cloud: "name://".
type scheme string

func schemeOf(name string) scheme { return scheme(name + "://") }

// owns reports whether a provider ID is of the cloud.
func (s scheme) owns(providerID string) bool { return strings.HasPrefix(providerID, string(s)) }

// permits reports whether a Node is of the cloud, or has no provider ID: some clouds find such a Node by its name.
func (s scheme) permits(node *corev1.Node) bool {
	return node.Spec.ProviderID == "" || s.owns(node.Spec.ProviderID)
}

// Defaults for the removal of Nodes.
const (
	gracePeriod   = time.Minute
	maxRemovals   = 20 // percent
	removalWindow = 10 * time.Minute
)

func machineBehaviour(domain string) cloud.MachineBehaviour {
	return cloud.MachineBehaviour{
		Domain: domain, GracePeriod: gracePeriod, MaxRemovals: maxRemovals, RemovalWindow: removalWindow,
	}
}

// Owns implements cloud.Machines.
func (m machines) Owns(providerID string) bool { return m.scheme.owns(providerID) }

// Find implements cloud.Machines. A cloud that returns no metadata has nothing to do with the Node. Each answer is new.
func (m machines) Find(ctx context.Context, node *corev1.Node, _ time.Time) (cloud.Machine, error) {
	metadata, err := m.instances.InstanceMetadata(ctx, node)
	switch {
	case errors.Is(err, cloudprovider.InstanceNotFound):
		return cloud.Machine{}, &cloud.MachineProblem{Reason: cloud.MachineNotFound,
			Message: fmt.Sprintf("The cloud has no machine for this Node: %v", err)}
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

// State implements cloud.Machines. Each answer is new.
func (m machines) State(ctx context.Context, node *corev1.Node, _ time.Time) (cloud.MachineState, error) {
	exists, err := m.instances.InstanceExists(ctx, node)
	switch {
	case err != nil:
		return cloud.MachineUnknown, fmt.Errorf("asking whether the machine of Node %s exists: %w", node.Name, err)
	case !exists:
		return cloud.MachineGone, nil
	}
	off, err := m.instances.InstanceShutdown(ctx, node)
	switch {
	case err != nil:
		return cloud.MachineUnknown, fmt.Errorf("asking whether the machine of Node %s is shut down: %w", node.Name,
			err)
	case off:
		return cloud.MachineStopped, nil
	}
	return cloud.MachineRunning, nil
}

// Confirm implements cloud.Machines.
func (m machines) Confirm(ctx context.Context, node *corev1.Node) (cloud.MachineState, error) {
	return m.State(ctx, node, time.Time{})
}

// CheckCredentials implements cloud.Machines: one of the canaries must exist. Without a canary, no answer of such a
// cloud proves that its credentials are valid.
func (m machines) CheckCredentials(ctx context.Context, canaries []*corev1.Node) error {
	if len(canaries) == 0 {
		return errors.New("no Node is alive whose machine the cloud could be asked for, so nothing proves that it " +
			"answers rightly")
	}
	exists, err := m.instances.InstanceExists(ctx, canaries[0])
	switch {
	case err != nil:
		return fmt.Errorf("asking for the machine of Node %s, which is alive: %w", canaries[0].Name, err)
	case !exists:
		return fmt.Errorf("the cloud says that the machine of Node %s is gone, which is alive: it does not answer "+
			"rightly", canaries[0].Name)
	}
	return nil
}

// NameConflict implements cloud.Machines: such a cloud does not find machines by name.
func (machines) NameConflict(context.Context, *corev1.Node) (string, error) { return "", nil }
