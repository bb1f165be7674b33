// Package machine finds the machines of Nodes, and describes them to the node controllers.
package machine

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/thalassa-cloud/client-go/iaas"
	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/cloudconfig"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/inventory"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/providerid"
)

// Provider implements cloud.Machines. All data comes from the inventory: 1,000 nodes within a minute cost two
// calls.
type Provider struct {
	config    cloudconfig.Config
	inventory *inventory.Inventory
}

var _ cloud.Machines = (*Provider)(nil)

// New returns a provider that reads machines from the inventory.
func New(c cloudconfig.Config, known *inventory.Inventory) *Provider {
	return &Provider{config: c, inventory: known}
}

// Owns reports whether a provider ID is of this cloud. This includes a provider ID that does not name a machine: no
// other cloud owns it, and an event has to report it.
func (i *Provider) Owns(providerID string) bool { return providerid.Owned(providerID) }

// Find returns the machine of a Node: the one that its provider ID names, else the one with the Node's name, as its
// slug or exactly, else the one that its annotation names; the latter two from a list that began at or after notBefore.
func (i *Provider) Find(ctx context.Context, n *corev1.Node, notBefore time.Time) (cloud.Machine, error) {
	actual, err := i.machineFor(ctx, n, notBefore)
	if err != nil {
		return cloud.Machine{}, problemOf(err)
	}
	machine := cloud.Machine{ProviderID: providerid.Of(actual.ID), Type: actual.Type}
	addresses, problem := nodeAddresses(n.Name, actual)
	if machine.Addresses = addresses; problem != nil {
		machine.Problems = append(machine.Problems, *problem)
	}
	if i.config.InstancesV2.ZoneAndRegionEnabled {
		vpc, err := i.inventory.VPC(ctx)
		if err != nil {
			return cloud.Machine{}, problemOf(fmt.Errorf("looking up the region: %w", err))
		}
		machine.Zone, machine.Region = actual.Zone, vpc.Region
	}
	i.addSettings(&machine, actual)
	i.addType(ctx, &machine, actual)
	return machine, nil
}

// problemOf makes a reported problem of an error of the cloud.
func problemOf(err error) error {
	if _, already := errors.AsType[*cloud.MachineProblem](err); already {
		return err
	}
	if _, ofCloud := errors.AsType[*client.Error](err); !ofCloud && !errors.Is(err, client.ErrMalformed) {
		return err
	}
	reason := reasonNotReachable
	if errors.Is(err, client.ErrUnauthorised) || errors.Is(err, client.ErrBadRequest) ||
		errors.Is(err, client.ErrNotFound) {
		reason = reasonRefused
	}
	return cloud.ProblemOf(reason, textNotKnown, err)
}

// machineFor returns the Node's machine; the error is the problem if there is none.
func (i *Provider) machineFor(ctx context.Context, n *corev1.Node, notBefore time.Time) (inventory.Machine,
	error) {
	if n.Spec.ProviderID != "" {
		return i.machineByID(ctx, n)
	}
	machines, err := i.inventory.MachinesByName(ctx, n.Name, i.config.Inventory.MaxMachineAge(), notBefore)
	if err != nil {
		return inventory.Machine{}, fmt.Errorf("looking up the machine by the name of the Node: %w", err)
	}
	listed := len(machines)
	machines = slices.DeleteFunc(machines, isBeingDeleted) // if a machine was replaced, the Node runs on the new one
	if len(machines) == 1 {
		return machines[0], nil
	}
	if annotation := i.config.InstancesV2.MachineAnnotation; annotation != "" && n.Annotations[annotation] != "" {
		return i.machineByAnnotation(ctx, n)
	}
	if len(machines) > 1 {
		return inventory.Machine{}, cloud.ProblemOf(reasonAmbiguous, textAmbiguous, len(machines),
			i.config.VPCIdentity, named(n.Name), anyProviderID())
	}
	if listed > 0 {
		return inventory.Machine{}, cloud.ProblemOf(reasonNotFound, textNameDeleting, i.config.VPCIdentity,
			named(n.Name))
	}
	return inventory.Machine{}, i.noMachineNamed(ctx, n.Name)
}

