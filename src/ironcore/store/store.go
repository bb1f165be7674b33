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
	"sync"
	"time"

	computev1alpha1 "github.com/ironcore-dev/ironcore/api/compute/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	"k8s.io/client-go/tools/cache"

	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/client"
)

// ErrNotSynced is the error of reads before all objects have been listed once.
var ErrNotSynced = errors.New("the objects of IronCore have not been listed yet")

// Store has one informer for each kind of object. It is safe for concurrent use. The objects that it returns must not
// be modified.
type Store struct {
	// Client reads what the watches may not have reported yet.
	Client *client.Client

	Machines             *Objects[*computev1alpha1.Machine]
	MachinePools         *Objects[*computev1alpha1.MachinePool]
	Networks             *Objects[*networkingv1alpha1.Network]
	NetworkInterfaces    *Objects[*networkingv1alpha1.NetworkInterface]
	LoadBalancers        *Objects[*networkingv1alpha1.LoadBalancer]
	LoadBalancerRoutings *Objects[*networkingv1alpha1.LoadBalancerRouting]

	synced      chan struct{} // closed when all objects have been listed
	subscribers subscribers
	running     sync.WaitGroup
}

// New returns a store without objects. Start fills it.
func New(c *client.Client) *Store {
	s := &Store{Client: c, synced: make(chan struct{})}
	s.Machines = newObjects(c.Namespace, &computev1alpha1.Machine{}, listWatch(c.Machines.List, c.Machines.Watch), s.machineChanged)
	s.MachinePools = newObjects("", &computev1alpha1.MachinePool{}, listWatch(c.MachinePools.List, c.MachinePools.Watch),
		s.poolChanged)
	s.Networks = newObjects(c.Namespace, &networkingv1alpha1.Network{}, listWatch(c.Networks.List, c.Networks.Watch),
		s.networkChanged)
	s.NetworkInterfaces = newObjects(c.Namespace, &networkingv1alpha1.NetworkInterface{},
		listWatch(c.NetworkInterfaces.List, c.NetworkInterfaces.Watch), s.interfaceChanged)
	s.LoadBalancers = newObjects(c.Namespace, &networkingv1alpha1.LoadBalancer{},
		listWatch(c.LoadBalancers.List, c.LoadBalancers.Watch), s.loadBalancerChanged)
	s.LoadBalancerRoutings = newObjects(c.Namespace, &networkingv1alpha1.LoadBalancerRouting{},
		listWatch(c.LoadBalancerRoutings.List, c.LoadBalancerRoutings.Watch), s.routingChanged)
	s.Machines.index(byInterface, func(m *computev1alpha1.Machine) []string { return InterfaceNames(m) })
	s.Machines.index(byPool, func(m *computev1alpha1.Machine) []string { return []string{poolOf(m)} })
	s.NetworkInterfaces.index(byAddress, addressesOf)
	return s
}

// The names of the indexes.
const (
	byInterface = "networkInterface" // machines by the names of their network interfaces
	byPool      = "machinePool"      // machines by the name of their pool
	byAddress   = "address"          // network interfaces by their addresses
)

// Start watches all objects until ctx ends, and returns at once.
func (s *Store) Start(ctx context.Context) {
	informers := s.informers()
	for _, informer := range informers {
		s.running.Go(func() { informer.RunWithContext(ctx) })
	}
	s.running.Go(func() {
		synced := make([]cache.InformerSynced, len(informers))
		for i, informer := range informers {
			synced[i] = informer.HasSynced
		}
		if cache.WaitForCacheSync(ctx.Done(), synced...) {
			close(s.synced)
		}
	})
}

func (s *Store) informers() []cache.SharedIndexInformer {
	return []cache.SharedIndexInformer{
		s.Machines.informer, s.MachinePools.informer, s.Networks.informer, s.NetworkInterfaces.informer,
		s.LoadBalancers.informer, s.LoadBalancerRoutings.informer,
	}
}

// syncTimeout is the longest time that a read waits for the first lists. They take a second with 1,000 machines.
const syncTimeout = 10 * time.Second

// WaitForSync returns nil when all objects have been listed once, or else ErrNotSynced after 10 seconds or the end of
// the context.
func (s *Store) WaitForSync(ctx context.Context) error {
	if s.Synced() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, syncTimeout)
	defer cancel()
	select {
	case <-s.synced:
		return nil
	case <-ctx.Done():
		return ErrNotSynced
	}
}

// Synced reports whether all objects have been listed once.
func (s *Store) Synced() bool {
	select {
	case <-s.synced:
		return true
	default:
		return false
	}
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

// InterfacesOf returns the network interfaces of a machine that are in a network, in the order of
// [InterfaceNames]. The error names those that are not known: the watch may not have reported them yet.
func (s *Store) InterfacesOf(machine *computev1alpha1.Machine,
	network string) ([]*networkingv1alpha1.NetworkInterface, error) {
	var found []*networkingv1alpha1.NetworkInterface
	var missing []string
	for _, name := range InterfaceNames(machine) {
		one, exists := s.NetworkInterfaces.Get(name)
		switch {
		case !exists:
			missing = append(missing, name)
		case one.Spec.NetworkRef.Name == network:
			found = append(found, one)
		}
	}
	if len(missing) > 0 {
		return found, fmt.Errorf("network interfaces of machine %s do not exist: %s", machine.Name,
			strings.Join(missing, ", "))
	}
	return found, nil
}

// InterfacesWith returns the network interfaces that have an address, sorted by name.
func (s *Store) InterfacesWith(address netip.Addr) []*networkingv1alpha1.NetworkInterface {
	return s.NetworkInterfaces.indexed(byAddress, address.String())
}

// MachinesWithInterface returns the machines that have the network interface of this name, sorted by name.
func (s *Store) MachinesWithInterface(name string) []*computev1alpha1.Machine {
	return s.Machines.indexed(byInterface, name)
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
