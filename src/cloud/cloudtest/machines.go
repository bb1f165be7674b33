package cloudtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// machines implements cloud.Machines. A Node has the name of its machine.
type machines struct{ *store }

// Owns implements cloud.Machines.
func (machines) Owns(providerID string) bool { return strings.HasPrefix(providerID, prefix) }

// Find reads the machine of a Node without a provider ID from the API, because the watch may lag behind.
func (m machines) Find(_ context.Context, node *corev1.Node, _ time.Time) (cloud.Machine, error) {
	if node.Spec.ProviderID != "" {
		machine, exists, err := m.machineOf(node)
		if err == nil && !exists {
			err = &cloud.MachineProblem{Reason: cloud.MachineNotFound,
				Message: fmt.Sprintf("The machine %s does not exist.", node.Spec.ProviderID)}
		}
		return desiredNode(machine), err
	}
	found, err := m.named(node.Name)
	if err != nil {
		return cloud.Machine{}, err
	}
	if len(found) != 1 {
		return cloud.Machine{}, &cloud.MachineProblem{Reason: cloud.MachineNotFound,
			Message: fmt.Sprintf("%d machines have the name %s; create one.", len(found), node.Name)}
	}
	machine, err := m.api.Machine(found[0].ID)
	return desiredNode(machine), err
}

func desiredNode(machine Machine) cloud.Machine {
	return cloud.Machine{ProviderID: prefix + machine.ID, Zone: machine.Zone, Addresses: []corev1.NodeAddress{
		{Type: corev1.NodeInternalIP, Address: machine.Address.String()},
		{Type: corev1.NodeHostName, Address: machine.Name},
	}}
}

// State is the state that the watch has reported. Before a Node is deleted, Confirm reads it from the API.
func (m machines) State(_ context.Context, node *corev1.Node, _ time.Time) (cloud.MachineState, error) {
	machine, exists, err := m.machineOf(node)
	return stateOf(machine, exists), err
}

func stateOf(machine Machine, exists bool) cloud.MachineState {
	switch {
	case !exists:
		return cloud.MachineGone
	case machine.Stopped:
		return cloud.MachineStopped
	}
	return cloud.MachineRunning
}

// Confirm reads the machine from the API.
func (m machines) Confirm(_ context.Context, node *corev1.Node) (cloud.MachineState, error) {
	machine, err := m.api.Machine(strings.TrimPrefix(node.Spec.ProviderID, prefix))
	if err != nil && !errors.Is(err, ErrNotFound) {
		return cloud.MachineUnknown, err
	}
	return stateOf(machine, err == nil), nil
}

// CheckCredentials reads a canary. There are no credentials.
func (m machines) CheckCredentials(_ context.Context, canaries []*corev1.Node) error {
	for _, node := range canaries {
		if _, err := m.api.Machine(strings.TrimPrefix(node.Spec.ProviderID, prefix)); err == nil {
			return nil
		}
	}
	return errors.New("no machine of a Node that is certainly alive can be read")
}

// NameConflict implements cloud.Machines.
func (m machines) NameConflict(_ context.Context, node *corev1.Node) (string, error) {
	found, err := m.named(node.Name)
	for _, machine := range found {
		if id := prefix + machine.ID; id != node.Spec.ProviderID && !machine.Stopped {
			return id, nil
		}
	}
	return "", err
}
