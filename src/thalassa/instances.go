package thalassa

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/thalassa-cloud/client-go/iaas"
	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/inventory"
)

// instances answers for nodes. All answers come from the inventory: what a thousand nodes ask within a minute costs two
// calls.
type instances struct {
	config    Config
	inventory *inventory.Inventory
}

var _ cloud.Machines = (*instances)(nil)

// Owns says whether a provider ID is of this cloud. Also one that names no server is nobody else's: its Node waits, and
// has to be told.
func (i *instances) Owns(providerID string) bool {
	return strings.HasPrefix(providerID, ProviderName+"://")
}

// Find returns what the node should say of its server: the one its provider ID names, else the one called like the
// node, else the one its annotation names; the latter two from a list that began at or after notBefore.
func (i *instances) Find(ctx context.Context, n *corev1.Node, notBefore time.Time) (cloud.Machine, error) {
	server, err := i.server(ctx, n, notBefore)
	if err != nil {
		return cloud.Machine{}, problemOf(err)
	}
	machine := cloud.Machine{ProviderID: providerID(server.ID), Type: server.Type}
	addresses, problem := nodeAddresses(n.Name, server)
	if machine.Addresses = addresses; problem != nil {
		machine.Problems = append(machine.Problems, *problem)
	}
	if i.config.InstancesV2.ZoneAndRegionEnabled {
		vpc, err := i.inventory.VPC(ctx)
		if err != nil {
			return cloud.Machine{}, problemOf(fmt.Errorf("looking up the region: %w", err))
		}
		machine.Zone, machine.Region = server.Zone, vpc.Region
	}
	i.addSettings(&machine, server)
	i.addType(ctx, &machine, server)
	return machine, nil
}

// problemOf says which errors of the cloud are worth telling people.
func problemOf(err error) error {
	if _, already := errors.AsType[*cloud.MachineProblem](err); already {
		return err
	}
	if _, ofCloud := errors.AsType[*client.Error](err); !ofCloud && !errors.Is(err, client.ErrMalformed) {
		return err
	}
	reason := cloud.CloudNotReachable
	if errors.Is(err, client.ErrUnauthorised) || errors.Is(err, client.ErrBadRequest) ||
		errors.Is(err, client.ErrNotFound) {
		reason = cloud.CloudRefused
	}
	return &cloud.MachineProblem{Reason: reason, Message: fmt.Sprintf("The machine of this Node is not known: %v", err)}
}

// server returns the node's server, or the problem that there is none.
func (i *instances) server(ctx context.Context, n *corev1.Node, notBefore time.Time) (inventory.Machine, error) {
	if n.Spec.ProviderID != "" {
		return i.serverByID(ctx, n)
	}
	if err := i.inventory.MachinesListedSince(ctx, notBefore); err != nil {
		return inventory.Machine{}, fmt.Errorf("looking up the machine by its slug: %w", err)
	}
	servers, err := i.inventory.MachinesBySlug(ctx, n.Name, i.config.Inventory.machineAge())
	if err != nil {
		return inventory.Machine{}, fmt.Errorf("looking up the machine by its slug: %w", err)
	}
	listed := len(servers)
	servers = slices.DeleteFunc(servers, leaving) // of a server and its successor, the node runs on the latter
	if len(servers) == 1 {
		return servers[0], nil
	}
	if annotation := i.config.InstancesV2.MachineAnnotation; annotation != "" && n.Annotations[annotation] != "" {
		return i.serverByAnnotation(ctx, n)
	}
	if len(servers) > 1 {
		return inventory.Machine{}, &cloud.MachineProblem{Reason: cloud.MachineAmbiguous,
			Message: fmt.Sprintf("%d machines of VPC %s have the slug %s. Set spec.providerID of this Node to the "+
				"machine that it runs on, %s, or rename the others.",
				len(servers), i.config.VPCIdentity, n.Name, anyProviderID())}
	}
	if listed > 0 {
		return inventory.Machine{}, &cloud.MachineProblem{Reason: cloud.MachineNotFound,
			Message: fmt.Sprintf("The machine of VPC %s with the slug %s is being deleted, so it is not used for "+
				"this Node. Delete the Node, or give its machine that name.",
				i.config.VPCIdentity, n.Name)}
	}
	return inventory.Machine{}, i.absentByName(ctx, n.Name)
}

// leaving says that a server does not come back: a node that names it could never name another one.
func leaving(m inventory.Machine) bool {
	return m.Gone() || m.State == string(iaas.MachineStateDeleting)
}

func anyProviderID() string { return providerID("<machine identity>") }

// absentByName says that no server is called like the node, and whether one is in another VPC.
func (i *instances) absentByName(ctx context.Context, name string) error {
	if vpc := i.inventory.VPCOfSlug(ctx, name); vpc != "" {
		return i.elsewhere("the machine with the slug "+name, vpc)
	}
	return &cloud.MachineProblem{Reason: cloud.MachineNotFound, Message: fmt.Sprintf("VPC %s has no machine with the "+
		"slug %s. Give the machine the name of this Node, or set spec.providerID of this Node to %s.",
		i.config.VPCIdentity, name, anyProviderID())}
}

