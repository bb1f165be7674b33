// Package cloudtest is a small cloud in memory that reports its changes, for tests of controllers and as an example of
// how to add a cloud.
//
// [API] stands for the server of a cloud. [New] returns the [cloud.Cloud] that the controllers use: it watches the API,
// so that it never polls. It has what one would write for a cloud like this, and nothing else: load balancers without
// node ports, health checks and target groups, whose targets are network interfaces, and routes that are prefixes of
// network interfaces.
package cloudtest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// Name is the name of the cloud.
const Name = "cloudtest"

// prefix begins the provider IDs of the cloud. The ID of the machine follows.
const prefix = Name + "://"

// New returns the cloud. It has no data before Start.
func New(api *API) *cloud.Cloud {
	s := &store{api: api}
	return &cloud.Cloud{
		Name:          Name,
		LoadBalancers: loadBalancers{s},
		LoadBalancerBehaviour: cloud.LoadBalancerBehaviour{PollInterval: time.Hour, SlowAfter: time.Hour,
			Drift: cloud.Repair},
		Machines: machines{s},
		MachineBehaviour: cloud.MachineBehaviour{Domain: "k8s.example.com", Lists: true, GracePeriod: 10 * time.Second,
			MaxRemovals: 100, RemovalWindow: time.Hour},
		Routes:      routes{s},
		LabelDomain: "k8s.example.com",
		Start:       s.start,
		Changes:     s.reports.Changes,
		CheckAccess: s.checkAccess,
	}
}

// checkAccess implements cloud.Cloud: everybody may do everything.
func (s *store) checkAccess(context.Context) []cloud.Access {
	return []cloud.Access{{Action: "watch machines"}, {Action: "watch load balancers"}}
}

// store contains all objects of the cloud, as the watch has reported them.
type store struct {
	api     *API
	reports cloud.Reports

	mu        sync.Mutex
	synced    bool
	machines  map[string]Machine
	balancers map[types.UID]LoadBalancer
}

// errNotSynced is the error of all reads before Start.
var errNotSynced = errors.New("the objects of the cloud are not known before Start")

func (s *store) ready() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.synced {
		return errNotSynced
	}
	return nil
}

// start stores all objects, and their changes until ctx ends.
func (s *store) start(ctx context.Context, _ cloud.Clients) {
	events := s.watch(ctx)
	go func() {
		for {
			for event := range events {
				s.reports.Send(s.apply(event))
			}
			if ctx.Err() != nil {
				return
			}
			events = s.watch(ctx)
			s.reports.Send(cloud.Change{All: true})
		}
	}()
}

// watch stores all objects, and returns their changes from now on.
func (s *store) watch(ctx context.Context) <-chan Event {
	machines, balancers, events := s.api.Watch(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.machines, s.balancers = map[string]Machine{}, map[types.UID]LoadBalancer{}
	for _, machine := range machines {
		s.machines[machine.ID] = machine
	}
	for _, balancer := range balancers {
		s.balancers[balancer.UID] = balancer
	}
	s.synced = true
	return events
}

// apply stores one change, and returns what it concerns.
func (s *store) apply(event Event) cloud.Change {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case event.Machine != nil && event.Deleted:
		delete(s.machines, event.Machine.ID)
	case event.Machine != nil:
		s.putMachine(*event.Machine)
	case event.Deleted:
		delete(s.balancers, event.LoadBalancer.UID)
	default:
		s.putLoadBalancer(*event.LoadBalancer)
	}
	if event.Machine != nil {
		return cloud.Change{Node: event.Machine.Name, Routes: true}
	}
	return cloud.Change{Service: event.LoadBalancer.Service}
}

// putMachine stores a machine, unless the stored one is newer: a write of this process is stored before its event.
func (s *store) putMachine(machine Machine) {
	if s.machines[machine.ID].Version < machine.Version {
		s.machines[machine.ID] = machine
	}
}

func (s *store) putLoadBalancer(balancer LoadBalancer) {
	if s.balancers[balancer.UID].Version < balancer.Version {
		s.balancers[balancer.UID] = balancer
	}
}

// machineOf returns the machine that the provider ID of a Node names.
func (s *store) machineOf(node *corev1.Node) (machine Machine, exists bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.synced {
		return Machine{}, false, errNotSynced
	}
	machine, exists = s.machines[strings.TrimPrefix(node.Spec.ProviderID, prefix)]
	return machine, exists, nil
}

// named returns the machines with a name.
func (s *store) named(name string) ([]Machine, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.synced {
		return nil, errNotSynced
	}
	var found []Machine
	for _, machine := range s.machines {
		if machine.Name == name {
			found = append(found, machine)
		}
	}
	return found, nil
}
