package machine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/thalassa-cloud/client-go/iaas"
	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/inventory"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/providerid"
)

// State returns the state of the Node's machine, from a list that may be as old as inventory.machineAge, or for
// cloud.MachineGone from one that was requested at or after notBefore.
func (i *Provider) State(ctx context.Context, n *corev1.Node, notBefore time.Time) (cloud.MachineState, error) {
	id, err := providerid.Machine(n.Spec.ProviderID)
	if err != nil {
		return "", fmt.Errorf("node %s: %w: %w", n.Name, cloud.ErrInvalidProviderID, err)
	}
	machine, found, err := i.inventory.MachineSince(ctx, id, i.config.Inventory.MaxMachineAge(), notBefore)
	if err != nil {
		return "", fmt.Errorf("looking up the machine of node %s: %w", n.Name, err)
	}
	return stateOf(machine, found), nil
}

// NameConflict returns the identity of another machine that has the Node's name, unless that machine is stopped or
// being deleted.
func (i *Provider) NameConflict(ctx context.Context, n *corev1.Node) (string, error) {
	id, err := providerid.Machine(n.Spec.ProviderID)
	if err != nil {
		return "", fmt.Errorf("node %s: %w", n.Name, err)
	}
	machines, err := i.inventory.ListedWithName(ctx, n.Name, i.config.Inventory.MaxMachineAge())
	if err != nil {
		return "", fmt.Errorf("looking up machines with the name %s: %w", n.Name, err)
	}
	for _, machine := range machines {
		if machine.ID != id && !machine.Stopped() {
			return machine.ID, nil
		}
	}
	return "", nil
}

// Confirm requests the Node's machine by its identity. The error for one in another VPC is cloud.ErrOtherNetwork.
func (i *Provider) Confirm(ctx context.Context, n *corev1.Node) (cloud.MachineState, error) {
	id, err := providerid.Machine(n.Spec.ProviderID)
	if err != nil {
		return "", fmt.Errorf("node %s: %w", n.Name, err)
	}
	machine, found, err := i.inventory.RequestMachine(ctx, id)
	switch {
	case errors.Is(err, inventory.ErrOtherVPC):
		return "", fmt.Errorf("%w: requesting the machine of node %s: %w", cloud.ErrOtherNetwork, n.Name, err)
	case err != nil:
		return "", fmt.Errorf("requesting the machine of node %s: %w", n.Name, err)
	}
	return stateOf(machine, found), nil
}

// CheckCredentials requests the cluster's VPC by its identity, which only credentials of the right organisation and
// project can read, and the machine of one of the canaries, which only credentials with access to machines can read.
func (i *Provider) CheckCredentials(ctx context.Context, canaries []*corev1.Node) error {
	if err := i.inventory.Probe(ctx); err != nil {
		return fmt.Errorf("asking for VPC %s: %w", i.config.VPCIdentity, err)
	}
	var problems []error
	for _, canary := range canaries {
		switch state, err := i.Confirm(ctx, canary); {
		case err != nil:
			problems = append(problems, err)
		case state == cloud.MachineGone:
			problems = append(problems,
				fmt.Errorf("the cloud does not know machine %s of node %s, although lists show it or its kubelet "+
					"reports", canary.Spec.ProviderID, canary.Name))
		default:
			return nil
		}
	}
	return errors.Join(problems...)
}

// stateOf translates a machine's state. Only the field state counts, which reports whether the machine is meant to run;
// the field status describes how well it runs.
func stateOf(machine inventory.Machine, found bool) cloud.MachineState {
	if !found {
		return cloud.MachineGone
	}
	switch machine.State {
	case string(iaas.MachineStateRunning):
		return cloud.MachineRunning
	case string(iaas.MachineStateStopped):
		return cloud.MachineStopped
	case string(iaas.MachineStateDeleting):
		return cloud.MachineDeleting
	case string(iaas.MachineStateDeleted):
		return cloud.MachineGone
	}
	return cloud.MachineUnknown
}
