package controller

import (
	"cmp"
	"context"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	listers "k8s.io/client-go/listers/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/inventory"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/providerid"
)

// ClusterNodes implements Nodes: a Node's machine is the one that its provider ID names, else the one with the Node's
// name, as its slug or exactly, as for the CCM.
type ClusterNodes struct {
	Lister    listers.NodeLister // nil: Nodes are not known, and are the machines with their name as slug
	Inventory *inventory.Inventory
	// MachineAge is the maximum age of lists of machines; 0: inventory.MachineAge.
	MachineAge time.Duration
}

func (n ClusterNodes) machineAge() time.Duration { return cmp.Or(n.MachineAge, inventory.MachineAge) }

// Machine implements Nodes.
func (n ClusterNodes) Machine(ctx context.Context, node string) (string, error) {
	if n.Lister != nil {
		object, err := n.Lister.Get(node)
		switch {
		case apierrors.IsNotFound(err): // its machine may exist
		case err != nil:
			return "", err
		case object.Spec.ProviderID != "":
			machine, err := providerid.Machine(object.Spec.ProviderID)
			if err != nil {
				return "", status.Errorf(codes.NotFound, "Node %s has no machine that can have volumes of this cloud: "+
					"%v; run pods with such volumes on other Nodes", node, err)
			}
			return machine, nil
		}
	}
	machines, err := n.Inventory.MachinesByName(ctx, node, n.machineAge(), time.Time{})
	switch {
	case err != nil:
		return "", err
	case len(machines) == 0:
		return "", status.Errorf(codes.NotFound, "Node %s has no machine: it does not exist or has no provider ID, "+
			"and no machine in the VPC has its name", node)
	case len(machines) > 1:
		return "", status.Errorf(codes.FailedPrecondition, "Node %s has no provider ID, and several machines have its "+
			"name; the cloud controller manager sets provider IDs", node)
	}
	return machines[0].ID, nil
}

// Names implements Nodes.
func (n ClusterNodes) Names(ctx context.Context) (map[string]string, error) {
	names := map[string]string{}
	uninitialised := map[string]bool{}
	if n.Lister != nil {
		nodes, err := n.Lister.List(labels.Everything())
		if err != nil {
			return nil, err
		}
		for _, node := range nodes {
			if machine, err := providerid.Machine(node.Spec.ProviderID); err == nil {
				names[machine] = node.Name
			} else if node.Spec.ProviderID == "" {
				uninitialised[node.Name] = true
			}
		}
		if len(uninitialised) == 0 {
			return names, nil
		}
	}
	machines, err := n.Inventory.Machines(ctx, n.machineAge())
	if err != nil {
		return nil, err
	}
	for _, machine := range machines {
		switch {
		case n.Lister == nil || uninitialised[machine.Slug]:
			names[machine.ID] = machine.Slug
		case uninitialised[machine.Name]:
			names[machine.ID] = machine.Name
		}
	}
	return names, nil
}

// TrimNode removes what is not needed of a Node that is cached.
func TrimNode(object any) (any, error) {
	if node, ok := object.(*corev1.Node); ok {
		trimmed := &corev1.Node{Spec: corev1.NodeSpec{ProviderID: node.Spec.ProviderID}}
		trimmed.Name, trimmed.ResourceVersion, trimmed.UID = strings.Clone(node.Name), node.ResourceVersion, node.UID
		return trimmed, nil
	}
	return object, nil
}
