//go:build linux

package netns

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/proxy"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic"
)

// router is a VPC: the namespace where its bridges, routes, filters and load
// balancers are, and its machines.
type router struct {
	space *space
	// number is the VPC's, among those of the hub.
	number  int
	proxy   *proxy.Proxy
	disks   *disks
	events  func(Event)
	clients []netip.Prefix
	filter  filter
	// name makes the name of a machine's namespace.
	name func(traffic.Machine) string

	// numbers are those of subnets, by identity. They are never used again.
	numbers  map[string]int
	machines map[string]*machine
	ports    int

	bridges   set[string]
	addresses set[address]
	routes    set[route]
	rules     set[rule]
}

// wire makes the VPC as described. Failures concern only what they are about.
func (r *router) wire(vpc traffic.VPC) error {
	for _, subnet := range vpc.Subnets {
		if _, known := r.numbers[subnet.Identity]; !known {
			r.numbers[subnet.Identity] = len(r.numbers) + 1
		}
	}
	next := planVPC(vpc, r.numbers, r.clients, func(v6 bool) netip.Addr { return hubAddress(r.number, v6) })
	failed := []error{
		// Before anything can be reached.
		r.filter.apply(r.space, ruleset(vpc)),
		r.dropMachines(vpc),
		// Routes through links and addresses that go, go first, and those
		// through new ones come last.
		r.rules.drop(next.rules, r.space.removeRule),
		r.routes.drop(next.routes, r.space.removeRoute),
		r.addresses.drop(next.addresses, r.space.removeAddress),
		r.bridges.reconcile(next.bridges, r.space.removeLink, r.space.addBridge),
		r.addresses.add(next.addresses, r.space.addAddress),
		r.routes.add(next.routes, r.space.addRoute),
		r.rules.add(next.rules, r.space.addRule),
	}
	for _, m := range vpc.Machines {
		failed = append(failed, r.bringMachine(m, vpc))
	}
	if err := errors.Join(failed...); err != nil {
		return fmt.Errorf("VPC %s: %w", vpc.Identity, err)
	}
	return nil
}

// dropMachines removes the machines that are no longer described.
func (r *router) dropMachines(vpc traffic.VPC) error {
	var failed []error
	for identity, m := range r.machines {
		if !slices.ContainsFunc(vpc.Machines, func(next traffic.Machine) bool { return next.Identity == identity }) {
			failed = append(failed, r.removeMachine(m))
			delete(r.machines, identity)
		}
	}
	return errors.Join(failed...)
}

// bringMachine makes a machine as described, new or not.
func (r *router) bringMachine(next traffic.Machine, vpc traffic.VPC) error {
	m, known := r.machines[next.Identity]
	if !known {
		var err error
		if m, err = r.addMachine(r.name(next), next); err != nil {
			return fmt.Errorf("machine %s: %w", next.Identity, err)
		}
		r.machines[next.Identity] = m
	}
	i := slices.IndexFunc(vpc.Subnets, func(s traffic.Subnet) bool { return s.Identity == next.Subnet })
	if i < 0 {
		return fmt.Errorf("machine %s: its subnet %s is not in the VPC", next.Identity, next.Subnet)
	}
	return r.wireMachine(m, next, vpc.Subnets[i])
}

// remove takes the VPC away, with everything in it.
func (r *router) remove() error {
	r.proxy.Close()
	return errors.Join(r.dropMachines(traffic.VPC{}), r.space.remove())
}
