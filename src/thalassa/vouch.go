package thalassa

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/thalassa-cloud/client-go/iaas"
	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/controller/node"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/inventory"
)

// Look says how the Node's server is, from a list that may be as old as inventory.machineAge; that it is gone, from one that began at or
// after notBefore.
func (i *instances) Look(ctx context.Context, n *corev1.Node, notBefore time.Time) (node.State, error) {
	id, err := machineOf(n.Spec.ProviderID)
	if err != nil {
		return "", fmt.Errorf("node %s: %w: %w", n.Name, node.ErrNamesNone, err)
	}
	machine, found, err := i.inventory.MachineSince(ctx, id, i.config.Inventory.machineAge(), notBefore)
	if err != nil {
		return "", fmt.Errorf("looking up the machine of node %s: %w", n.Name, err)
	}
	return stateOf(machine, found), nil
}

// Namesake returns the identity of another server that has the node's name, unless that is shut down or goes.
func (i *instances) Namesake(ctx context.Context, n *corev1.Node) (string, error) {
	id, err := machineOf(n.Spec.ProviderID)
	if err != nil {
		return "", fmt.Errorf("node %s: %w", n.Name, err)
	}
	servers, err := i.inventory.ListedWithSlug(ctx, n.Name, i.config.Inventory.machineAge())
	if err != nil {
		return "", fmt.Errorf("looking up machines with the slug %s: %w", n.Name, err)
	}
	for _, server := range servers {
		if server.ID != id && !server.Stopped() {
			return server.ID, nil
		}
	}
	return "", nil
}

// Confirm asks the cloud for the Node's server by its identity. One in another VPC is node.ErrElsewhere: it is there.
func (i *instances) Confirm(ctx context.Context, n *corev1.Node) (node.State, error) {
	id, err := machineOf(n.Spec.ProviderID)
	if err != nil {
		return "", fmt.Errorf("node %s: %w", n.Name, err)
	}
	machine, found, err := i.inventory.AskMachine(ctx, id)
	switch {
	case errors.Is(err, inventory.ErrElsewhere):
		return "", fmt.Errorf("%w: requesting the machine of node %s: %w", node.ErrElsewhere, n.Name, err)
	case err != nil:
		return "", fmt.Errorf("requesting the machine of node %s: %w", n.Name, err)
	}
	return stateOf(machine, found), nil
}

// Vouch asks for the cluster's VPC by its identity, which only credentials of the right organisation and project show, and for the server
// of one of the witnesses, which only those show that may see servers.
func (i *instances) Vouch(ctx context.Context, witnesses []*corev1.Node) error {
	if err := i.inventory.Probe(ctx); err != nil {
		return fmt.Errorf("asking for VPC %s: %w", i.config.VPCIdentity, err)
	}
	var problems []error
	for _, witness := range witnesses {
		switch state, err := i.Confirm(ctx, witness); {
		case err != nil:
			problems = append(problems, err)
		case state == node.Gone:
			problems = append(problems, fmt.Errorf("the cloud does not know machine %s of node %s, although lists show it or its kubelet reports", witness.Spec.ProviderID, witness.Name))
		default:
			return nil
		}
	}
	return errors.Join(problems...)
}

// stateOf says in the words of the life cycle how a server is. Only the state counts, which says whether it is meant to run; the status
// says of one that is meant to run how well it does.
func stateOf(machine inventory.Machine, found bool) node.State {
	if !found {
		return node.Gone
	}
	switch machine.State {
	case string(iaas.MachineStateRunning):
		return node.Running
	case string(iaas.MachineStateStopped):
		return node.Stopped
	case string(iaas.MachineStateDeleting):
		return node.Deleting
	case string(iaas.MachineStateDeleted):
		return node.Gone
	}
	return node.Unknown
}
