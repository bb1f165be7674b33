package store

import (
	"context"
	"maps"
	"slices"
	"sync"

	computev1alpha1 "github.com/ironcore-dev/ironcore/api/compute/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/label"
)

// Changes implements cloud.Changes. It reports that all may have changed when all objects have been listed, and then
// each change.
func (s *Store) Changes(ctx context.Context, report func(cloud.Change)) {
	select {
	case <-s.synced:
	case <-ctx.Done():
		return
	}
	one := &subscriber{report: report}
	one.mu.Lock() // until the first report has been made
	s.subscribers.add(one)
	defer s.subscribers.remove(one)
	report(cloud.Change{All: true})
	one.mu.Unlock()
	<-ctx.Done()
}

// subscriber is a call of Changes.
type subscriber struct {
	mu     sync.Mutex // held during reports, so that they come one after the other
	report func(cloud.Change)
}

func (s *subscriber) send(change cloud.Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.report(change)
}

// subscribers are the calls of Changes that have not ended.
type subscribers struct {
	mu  sync.Mutex
	all map[*subscriber]bool
}

func (s *subscribers) add(one *subscriber) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[*subscriber]bool{}
	}
	s.all[one] = true
}

func (s *subscribers) remove(one *subscriber) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, one)
}

func (s *subscribers) send(change cloud.Change) {
	s.mu.Lock()
	all := slices.Collect(maps.Keys(s.all))
	s.mu.Unlock()
	for _, one := range all {
		one.send(change)
	}
}

// machineChanged reports the Node of a machine. It has the name of the machine.
func (s *Store) machineChanged(was, is *computev1alpha1.Machine) {
	s.subscribers.send(cloud.Change{Node: nameOf(was, is), Routes: true})
}

// poolChanged reports the Nodes of the machines of a pool whose labels have changed.
func (s *Store) poolChanged(was, is *computev1alpha1.MachinePool) {
	if was != nil && is != nil && equality.Semantic.DeepEqual(was.Labels, is.Labels) {
		return
	}
	for _, machine := range s.Machines.indexed(byPool, nameOf(was, is)) {
		s.subscribers.send(cloud.Change{Node: machine.Name})
	}
}

// networkChanged reports that all may have changed when a network appears, disappears or is replaced.
func (s *Store) networkChanged(was, is *networkingv1alpha1.Network) {
	if was == nil || is == nil || was.UID != is.UID {
		s.subscribers.send(cloud.Change{All: true})
	}
}

// interfaceChanged reports the Nodes of the machines that have the network interface.
func (s *Store) interfaceChanged(was, is *networkingv1alpha1.NetworkInterface) {
	nodes := map[string]bool{}
	for _, one := range []*networkingv1alpha1.NetworkInterface{was, is} {
		if one != nil && one.Spec.MachineRef != nil {
			nodes[one.Spec.MachineRef.Name] = true
		}
	}
	for _, machine := range s.MachinesWithInterface(nameOf(was, is)) {
		nodes[machine.Name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		s.subscribers.send(cloud.Change{Node: name, Routes: true})
	}
}

// loadBalancerChanged reports the Services that a load balancer belongs to, and belonged to before.
func (s *Store) loadBalancerChanged(was, is *networkingv1alpha1.LoadBalancer) {
	services := map[types.NamespacedName]bool{}
	for _, one := range []*networkingv1alpha1.LoadBalancer{was, is} {
		if one != nil {
			services[label.OwnerOf(one).Service] = true
		}
	}
	for service := range services {
		if service.Name != "" {
			s.subscribers.send(cloud.Change{Service: service})
		}
	}
}

// routingChanged reports the Service of the load balancer that a routing belongs to. It has the same name.
func (s *Store) routingChanged(was, is *networkingv1alpha1.LoadBalancerRouting) {
	if balancer, exists := s.LoadBalancers.Get(nameOf(was, is)); exists {
		s.loadBalancerChanged(nil, balancer)
	}
}

// nameOf returns the name of an object before or after a change.
func nameOf[T interface {
	comparable
	Object
}](was, is T) string {
	var none T
	if is != none {
		return is.GetName()
	}
	return was.GetName()
}
