// Package machine finds the machines of Nodes on IronCore, and describes them to the node controllers.
package machine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	computev1alpha1 "github.com/ironcore-dev/ironcore/api/compute/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/event"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/providerid"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/store"
)

// Provider implements cloud.Machines. A Node has the name of its machine. All data comes from the store, except for
// what must not be stale.
type Provider struct {
	store *store.Store
	turn  chan struct{} // has room for whoever requests a list

	mu     sync.Mutex                   // not held during requests
	listed *computev1alpha1.MachineList // the last list that did not come from the watch
	asked  time.Time                    // when it was requested
}

var _ cloud.Machines = (*Provider)(nil)

// New returns a provider of the machines in a store.
func New(s *store.Store) *Provider { return &Provider{store: s, turn: make(chan struct{}, 1)} }

// Owns reports whether a provider ID is of this cloud. This includes one that names no machine: an event reports it.
func (p *Provider) Owns(id string) bool { return providerid.Owned(id) }

// Find returns the machine that the provider ID of the Node names. The machine of a Node without one has the name of
// the Node, and is read from the API server at or after notBefore: the watch may still show an earlier machine with
// this name. All Nodes share one list.
func (p *Provider) Find(ctx context.Context, node *corev1.Node, notBefore time.Time) (cloud.Machine, error) {
	machine, err := p.machineOf(ctx, node, notBefore)
	if err != nil {
		return cloud.Machine{}, err
	}
	described := p.describe(node, machine)
	if len(described.Addresses) > 0 || node.Spec.ProviderID == "" {
		return described, nil
	}
	// The watches of machines and network interfaces are independent: the machine may not exist any more.
	if machine, err = p.read(ctx, machine.Name); err != nil {
		return cloud.Machine{}, err
	}
	return p.describe(node, machine), nil
}

func (p *Provider) machineOf(ctx context.Context, node *corev1.Node,
	notBefore time.Time) (*computev1alpha1.Machine, error) {
	needed := []store.Kind{p.store.Machines, p.store.NetworkInterfaces}
	if cloud.Uninitialised(node) {
		needed = append(needed, p.store.MachinePools) // it has its zone before pods run on it
	}
	if err := p.store.WaitForSync(ctx, needed...); err != nil {
		return nil, err
	}
	if node.Spec.ProviderID == "" {
		machine, err := p.named(ctx, node.Name, notBefore)
		if err != nil {
			return nil, err
		}
		return machine, p.elsewhere(p.store.CheckCluster(machine))
	}
	name, machine, err := p.store.MachineOf(node)
	if err == nil && machine == nil {
		return nil, p.notFound(name)
	}
	return machine, p.elsewhere(err)
}

// elsewhere returns the problem of a Node that does not belong to the machine that it names.
func (p *Provider) elsewhere(err error) error {
	if err == nil {
		return nil
	}
	message := event.Sentences("The machine of this Node cannot be used: "+err.Error(), "The namespace of the cluster "+
		"is "+p.store.Client.Namespace, "A provider ID cannot be changed: delete the Node, and start the kubelet "+
		"without --provider-id and with the name of its machine")
	return &cloud.MachineProblem{Reason: cloud.MachineElsewhere, Message: message}
}

// named returns the newest known machine with a name. It is read again if it is not in the list: it may be newer.
func (p *Provider) named(ctx context.Context, name string, notBefore time.Time) (*computev1alpha1.Machine, error) {
	if oldest := time.Now().Add(-store.MaxDelay); notBefore.Before(oldest) {
		notBefore = oldest // the store does not know which machines were deleted before
	}
	machines, err := p.list(ctx, notBefore)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(machines.Items, func(m computev1alpha1.Machine) bool { return m.Name == name })
	if at < 0 {
		return p.read(ctx, name)
	}
	p.store.Machines.Written(&machines.Items[at])
	machine, exists := p.store.Machines.Get(name)
	if !exists { // it was deleted after the list
		return p.read(ctx, name)
	}
	return machine, p.readInterfaces(ctx, machine)
}

// read reads a machine from the API server, and those of its network interfaces that the watch has not reported yet.
func (p *Provider) read(ctx context.Context, name string) (*computev1alpha1.Machine, error) {
	machine, err := p.store.Client.Machines.Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, p.notFound(name)
	case err != nil:
		return nil, fmt.Errorf("reading machine %s/%s: %w", p.store.Client.Namespace, name, err)
	}
	p.store.Machines.Written(machine)
	return machine, p.readInterfaces(ctx, machine)
}

// readInterfaces reads the network interfaces of a machine that the watch has not reported yet.
func (p *Provider) readInterfaces(ctx context.Context, machine *computev1alpha1.Machine) error {
	_, unknown := p.store.InterfacesOf(machine)
	for _, name := range unknown {
		one, err := p.store.Client.NetworkInterfaces.Get(ctx, name, metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("reading network interface %s/%s: %w", p.store.Client.Namespace, name, err)
		}
		if err == nil {
			p.store.NetworkInterfaces.Written(one)
		}
	}
	return nil
}

