// Package store has the objects of IronCore that the cluster uses, as watches report them. It contains the writes of
// this process as soon as they are answered, and reports each change to the controllers.
package store

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	computev1alpha1 "github.com/ironcore-dev/ironcore/api/compute/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/providerid"
)

// ErrNotSynced is the error of reads before the objects that they need have been listed once.
var ErrNotSynced = errors.New("the objects of IronCore have not been listed yet")

// Store has one informer for each kind of object. It is safe for concurrent use. The objects that it returns must not
// be modified.
type Store struct {
	// Client reads what the watches may not have reported yet.
	Client *client.Client
	// Network and Cluster are the names of the cluster's network, and of the cluster.
	Network, Cluster string

	Machines             *Objects[*computev1alpha1.Machine]
	MachinePools         *Objects[*computev1alpha1.MachinePool]
	Networks             *Objects[*networkingv1alpha1.Network]
	NetworkInterfaces    *Objects[*networkingv1alpha1.NetworkInterface]
	LoadBalancers        *Objects[*networkingv1alpha1.LoadBalancer]
	LoadBalancerRoutings *Objects[*networkingv1alpha1.LoadBalancerRouting]

	started atomic.Bool
	synced  chan struct{} // closed when all objects but machine pools have been listed
	reports cloud.Reports
}

// New returns a store without objects for a cluster and its network. Start fills it.
func New(c *client.Client, network, cluster string) *Store {
	s := &Store{Client: c, Network: network, Cluster: cluster, synced: make(chan struct{})}
	s.Machines = newObjects(&computev1alpha1.Machine{}, listWatch(c, c.Machines.List, c.Machines.Watch),
		s.machineChanged).withoutManagedFields()
	s.MachinePools = newObjects(&computev1alpha1.MachinePool{},
		listWatch(c, c.MachinePools.List, c.MachinePools.Watch), s.poolChanged).withoutManagedFields()
	s.MachinePools.initial = true // they may be listed long after everything else: see Start
	s.Networks = newObjects(&networkingv1alpha1.Network{}, listWatch(c, c.Networks.List, c.Networks.Watch),
		s.networkChanged).withoutManagedFields()
	s.NetworkInterfaces = newObjects(&networkingv1alpha1.NetworkInterface{},
		listWatch(c, c.NetworkInterfaces.List, c.NetworkInterfaces.Watch), s.interfaceChanged).withoutManagedFields()
	s.LoadBalancers = newObjects(&networkingv1alpha1.LoadBalancer{},
		listWatch(c, c.LoadBalancers.List, c.LoadBalancers.Watch), s.loadBalancerChanged)
	s.LoadBalancerRoutings = newObjects(&networkingv1alpha1.LoadBalancerRouting{},
		listWatch(c, c.LoadBalancerRoutings.List, c.LoadBalancerRoutings.Watch), s.routingChanged)
	s.Machines.index(byInterface, InterfaceNames)
	s.Machines.index(byPool, func(m *computev1alpha1.Machine) []string { return []string{poolOf(m)} })
	s.LoadBalancers.index(bySelector, selectorOf)
	s.NetworkInterfaces.index(byAddress, addressesOf)
	s.NetworkInterfaces.index(byNode, func(one *networkingv1alpha1.NetworkInterface) []string {
		return []string{one.Annotations[label.Node]}
	})
	return s
}

// The names of the indexes.
const (
	byInterface = "networkInterface" // machines by the names of their network interfaces
	byPool      = "machinePool"      // machines by the name of their pool
	bySelector  = "selector"         // load balancers by their network and the kind of their selector
	byAddress   = "address"          // network interfaces by their addresses
	byNode      = "node"             // network interfaces by the Node for which they got the label of the cluster
)

// Kind is all objects of one kind.
type Kind interface {
	name() string
	isSynced() bool
	synced() <-chan struct{}
	unsynced() string
}

