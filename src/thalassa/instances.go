package thalassa

import (
	"context"
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/inventory"
)

// instances answers for nodes. All answers come from the inventory: what a thousand nodes ask within a minute costs two calls.
type instances struct {
	config    Config
	inventory *inventory.Inventory
}

var _ cloudprovider.InstancesV2 = (*instances)(nil)

// InstanceExists says whether the node's server exists. "No" comes only from a fresh, complete list that the server itself
// confirms when asked by identity. A node that never got a providerID, or has another cloud's, is not ours to judge: an error.
func (i *instances) InstanceExists(ctx context.Context, node *corev1.Node) (bool, error) {
	id, err := i.identity(ctx, node)
	if err != nil {
		return false, err
	}
	_, found, err := i.inventory.MachineByID(ctx, id, i.config.Inventory.machineAge())
	if err != nil {
		return false, fmt.Errorf("looking up the server of node %s: %w", node.Name, err)
	}
	if found {
		return true, nil
	}
	exists, err := i.inventory.MachineExists(ctx, id)
	if err != nil {
		return false, fmt.Errorf("asking for server %s of node %s: %w", id, node.Name, err)
	}
	return exists, nil
}

// InstanceShutdown says whether the node's server exists but is stopped or being deleted: Kubernetes then taints the node when it is
// not ready either.
func (i *instances) InstanceShutdown(ctx context.Context, node *corev1.Node) (bool, error) {
	id, err := i.identity(ctx, node)
	if err != nil {
		return false, err
	}
	machine, found, err := i.inventory.MachineByID(ctx, id, i.config.Inventory.machineAge())
	if err != nil {
		return false, fmt.Errorf("looking up the server of node %s: %w", node.Name, err)
	}
	return found && machine.Stopped(), nil
}

// InstanceMetadata returns what Kubernetes should know of the node's server.
// It is cloudprovider.InstanceNotFound when no server belongs to the node.
func (i *instances) InstanceMetadata(ctx context.Context, node *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	machine, err := i.machine(ctx, node)
	if err != nil {
		return nil, err
	}
	addresses, err := nodeAddresses(node.Name, machine)
	if err != nil {
		return nil, err
	}
	metadata := &cloudprovider.InstanceMetadata{
		ProviderID: providerID(machine.ID), InstanceType: machine.Type, NodeAddresses: addresses,
	}
	if !i.config.InstancesV2.ZoneAndRegionEnabled {
		return metadata, nil
	}
	vpc, err := i.inventory.VPC(ctx)
	if err != nil {
		return nil, fmt.Errorf("looking up the region of node %s: %w", node.Name, err)
	}
	metadata.Zone, metadata.Region = machine.Zone, vpc.Region
	return metadata, nil
}

// machine returns the node's server: the one its providerID names, else the one called like the node.
func (i *instances) machine(ctx context.Context, node *corev1.Node) (inventory.Machine, error) {
	if node.Spec.ProviderID == "" {
		return i.machineByName(ctx, node)
	}
	id, err := machineOf(node.Spec.ProviderID)
	if err != nil {
		return inventory.Machine{}, fmt.Errorf("node %s: %w", node.Name, err)
	}
	machine, found, err := i.inventory.MachineByID(ctx, id, i.config.Inventory.machineAge())
	if err != nil {
		return inventory.Machine{}, fmt.Errorf("looking up the server of node %s: %w", node.Name, err)
	}
	if !found {
		return inventory.Machine{}, fmt.Errorf("node %s: VPC %s has no server %s: %w", node.Name, i.config.VPCIdentity, id, cloudprovider.InstanceNotFound)
	}
	return machine, nil
}

func (i *instances) machineByName(ctx context.Context, node *corev1.Node) (inventory.Machine, error) {
	machines, err := i.inventory.MachinesBySlug(ctx, node.Name, i.config.Inventory.machineAge())
	switch {
	case err != nil:
		return inventory.Machine{}, fmt.Errorf("looking up the server of node %s: %w", node.Name, err)
	case len(machines) == 0:
		return inventory.Machine{}, fmt.Errorf("node %s: VPC %s has no server with that slug: %w; give the server the node's name, or set the node's spec.providerID to %s",
			node.Name, i.config.VPCIdentity, cloudprovider.InstanceNotFound, providerID("<machine identity>"))
	case len(machines) > 1:
		return inventory.Machine{}, fmt.Errorf("node %s: %d servers of VPC %s have that slug; set the node's spec.providerID to the one it runs on, %s",
			node.Name, len(machines), i.config.VPCIdentity, providerID("<machine identity>"))
	}
	return machines[0], nil
}

// identity returns the identity of the node's server without supposing that it still exists.
func (i *instances) identity(ctx context.Context, node *corev1.Node) (string, error) {
	if node.Spec.ProviderID != "" {
		return machineOf(node.Spec.ProviderID)
	}
	machine, err := i.machineByName(ctx, node)
	return machine.ID, err
}

// nodeAddresses returns all addresses of the server's primary interface, and the node's name as its hostname.
func nodeAddresses(name string, machine inventory.Machine) ([]corev1.NodeAddress, error) {
	addresses := []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: name}}
	for _, text := range machine.Addresses {
		address, err := netip.ParseAddr(text)
		if err != nil {
			return nil, fmt.Errorf("server %s of node %s: the cloud shows %q as an address: %w", machine.ID, name, text, err)
		}
		addresses = append(addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: address.String()})
	}
	if len(addresses) == 1 {
		return nil, fmt.Errorf("server %s of node %s has no address on its network interface \"default\" yet; it is looked at again by itself; if that lasts, attach the server to a subnet of its VPC with an interface of that name",
			machine.ID, name)
	}
	return addresses, nil
}