// notFound returns the problem that there is no machine with the name of a Node. It names one that differs only after
// the first dot.
func (p *Provider) notFound(name string) error {
	host, _, _ := strings.Cut(name, ".")
	override := "--hostname-override"
	for _, machine := range p.store.Machines.List() {
		if own, _, _ := strings.Cut(machine.Name, "."); own == host && machine.Name != name {
			override = fmt.Sprintf("--hostname-override=%s, if it runs on that machine", machine.Name)
			break
		}
	}
	return &cloud.MachineProblem{Reason: cloud.MachineNotFound, Message: fmt.Sprintf("There is no machine %s in the "+
		"namespace %s of IronCore. A Node must have the name of its machine: create the machine, or start the kubelet "+
		"with %s.", name, p.store.Client.Namespace, override)}
}

// State is the state that the watch has reported. A machine that is missing is looked up in a list of all machines from
// the API server that was requested at or after notBefore, because the watch may lag behind. A list that has it may be
// older than its deletion, so that it is looked up in a newer one as well.
func (p *Provider) State(ctx context.Context, node *corev1.Node, notBefore time.Time) (cloud.MachineState, error) {
	if err := p.store.WaitForSync(ctx, p.store.Machines); err != nil {
		return cloud.MachineUnknown, err
	}
	name, err := providerid.Machine(p.store.Client.Namespace, node.Spec.ProviderID)
	if err != nil {
		return cloud.MachineUnknown, err
	}
	if machine, exists := p.store.Machines.Get(name); exists {
		return stateOf(machine), nil
	}
	state, now := cloud.MachineGone, time.Now()
	for _, since := range []time.Time{notBefore, now} {
		machines, err := p.list(ctx, since)
		if err != nil {
			return cloud.MachineUnknown, err
		}
		at := slices.IndexFunc(machines.Items, func(m computev1alpha1.Machine) bool { return m.Name == name })
		if at < 0 {
			return cloud.MachineGone, nil
		}
		state = stateOf(&machines.Items[at])
	}
	return state, nil
}

// list returns all machines from the API server, requested at or after notBefore. All Nodes share one list: who needs a
// newer one waits while another one is requested, as long as ctx allows.
func (p *Provider) list(ctx context.Context, notBefore time.Time) (*computev1alpha1.MachineList, error) {
	if listed := p.latest(notBefore); listed != nil {
		return listed, nil
	}
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting for a list of machines in %s: %w", p.store.Client.Namespace, context.Cause(ctx))
	}
	if listed := p.latest(notBefore); listed != nil {
		return listed, nil
	}
	now := time.Now()
	listed, err := p.store.Client.Machines.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing machines in %s: %w", p.store.Client.Namespace, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listed, p.asked = listed, now
	return listed, nil
}

// latest returns the last list if it was requested at or after notBefore, else nil.
func (p *Provider) latest(notBefore time.Time) *computev1alpha1.MachineList {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asked.Before(notBefore) {
		return nil
	}
	return p.listed
}

func stateOf(machine *computev1alpha1.Machine) cloud.MachineState {
	if machine.DeletionTimestamp != nil {
		return cloud.MachineDeleting
	}
	switch machine.Status.State {
	case computev1alpha1.MachineStateShutdown, computev1alpha1.MachineStateTerminated:
		return cloud.MachineStopped
	case computev1alpha1.MachineStateTerminating:
		return cloud.MachineDeleting
	case computev1alpha1.MachineStateRunning, computev1alpha1.MachineStatePending, "":
		return cloud.MachineRunning
	}
	return cloud.MachineUnknown
}

// Confirm reads the machine from the API server.
func (p *Provider) Confirm(ctx context.Context, node *corev1.Node) (cloud.MachineState, error) {
	name, err := providerid.Machine(p.store.Client.Namespace, node.Spec.ProviderID)
	if err != nil {
		return cloud.MachineUnknown, err
	}
	machine, err := p.store.Client.Machines.Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return cloud.MachineGone, nil
	case err != nil:
		return cloud.MachineUnknown, fmt.Errorf("reading machine %s/%s: %w", p.store.Client.Namespace, name, err)
	}
	return stateOf(machine), nil
}

// CheckCredentials reads the network of the cluster, and the machine of a canary. An API server that answers "not
// found" for everything, such as one of another installation, fails the check.
func (p *Provider) CheckCredentials(ctx context.Context, canaries []*corev1.Node) error {
	if _, err := p.store.Client.Networks.Get(ctx, p.store.Network, metav1.GetOptions{}); err != nil {
		return fmt.Errorf("reading Network %s/%s: %w", p.store.Client.Namespace, p.store.Network, err)
	}
	var missing []string
	for _, node := range canaries {
		state, err := p.Confirm(ctx, node)
		switch {
		case err != nil:
			return err
		case state != cloud.MachineGone:
			return nil
		}
		missing = append(missing, node.Name)
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("the machines of Nodes that are ready do not exist in the namespace %s: %s",
		p.store.Client.Namespace, strings.Join(missing, ", "))
}

// NameConflict returns "": a provider ID contains the name of its machine, so that no other machine can have it.
func (p *Provider) NameConflict(context.Context, *corev1.Node) (string, error) { return "", nil }