// all returns all kinds, machine pools last.
func (s *Store) all() []Kind {
	return []Kind{s.Machines, s.Networks, s.NetworkInterfaces, s.LoadBalancers, s.LoadBalancerRoutings, s.MachinePools}
}

// Start watches all objects until ctx ends, and returns at once. Changes are reported when all objects but machine
// pools have been listed: these are outside of the namespace, so that the permission for them may be missing, and only
// the zones of Nodes need them.
func (s *Store) Start(ctx context.Context) {
	s.started.Store(true)
	go s.Client.MonitorOutages(ctx, s.Network)
	for _, informer := range []cache.SharedIndexInformer{
		s.Machines.informer, s.MachinePools.informer, s.Networks.informer, s.NetworkInterfaces.informer,
		s.LoadBalancers.informer, s.LoadBalancerRoutings.informer,
	} {
		go informer.RunWithContext(ctx)
	}
	go func() {
		for _, kind := range s.inNamespace() {
			select {
			case <-kind.synced():
			case <-ctx.Done():
				return
			}
		}
		close(s.synced)
	}()
}

// inNamespace returns the kinds in the namespace of the cluster.
func (s *Store) inNamespace() []Kind {
	all := s.all()
	return all[:len(all)-1]
}

// syncTimeout is the longest time that a read waits for the first lists. They take a second with 1,000 machines.
const syncTimeout = 10 * time.Second

// WaitForSync returns nil when all objects of these kinds have been listed once, or an error that contains ErrNotSynced
// after 10 seconds or at the end of the context. Without kinds, it waits for all.
func (s *Store) WaitForSync(ctx context.Context, kinds ...Kind) error {
	if len(kinds) == 0 {
		kinds = s.all()
	}
	ctx, cancel := context.WithTimeout(ctx, syncTimeout)
	defer cancel()
	for _, kind := range kinds {
		if kind.isSynced() {
			continue
		}
		select {
		case <-kind.synced():
		case <-ctx.Done():
			return s.syncError(kinds)
		}
	}
	return nil
}

// Synced reports whether all objects but machine pools have been listed once.
func (s *Store) Synced() bool {
	select {
	case <-s.synced:
		return true
	default:
		return false
	}
}

// syncError returns ErrNotSynced with those of the kinds that are missing, and why; nil if there are none.
func (s *Store) syncError(kinds []Kind) error {
	var missing []string
	for _, kind := range kinds {
		if reason := kind.unsynced(); reason != "" {
			missing = append(missing, kind.name()+" ("+reason+")")
		}
	}
	if len(missing) == 0 {
		return nil
	}
	if _, problem := s.Client.LastRequest(); problem != nil {
		return fmt.Errorf("%w: %s: %w", ErrNotSynced, strings.Join(missing, ", "), problem)
	}
	return fmt.Errorf("%w: %s; check the permissions of the user in the kubeconfig of IronCore", ErrNotSynced,
		strings.Join(missing, ", "))
}

// Ready returns an error with the kinds that are missing while the store has started and not all objects are listed.
func (s *Store) Ready() error {
	if !s.started.Load() {
		return nil
	}
	return s.syncError(s.all())
}

// MachineOf returns the name of the machine of a Node, and the machine if it exists: a Node has the name of its
// machine. A kubelet chooses the provider ID of its Node, so that another name in it is not believed, and neither is a
// machine that has the label of another cluster. The error contains cloud.ErrInvalidProviderID.
func (s *Store) MachineOf(node *corev1.Node) (name string, machine *computev1alpha1.Machine, err error) {
	if name, err = providerid.MachineOf(s.Client.Namespace, node); err != nil {
		return "", nil, err
	}
	machine, exists := s.Machines.Get(name)
	if !exists {
		return name, nil, nil
	}
	return name, machine, s.CheckCluster(machine)
}

