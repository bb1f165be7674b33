package cloudtest

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// routes implements cloud.Routes. A route is a prefix of the network interface of a machine; the network is the only
// table.
type routes struct{ *store }

const table = "network"

// Behaviour implements cloud.Routes.
func (routes) Behaviour() cloud.RouteBehaviour { return cloud.RouteBehaviour{} }

// Owns implements cloud.Routes.
func (r routes) Owns(node *corev1.Node) bool { return machines(r).Owns(node.Spec.ProviderID) }

// Members implements cloud.Routes.
func (r routes) Members(_ context.Context, nodes []*corev1.Node) ([]cloud.RouteMember, error) {
	var members []cloud.RouteMember
	for _, node := range nodes {
		machine, exists, err := r.machineOf(node)
		switch {
		case err != nil:
			return nil, err
		case r.Owns(node) && !exists:
			members = append(members, cloud.RouteMember{Node: node})
		case r.Owns(node):
			members = append(members, cloud.RouteMember{Node: node, Known: true, Confirmed: machine.Name == node.Name,
				Addresses: []netip.Addr{machine.Address}})
		}
	}
	return members, nil
}

// List implements cloud.Routes.
func (r routes) List(context.Context, cloud.PodNetwork, time.Duration) (cloud.RouteTables, error) {
	if err := r.ready(); err != nil {
		return cloud.RouteTables{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	all := cloud.RouteTable{ID: table, Name: table, Used: true}
	for _, machine := range r.machines {
		for _, prefix := range machine.Prefixes {
			all.Routes = append(all.Routes, cloud.ActualRoute{Destination: prefix, Gateway: machine.Address,
				Managed: slices.Contains(machine.Managed, prefix)})
		}
	}
	return cloud.RouteTables{Tables: []cloud.RouteTable{all}}, nil
}

// with returns the machine with an address.
func (r routes) with(address netip.Addr) (Machine, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, machine := range r.machines {
		if machine.Address == address {
			return machine, true
		}
	}
	return Machine{}, false
}

// Create implements cloud.Routes.
func (r routes) Create(_ context.Context, _ string, route cloud.Route) error {
	return r.write(route.Gateway, func(prefixes []netip.Prefix) []netip.Prefix {
		return append(without(prefixes, route.Destination), route.Destination)
	})
}

// Change implements cloud.Routes.
func (r routes) Change(ctx context.Context, table string, from cloud.ActualRoute, to cloud.Route) error {
	if err := r.Delete(ctx, table, from); err != nil {
		return err
	}
	return r.Create(ctx, table, to)
}

// Delete implements cloud.Routes.
func (r routes) Delete(_ context.Context, _ string, route cloud.ActualRoute) error {
	if _, exists := r.with(route.Gateway); !exists {
		return nil
	}
	return r.write(route.Gateway, func(prefixes []netip.Prefix) []netip.Prefix {
		return without(prefixes, route.Destination)
	})
}

// write changes the prefixes of a machine, and the record of those that are managed.
func (r routes) write(address netip.Addr, change func([]netip.Prefix) []netip.Prefix) error {
	machine, exists := r.with(address)
	if !exists {
		return fmt.Errorf("changing the routes to %s: no machine has the address", address)
	}
	machine.Prefixes, machine.Managed = change(slices.Clone(machine.Prefixes)), change(slices.Clone(machine.Managed))
	r.mu.Lock() // so that the answer is stored before later events
	defer r.mu.Unlock()
	machine, err := r.api.PutMachine(machine)
	if err == nil {
		r.putMachine(machine)
	}
	return stale(err)
}

func without(prefixes []netip.Prefix, prefix netip.Prefix) []netip.Prefix {
	return slices.DeleteFunc(prefixes, func(one netip.Prefix) bool { return one == prefix })
}