func (i *instances) elsewhere(what, vpc string) error {
	return &cloud.MachineProblem{Reason: cloud.MachineElsewhere, Message: fmt.Sprintf("VPC %s of the cloud-config "+
		"does not contain the machine of this Node: %s is in VPC %s. Move the machine, or set vpcIdentity to the VPC "+
		"of the cluster's machines.",
		i.config.VPCIdentity, what, vpc)}
}

// serverByID returns the server that the node's provider ID names.
func (i *instances) serverByID(ctx context.Context, n *corev1.Node) (inventory.Machine, error) {
	id, err := machineOf(n.Spec.ProviderID)
	switch {
	case err != nil && i.Owns(n.Spec.ProviderID):
		return inventory.Machine{}, &cloud.MachineProblem{Reason: cloud.InvalidSetting,
			Message: fmt.Sprintf("The provider ID of this Node is %q, which does not name a machine: want %s. It "+
				"cannot be changed, so correct the kubelet's --provider-id, delete this Node, and restart the kubelet.",
				n.Spec.ProviderID, anyProviderID())}
	case err != nil:
		return inventory.Machine{}, err
	}
	server, found, err := i.inventory.MachineByID(ctx, id, i.config.Inventory.machineAge())
	switch {
	case err != nil:
		return inventory.Machine{}, fmt.Errorf("looking up machine %s: %w", id, err)
	case found:
		return server, nil
	}
	namesakes, err := i.inventory.MachinesBySlug(ctx, n.Name, i.config.Inventory.machineAge())
	if err != nil {
		return inventory.Machine{}, fmt.Errorf("looking up the machine by its slug: %w", err)
	}
	if len(namesakes) > 0 {
		return inventory.Machine{}, &cloud.MachineProblem{Reason: cloud.MachineReplaced,
			Message: fmt.Sprintf("VPC %s does not contain machine %s any more, which this Node names; the machine "+
				"with the slug %s is %s now. Delete this Node, so that the kubelet registers it again.",
				i.config.VPCIdentity, id, n.Name, namesakes[0].ID)}
	}
	if vpc := i.inventory.VPCOfMachine(ctx, id); vpc != "" {
		return inventory.Machine{}, i.elsewhere("server "+id, vpc)
	}
	return inventory.Machine{}, &cloud.MachineProblem{Reason: cloud.MachineNotFound,
		Message: fmt.Sprintf("VPC %s has no machine %s, which this Node names. If the machine was deleted, the Node "+
			"is deleted when its kubelet does not report any more.",
			i.config.VPCIdentity, id)}
}

// serverByAnnotation returns the server that the node's annotation names, as an identity or provider ID.
func (i *instances) serverByAnnotation(ctx context.Context, n *corev1.Node) (inventory.Machine, error) {
	name := i.config.InstancesV2.MachineAnnotation
	text := n.Annotations[name]
	id, err := machineOf(text)
	if err != nil {
		id, err = machineOf(providerID(text))
	}
	if err != nil {
		return inventory.Machine{}, &cloud.MachineProblem{Reason: cloud.InvalidSetting,
			Message: fmt.Sprintf("The annotation %s of this Node is %q, which is not the identity of a machine.", name,
				text)}
	}
	server, found, err := i.inventory.MachineByID(ctx, id, i.config.Inventory.machineAge())
	switch {
	case err != nil:
		return inventory.Machine{}, fmt.Errorf("looking up machine %s: %w", id, err)
	case found && !leaving(server):
		return server, nil
	case found:
		return inventory.Machine{}, &cloud.MachineProblem{Reason: cloud.MachineNotFound,
			Message: fmt.Sprintf("Machine %s, which the annotation %s of this Node names, is being deleted. Correct "+
				"the annotation.", id, name)}
	}
	if vpc := i.inventory.VPCOfMachine(ctx, id); vpc != "" {
		return inventory.Machine{}, i.elsewhere("server "+id+", which its annotation "+name+" names,", vpc)
	}
	return inventory.Machine{}, &cloud.MachineProblem{Reason: cloud.MachineNotFound,
		Message: fmt.Sprintf("VPC %s has neither a machine with the slug %s nor machine %s, which the annotation %s "+
			"of this Node names.",
			i.config.VPCIdentity, n.Name, id, name)}
}

// nodeAddresses returns all addresses of the server's primary interface, and the node's name as its hostname; or why
// there are none.
func nodeAddresses(name string, server inventory.Machine) ([]corev1.NodeAddress, *cloud.MachineProblem) {
	addresses := []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: name}}
	for _, text := range server.Addresses {
		address, err := netip.ParseAddr(text)
		if err != nil {
			return nil, &cloud.MachineProblem{Reason: cloud.MachineNoAddress, Message: fmt.Sprintf("The cloud shows "+
				"%q as an address of machine %s, which is not an address. Check the machine in the cloud.", text,
				server.ID)}
		}
		addresses = append(addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: address.String()})
	}
	if len(addresses) == 1 {
		return nil, &cloud.MachineProblem{Reason: cloud.MachineNoAddress, Message: fmt.Sprintf("Machine %s of this "+
			"Node has no address on its network interface \"default\" yet. It is retried automatically; if the "+
			"problem persists, attach the machine to a subnet of its VPC with an interface of that name.",
			server.ID)}
	}
	return addresses, nil
}