// CheckCluster returns an error unless the machine has the label of this cluster, or none.
func (s *Store) CheckCluster(machine *computev1alpha1.Machine) error {
	if other := machine.Labels[label.Cluster]; other != "" && other != s.Cluster {
		return providerid.OtherCluster(machine.Name, other, s.Cluster)
	}
	return nil
}

// InterfaceNames returns the names of the network interfaces of a machine: those of its specification in their order,
// then others that its status names.
func InterfaceNames(machine *computev1alpha1.Machine) []string {
	names := computev1alpha1.MachineNetworkInterfaceNames(machine)
	for _, one := range machine.Status.NetworkInterfaces {
		if name := one.NetworkInterfaceRef.Name; name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// InterfacesOf returns the network interfaces of a machine that are in the network of the cluster, in the order of
// [InterfaceNames], and the names of those that are not known: the watch may not have reported them yet, or still shows
// those of an earlier machine with the same name.
func (s *Store) InterfacesOf(machine *computev1alpha1.Machine) (found []*networkingv1alpha1.NetworkInterface,
	unknown []string) {
	for _, name := range InterfaceNames(machine) {
		one, exists := s.NetworkInterfaces.Get(name)
		switch {
		case !exists || one.DeletionTimestamp != nil,
			one.Spec.MachineRef != nil && one.Spec.MachineRef.UID != machine.UID:
			unknown = append(unknown, name)
		case one.Spec.NetworkRef.Name == s.Network:
			found = append(found, one)
		}
	}
	return found, unknown
}

// InterfacesWith returns the network interfaces that have an address, sorted by name.
func (s *Store) InterfacesWith(address netip.Addr) []*networkingv1alpha1.NetworkInterface {
	return s.NetworkInterfaces.indexed(byAddress, address.String())
}

// InterfacesLeft returns the network interfaces that got the label of the cluster for a Node, and that no machine has
// any more, sorted by name. Those that IronCore has generated for a machine are not among them: it deletes them with
// the machine.
func (s *Store) InterfacesLeft(node string) []*networkingv1alpha1.NetworkInterface {
	return slices.DeleteFunc(s.NetworkInterfaces.indexed(byNode, node),
		func(one *networkingv1alpha1.NetworkInterface) bool {
			return one.DeletionTimestamp != nil || metav1.GetControllerOf(one) != nil ||
				len(s.Machines.indexed(byInterface, one.Name)) > 0
		})
}

// MachineWith returns the name of the machine that has the network interface of this name; "" if there is none.
func (s *Store) MachineWith(name string) string {
	if one, exists := s.NetworkInterfaces.Get(name); exists && one.Spec.MachineRef != nil {
		return one.Spec.MachineRef.Name
	}
	for _, machine := range s.Machines.indexed(byInterface, name) {
		return machine.Name
	}
	return ""
}

// Selecting reports whether IronCore chooses the destinations of a load balancer in the network of the cluster.
func (s *Store) Selecting() bool {
	return len(s.LoadBalancers.indexed(bySelector, s.Network+selecting)) > 0
}

// The ends of the keys of load balancers by their selector.
const (
	selecting       = "/selecting"
	withoutSelector = "/without"
)

// selectorOf returns the network of a load balancer with whether IronCore chooses its destinations.
func selectorOf(balancer *networkingv1alpha1.LoadBalancer) []string {
	switch {
	case label.SelectsInterfaces(balancer):
		return []string{balancer.Spec.NetworkRef.Name + selecting}
	case balancer.Spec.NetworkInterfaceSelector == nil:
		return []string{balancer.Spec.NetworkRef.Name + withoutSelector}
	}
	return nil
}

func poolOf(machine *computev1alpha1.Machine) string {
	if machine.Spec.MachinePoolRef == nil {
		return ""
	}
	return machine.Spec.MachinePoolRef.Name
}

func addressesOf(one *networkingv1alpha1.NetworkInterface) []string {
	addresses := make([]string, len(one.Status.IPs))
	for i, address := range one.Status.IPs {
		addresses[i] = address.Unmap().String()
	}
	return addresses
}
