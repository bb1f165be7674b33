package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// Library makes of a Provider what k8s.io/cloud-provider wants of a cloud. The controllers of this package take the provider out of it
// again; others may call the methods, from any number of goroutines.
type Library struct {
	provider  cloud.Machines
	behaviour cloud.MachineBehaviour
}

var _ cloudprovider.InstancesV2 = (*Library)(nil)

// NewLibrary returns it.
func NewLibrary(provider cloud.Machines, behaviour cloud.MachineBehaviour) *Library {
	return &Library{provider: provider, behaviour: behaviour}
}

// ProviderOf returns the provider behind what a cloud has for machines: the one in a Library, else one that calls the methods of
// InstancesV2; ok is false when there are none.
func ProviderOf(offered cloudprovider.Interface) (provider cloud.Machines, behaviour cloud.MachineBehaviour, ok bool) {
	instances, ok := offered.InstancesV2()
	if !ok || instances == nil {
		return nil, cloud.MachineBehaviour{}, false
	}
	if library, ok := instances.(*Library); ok {
		return library.provider, library.behaviour, true
	}
	name := offered.ProviderName()
	return Classic(name, instances), cloud.MachineBehaviour{
		Domain: strings.ToLower(name) + ".cloud-provider", GracePeriod: usualGrace, MaxRemovals: usualRemovals, RemovalWindow: usualWindow,
	}, true
}

// How Nodes are removed whose provider has no opinion on it.
const (
	usualGrace    = time.Minute
	usualRemovals = 20 // percent
	usualWindow   = 10 * time.Minute
)

// InstanceExists says whether the Node's machine exists. "No" comes only from the provider's list and from the cloud itself; a Node
// without a provider ID exists if its machine is found, and is otherwise not ours to judge: an error.
func (l *Library) InstanceExists(ctx context.Context, node *corev1.Node) (bool, error) {
	state, err := l.state(ctx, node)
	if err != nil || state != cloud.MachineGone {
		return err == nil, err
	}
	state, err = l.provider.Confirm(ctx, node)
	return err == nil && state != cloud.MachineGone, err
}

// InstanceShutdown says whether the Node's machine exists and does not run, or is being deleted.
func (l *Library) InstanceShutdown(ctx context.Context, node *corev1.Node) (bool, error) {
	state, err := l.state(ctx, node)
	return err == nil && (state == cloud.MachineStopped || state == cloud.MachineDeleting), err
}

// state is how the Node's machine is, as far as the list says.
func (l *Library) state(ctx context.Context, node *corev1.Node) (cloud.MachineState, error) {
	if node.Spec.ProviderID == "" {
		machine, err := l.provider.Find(ctx, node, born(node))
		if err != nil {
			return cloud.MachineUnknown, fmt.Errorf("node %s has no provider ID: %w", node.Name, err)
		}
		node = node.DeepCopy()
		node.Spec.ProviderID = machine.ProviderID
	}
	if !l.provider.Owns(node.Spec.ProviderID) {
		return cloud.MachineUnknown, fmt.Errorf("node %s: provider ID %q is not of this cloud", node.Name, node.Spec.ProviderID)
	}
	return l.provider.State(ctx, node, time.Time{})
}

// InstanceMetadata returns what Kubernetes should know of the Node's machine. The error is cloudprovider.InstanceNotFound when there is
// none.
func (l *Library) InstanceMetadata(ctx context.Context, node *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	machine, err := l.provider.Find(ctx, node, born(node))
	if problem, ok := errors.AsType[*cloud.MachineProblem](err); ok && (problem.Reason == cloud.MachineNotFound || problem.Reason == cloud.MachineReplaced) {
		return nil, fmt.Errorf("node %s: %w (%w)", node.Name, err, cloudprovider.InstanceNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("node %s: %w", node.Name, err)
	}
	if at := slices.IndexFunc(machine.Problems, func(p cloud.MachineProblem) bool { return p.Reason == cloud.MachineNoAddress }); at >= 0 {
		return nil, fmt.Errorf("node %s: %w", node.Name, &machine.Problems[at])
	}
	return &cloudprovider.InstanceMetadata{
		ProviderID: machine.ProviderID, NodeAddresses: machine.Addresses, InstanceType: machine.Type,
		Zone: machine.Zone, Region: machine.Region, AdditionalLabels: machine.Labels,
	}, nil
}

// born is when the Node came, by the API server's clock: its machine is none that was listed before only. Whoever asks through the library asks
// for one Node after another, and a newer answer for each would be a list for each.
func born(node *corev1.Node) time.Time {
	if now := time.Now(); node.CreationTimestamp.After(now) { // as long as the clocks differ
		return now
	}
	return node.CreationTimestamp.Time
}
