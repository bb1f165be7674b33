package cloudtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// API is the cloud itself: its objects, which clients read, watch and change. The zero value has no objects and
// finishes everything at once. It is safe for concurrent use.
type API struct {
	// ProvisionTime is how long a new load balancer has no address, DeletionTime how long a load balancer exists after
	// its deletion was accepted. They are set before the first request.
	ProvisionTime, DeletionTime time.Duration

	mu        sync.Mutex
	machines  map[string]Machine
	balancers map[types.UID]LoadBalancer
	watchers  map[chan Event]bool
	versions  int
	reads     int
	writes    []string
}

// Machine is a virtual machine with one network interface.
type Machine struct {
	ID, Name, Zone string
	Address        netip.Addr
	Stopped        bool
	// Prefixes are the networks that are routed to the interface. They cannot carry labels: Managed, which the owner of
	// the machine leaves alone, is the record of those that a client manages.
	Prefixes, Managed []netip.Prefix
	// Version changes with each change.
	Version int
}

// LoadBalancer sends traffic to the same port of network interfaces. It has no node ports and no health checks.
type LoadBalancer struct {
	Service types.NamespacedName
	UID     types.UID // of the Service
	Ports   []Port
	// Targets are the addresses of network interfaces, sorted.
	Targets []netip.Addr
	Address netip.Addr // the zero Addr until it serves
	// Deleting means that its deletion was accepted.
	Deleting bool
	// Version changes with each change.
	Version int
}

// Port is a port of a load balancer.
type Port struct {
	Protocol corev1.Protocol
	Port     int32
}

// Event is a change of one object: of a machine if Machine is not nil, and otherwise of a load balancer.
type Event struct {
	Machine      *Machine
	LoadBalancer *LoadBalancer
	Deleted      bool
}

// The errors of requests.
var (
	ErrNotFound = errors.New("not found")
	ErrConflict = errors.New("the object has another version")
)

// watchBuffer is the number of events that a watcher may be behind.
const watchBuffer = 1000

// Watch returns all objects and a channel with each later change. The channel is closed when ctx ends, or when the
// caller does not receive for too long: then it has to watch again.
func (a *API) Watch(ctx context.Context) ([]Machine, []LoadBalancer, <-chan Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.reads++
	events := make(chan Event, watchBuffer)
	if a.watchers == nil {
		a.watchers = map[chan Event]bool{}
	}
	a.watchers[events] = true
	context.AfterFunc(ctx, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.endWatch(events)
	})
	return slices.Collect(maps.Values(a.machines)), slices.Collect(maps.Values(a.balancers)), events
}

// InterruptWatches ends all watches, as a restart of the cloud's server does. Meanwhile, a machine is deleted.
func (a *API) InterruptWatches(deleted string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.machines, deleted)
	for events := range a.watchers {
		a.endWatch(events)
	}
}

func (a *API) endWatch(events chan Event) {
	if a.watchers[events] {
		delete(a.watchers, events)
		close(events)
	}
}

func (a *API) send(event Event) {
	for events := range a.watchers {
		select {
		case events <- event:
		default:
			a.endWatch(events)
		}
	}
}

// Machine reads one machine. It returns ErrNotFound if there is none with this ID.
func (a *API) Machine(id string) (Machine, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.reads++
	machine, exists := a.machines[id]
	if !exists {
		return Machine{}, fmt.Errorf("machine %s: %w", id, ErrNotFound)
	}
	return machine, nil
}

// Machines returns all machines, as their owner sees them.
func (a *API) Machines() []Machine {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Collect(maps.Values(a.machines))
}

// PutMachine creates or replaces a machine, and returns it with its new version. It returns ErrConflict if the version
// of an existing one differs.
func (a *API) PutMachine(machine Machine) (Machine, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.writes = append(a.writes, "put machine "+machine.ID)
	if existing, exists := a.machines[machine.ID]; exists && existing.Version != machine.Version {
		return Machine{}, fmt.Errorf("machine %s: %w", machine.ID, ErrConflict)
	}
	return a.storeMachine(machine), nil
}

func (a *API) storeMachine(machine Machine) Machine {
	if a.machines == nil {
		a.machines = map[string]Machine{}
	}
	a.versions++
	machine.Version = a.versions
	a.machines[machine.ID] = machine
	a.send(Event{Machine: &machine})
	return machine
}

