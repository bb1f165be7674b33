//go:build linux

package netns

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic"
)

// machineLink is the interface of a machine.
const machineLink = "eth0"

// Kind is what happened to a machine.
type Kind string

// A machine is Booted when it is new, switched on, or restarted (after Stopped);
// Stopped when it is switched off; Moved when its addresses changed; Deleted
// when it is gone, also when the plane is closed.
const (
	Booted  Kind = "booted"
	Stopped Kind = "stopped"
	Moved   Kind = "moved"
	Deleted Kind = "deleted"
)

// Event is what happened to a machine. Its links are up or down already, and a
// deleted machine has lost them.
type Event struct {
	Kind Kind
	// Identity and Name (the slug) are the machine's in the API.
	Identity, Name string
	// Namespace is the name of its network namespace, Path the file to enter it
	// by (nsenter --net=PATH). After Deleted, neither exists any more.
	Namespace, Path string
	// Disks is the folder with a link to the block device of each volume that is
	// attached to the machine, as in its /dev/disk/by-id. It ends with the machine.
	Disks     string
	Addresses []netip.Addr
}

// machine is a machine that is there.
type machine struct {
	state traffic.Machine
	space *space
	// port is its interface at the router, bridge where that is plugged in.
	port, bridge string
	mac          string
	// disks is the folder with links to its block devices.
	disks     string
	on        bool
	addresses set[address]
	routes    set[route]
}

// addMachine makes a machine's namespace and plugs it in, switched off.
func (r *router) addMachine(name string, state traffic.Machine) (*machine, error) {
	s, err := newSpace(name)
	if err != nil {
		return nil, err
	}
	r.ports++
	m := &machine{
		space: s, port: fmt.Sprintf("p%d", r.ports), addresses: set[address]{}, routes: set[route]{},
		state: traffic.Machine{Identity: state.Identity, Name: state.Name},
	}
	m.disks, err = r.disks.addMachine(name)
	if err == nil {
		err = r.space.connect(m.port, s, machineLink)
	}
	if err == nil {
		err = s.up(machineLink)
	}
	if err != nil {
		return nil, errors.Join(err, s.remove())
	}
	return m, nil
}

// wireMachine makes a machine as described, and reports what happened to it.
func (r *router) wireMachine(m *machine, next traffic.Machine, subnet traffic.Subnet) error {
	before := m.state
	if before.Running && (!next.Running || next.Boots != before.Boots) {
		if err := r.plug(m, false); err != nil {
			return err
		}
		r.report(m, Stopped)
		m.state.Running = false
	}
	moved := !slices.Equal(before.Addresses, next.Addresses)
	err := r.equip(m, next, subnet, moved)
	if err != nil {
		return fmt.Errorf("machine %s: %w", next.Identity, err)
	}
	running := m.state.Running
	m.state = next
	switch {
	case next.Running && !running:
		r.report(m, Booted)
	case next.Running && moved:
		r.report(m, Moved)
	}
	return nil
}

// equip gives a machine its place, addresses and routes, and then its link.
func (r *router) equip(m *machine, next traffic.Machine, subnet traffic.Subnet, moved bool) error {
	addresses, routes := planMachine(next, subnet)
	stay := routes
	if moved { // some routes go with the addresses, and the kernel decides which
		stay = nil
	}
	return errors.Join(
		r.place(m, next, bridge(r.numbers[next.Subnet])),
		m.routes.drop(stay, m.space.removeRoute),
		m.addresses.reconcile(addresses, m.space.removeAddress, m.space.addAddress),
		m.routes.add(routes, m.space.addRoute),
		r.plug(m, next.Running && len(next.Addresses) > 0),
	)
}

// place plugs a machine into its subnet, with the address of its hardware.
func (r *router) place(m *machine, next traffic.Machine, bridge string) error {
	if m.bridge != bridge {
		if err := r.space.enslave(m.port, bridge); err != nil {
			return err
		}
		m.bridge = bridge
	}
	if next.MAC == "" || m.mac == next.MAC {
		return nil
	}
	if err := m.space.setMAC(machineLink, next.MAC); err != nil {
		return err
	}
	m.mac = next.MAC
	return nil
}

// plug switches a machine's link on or off at the router: what the machine has
// in its own namespace stays.
func (r *router) plug(m *machine, on bool) error {
	if m.on == on {
		return nil
	}
	act := r.space.down
	if on {
		act = r.space.up
	}
	if err := act(m.port); err != nil {
		return err
	}
	m.on = on
	if !on {
		return nil
	}
	return errors.Join(r.space.carry(m.port), m.space.carry(machineLink))
}

// removeMachine takes a machine's link and namespace away.
func (r *router) removeMachine(m *machine) error {
	err := errors.Join(r.space.removeLink(m.port), m.space.remove(), r.disks.removeMachine(m.disks))
	r.report(m, Deleted)
	return err
}

func (r *router) report(m *machine, kind Kind) {
	r.events(Event{
		Kind: kind, Identity: m.state.Identity, Name: m.state.Name,
		Namespace: m.space.Name(), Path: m.space.Path(), Disks: m.disks, Addresses: slices.Clone(m.state.Addresses),
	})
}