// isBeingDeleted reports whether a machine is deleted or being deleted. The provider ID of a Node cannot change, so a
// Node must not get such a machine.
func isBeingDeleted(m inventory.Machine) bool {
	return m.Gone() || m.State == string(iaas.MachineStateDeleting)
}

func anyProviderID() string { return providerid.Of("<machine identity>") }

func (i *Provider) otherVPCProblem(what, vpc string) error {
	return cloud.ProblemOf(reasonElsewhere, textElsewhere, i.config.VPCIdentity, what, vpc)
}

// machineByID returns the machine that the Node's provider ID names.
func (i *Provider) machineByID(ctx context.Context, n *corev1.Node) (inventory.Machine, error) {
	id, err := providerid.Machine(n.Spec.ProviderID)
	switch {
	case err != nil && i.Owns(n.Spec.ProviderID):
		return inventory.Machine{}, cloud.ProblemOf(reasonInvalidSetting, textProviderID, n.Spec.ProviderID,
			anyProviderID())
	case err != nil:
		return inventory.Machine{}, err
	}
	machine, found, err := i.inventory.MachineByID(ctx, id, i.config.Inventory.MaxMachineAge())
	switch {
	case err != nil:
		return inventory.Machine{}, fmt.Errorf("looking up machine %s: %w", id, err)
	case found:
		return machine, nil
	}
	sameName, err := i.inventory.MachinesByName(ctx, n.Name, i.config.Inventory.MaxMachineAge(), time.Time{})
	if err != nil {
		return inventory.Machine{}, fmt.Errorf("looking up the machine by the name of the Node: %w", err)
	}
	if len(sameName) > 0 {
		return inventory.Machine{}, cloud.ProblemOf(reasonReplaced, textReplaced, i.config.VPCIdentity, id,
			named(n.Name), sameName[0].ID)
	}
	if vpc := i.inventory.VPCOfMachine(ctx, id); vpc != "" {
		return inventory.Machine{}, i.otherVPCProblem("server "+id, vpc)
	}
	return inventory.Machine{}, cloud.ProblemOf(reasonNotFound, textIDNotFound, i.config.VPCIdentity, id)
}

// machineByAnnotation returns the machine that the Node's annotation names, as an identity or provider ID.
func (i *Provider) machineByAnnotation(ctx context.Context, n *corev1.Node) (inventory.Machine, error) {
	name := i.config.InstancesV2.MachineAnnotation
	text := n.Annotations[name]
	id, err := providerid.Machine(text)
	if err != nil {
		id, err = providerid.Machine(providerid.Of(text))
	}
	if err != nil {
		return inventory.Machine{}, cloud.ProblemOf(reasonInvalidSetting, textAnnotation, name, text)
	}
	machine, found, err := i.inventory.MachineByID(ctx, id, i.config.Inventory.MaxMachineAge())
	switch {
	case err != nil:
		return inventory.Machine{}, fmt.Errorf("looking up machine %s: %w", id, err)
	case found && !isBeingDeleted(machine):
		return machine, nil
	case found:
		return inventory.Machine{}, cloud.ProblemOf(reasonNotFound, textAnnotatedDeleting, id, name)
	}
	if vpc := i.inventory.VPCOfMachine(ctx, id); vpc != "" {
		return inventory.Machine{}, i.otherVPCProblem("server "+id+", which its annotation "+name+" names,", vpc)
	}
	return inventory.Machine{}, cloud.ProblemOf(reasonNotFound, textAnnotatedNotFound, i.config.VPCIdentity,
		named(n.Name), id, name)
}

// nodeAddresses returns all addresses of the machine's primary interface, and the Node's name as its hostname; or why
// there are none.
func nodeAddresses(name string, machine inventory.Machine) ([]corev1.NodeAddress, *cloud.MachineProblem) {
	addresses := []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: name}}
	for _, text := range machine.Addresses {
		address, err := netip.ParseAddr(text)
		if err != nil {
			return nil, cloud.ProblemOf(reasonNoAddress, textInvalidAddress, text, machine.ID)
		}
		addresses = append(addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: address.String()})
	}
	if len(addresses) == 1 {
		return nil, cloud.ProblemOf(reasonNoAddress, textNoAddress, machine.ID)
	}
	return addresses, nil
}