// ChangeMachine changes or creates a machine as its owner does, without a version.
func (a *API) ChangeMachine(id string, change func(*Machine)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	machine := a.machines[id]
	machine.ID = id
	machine.Prefixes = slices.Clone(machine.Prefixes)
	change(&machine)
	a.storeMachine(machine)
}

// DeleteMachine deletes a machine as its owner does.
func (a *API) DeleteMachine(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if machine, exists := a.machines[id]; exists {
		delete(a.machines, id)
		a.send(Event{Machine: &machine, Deleted: true})
	}
}

// LoadBalancer returns the load balancer of a Service.
func (a *API) LoadBalancer(service types.NamespacedName) (LoadBalancer, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, balancer := range a.balancers {
		if balancer.Service == service {
			return balancer, true
		}
	}
	return LoadBalancer{}, false
}

// PutLoadBalancer creates or replaces a load balancer, and returns it with its new version. It returns ErrConflict if
// the version of an existing one differs, and ErrNotFound if one with a version does not exist.
func (a *API) PutLoadBalancer(balancer LoadBalancer) (LoadBalancer, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.writes = append(a.writes, "put load balancer "+balancer.Service.String())
	switch existing, exists := a.balancers[balancer.UID]; {
	case exists && existing.Version != balancer.Version:
		return LoadBalancer{}, fmt.Errorf("load balancer %s: %w", balancer.Service, ErrConflict)
	case !exists && balancer.Version != 0:
		return LoadBalancer{}, fmt.Errorf("load balancer %s: %w", balancer.Service, ErrNotFound)
	case !exists:
		time.AfterFunc(a.ProvisionTime, func() {
			a.ChangeLoadBalancer(balancer.Service, func(b *LoadBalancer) {
				b.Address = netip.AddrFrom4([4]byte{192, 0, 2, byte(b.Version)})
			})
		})
	}
	return a.storeLoadBalancer(balancer), nil
}

func (a *API) storeLoadBalancer(balancer LoadBalancer) LoadBalancer {
	if a.balancers == nil {
		a.balancers = map[types.UID]LoadBalancer{}
	}
	a.versions++
	balancer.Version = a.versions
	a.balancers[balancer.UID] = balancer
	a.send(Event{LoadBalancer: &balancer})
	return balancer
}

// ChangeLoadBalancer changes the load balancer of a Service as the cloud or its user does, without a version.
func (a *API) ChangeLoadBalancer(service types.NamespacedName, change func(*LoadBalancer)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, balancer := range a.balancers {
		if balancer.Service == service {
			balancer.Targets = slices.Clone(balancer.Targets)
			change(&balancer)
			a.storeLoadBalancer(balancer)
		}
	}
}

// DeleteLoadBalancer accepts the deletion of a load balancer, which ends after DeletionTime, and returns it. It returns
// ErrNotFound if there is none, and ErrConflict if its version differs.
func (a *API) DeleteLoadBalancer(uid types.UID, version int) (LoadBalancer, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	balancer, exists := a.balancers[uid]
	a.writes = append(a.writes, "delete load balancer "+balancer.Service.String())
	switch {
	case !exists:
		return LoadBalancer{}, fmt.Errorf("load balancer of Service %s: %w", uid, ErrNotFound)
	case balancer.Version != version:
		return LoadBalancer{}, fmt.Errorf("load balancer %s: %w", balancer.Service, ErrConflict)
	}
	balancer.Deleting = true
	time.AfterFunc(a.DeletionTime, func() { a.removeLoadBalancer(uid) })
	return a.storeLoadBalancer(balancer), nil
}

// HasLoadBalancer reads whether a Service has a load balancer.
func (a *API) HasLoadBalancer(uid types.UID) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.reads++
	_, exists := a.balancers[uid]
	return exists
}

func (a *API) removeLoadBalancer(uid types.UID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	balancer := a.balancers[uid]
	delete(a.balancers, uid)
	a.send(Event{LoadBalancer: &balancer, Deleted: true})
}

// Reads returns how often clients have read objects or begun to watch.
func (a *API) Reads() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.reads
}

// Writes returns the writes of clients, in order: "put machine a".
func (a *API) Writes() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.writes)
}
