package state

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/seed"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// The power states of a machine; deleting and deleted come from its life.
const (
	StateRunning = "running"
	StateStopped = "stopped"
)

// MachineStatuses are those that a machine can be held in: all that were seen, and those that are plausible.
func MachineStatuses() []string {
	return []string{"provisioning", "creating", object.StatusReady, StateRunning, StateStopped, "unknown", "failed",
		"error", "deleting", "deleted"}
}

// State is the power state, or a phase of the deletion.
func (m *Machine) State(now time.Time) string {
	switch phase := m.At(now); {
	case phase >= object.Deleting:
		return phase.String()
	case m.stopped:
		return StateStopped
	}
	return StateRunning
}

// Status is the provisioning status: unlike the state it reports whether a new
// machine is there yet.
func (m *Machine) Status(now time.Time) string {
	switch phase := m.At(now); {
	case m.Held != "" && m.Active():
		return m.Held
	case phase == object.Creating:
		return "provisioning"
	case phase >= object.Deleting:
		return phase.String()
	case m.stopped:
		return StateStopped
	case m.Subnet.VPC.Org.Store.Switches.ReadyMachines:
		return object.StatusReady
	}
	return StateRunning
}

// Zone is the slug of the machine's zone.
func (m *Machine) Zone() string { return m.zone }

// TypeName is the name of the machine's type.
func (m *Machine) TypeName() string { return m.kind.Name }

// View is the machine as the API describes it.
func (m *Machine) View(now time.Time) wire.Machine {
	home := m.Subnet
	updated := m.UpdatedAt
	view := wire.Machine{
		Identity: m.Identity, Name: m.Name, Slug: m.Slug, Description: m.Description,
		CreatedAt: m.CreatedAt, UpdatedAt: &updated, Labels: m.Labels, Annotations: m.Annotations,
		State: m.State(now), CloudInit: m.CloudInit, DeleteProtection: m.DeleteProtection,
		Organisation: home.VPC.Org.Short(), MachineType: &m.kind.MachineType,
		VPC: home.VPC.Short(), Subnet: home.Short(),
		Status:     wire.ResourceStatus{Status: m.Status(now), LastTransitionTime: m.Transition(m.CreatedAt, now)},
		Region:     home.VPC.Region.Slug,
		Interfaces: m.interfaces(), AvailabilityZone: m.zone,
		SecurityGroups: SecurityGroupViews(m.SecurityGroups, now),
	}
	for _, g := range m.SecurityGroups {
		view.SecurityGroupAttachments = append(view.SecurityGroupAttachments, g.Identity)
	}
	if m.Image != nil {
		view.MachineImage = &m.Image.MachineImage
	}
	m.describeVolumes(&view, now)
	return view
}

// Short is the machine inside an attachment: what identifies it.
func (m *Machine) Short(now time.Time) *wire.Machine {
	return &wire.Machine{
		Identity: m.Identity, Name: m.Name, Slug: m.Slug, CreatedAt: m.CreatedAt, State: m.State(now),
		Status: wire.ResourceStatus{Status: m.Status(now), LastTransitionTime: m.Transition(m.CreatedAt, now)},
	}
}

func (m *Machine) interfaces() []wire.Interface {
	if len(m.Addresses) == 0 {
		return nil
	}
	return []wire.Interface{{
		Name: "default", MACAddress: macAddress(m.Addresses[0]), IPAddresses: Texts(m.Addresses),
	}}
}

// macAddress is a locally administered address that is unique in the VPC.
func macAddress(addr netip.Addr) string {
	b := addr.As16()
	return fmt.Sprintf("52:54:%02x:%02x:%02x:%02x", b[12], b[13], b[14], b[15])
}

// Traits are the values of the machine that filters of lists can name.
func (m *Machine) Traits(now time.Time) object.Traits {
	return m.Record.Traits().Reference("machine", &m.Record).Reference("subnet", &m.Subnet.Record).
		Reference("vpc", &m.Subnet.VPC.Record).Reference("region", &m.Subnet.VPC.Region.Record).
		With("zone", m.zone).With("status", m.Status(now), m.State(now))
}

// StoppedState reads the power state that a request sets.
func StoppedState(state *string, current bool) (bool, error) {
	switch {
	case state == nil:
		return current, nil
	case *state == StateRunning:
		return false, nil
	case *state == StateStopped:
		return true, nil
	}
	return current, apierror.Invalid("field \"state\" must be running or stopped, not %q", *state)
}

// Configure applies the settings that are unchanged when absent.
func (m *Machine) Configure(s *Store, in wire.UpdateMachine) error {
	stopped, err := StoppedState(in.State, m.stopped)
	if err != nil {
		return err
	}
	m.Power(stopped)
	m.DeleteProtection = object.Kept(in.DeleteProtection, m.DeleteProtection)
	if in.MachineType != nil {
		if m.kind, err = s.machineTypeFor(*in.MachineType); err != nil {
			return apierror.Invalid("field \"machineType\": %v", err)
		}
	}
	if in.AvailabilityZone != nil {
		if m.zone, err = m.Subnet.VPC.Region.zoneFor(*in.AvailabilityZone); err != nil {
			return apierror.Invalid("field \"availabilityZone\": %v", err)
		}
	}
	return nil
}

// Move gives the machine an address in another subnet of its VPC.
func (m *Machine) Move(o *Organisation, ref *string) error {
	if ref == nil {
		return nil
	}
	home, err := object.Referred(&o.Subnets, "subnet", "subnet", *ref)
	switch {
	case err != nil:
		return err
	case home.VPC != m.Subnet.VPC:
		return apierror.Invalid("field \"subnet\": subnet %q is in another VPC than the machine", *ref)
	case home == m.Subnet:
		return nil
	}
	addrs, err := TakeAddresses(home.Pools)
	if err != nil {
		return apierror.Conflict("moving machine %q: %v", m.Identity, err)
	}
	ReleaseAddresses(m.Subnet.Pools, m.Addresses)
	m.Subnet, m.Addresses = home, addrs
	return nil
}

// Power switches the machine on or off.
func (m *Machine) Power(stop bool) {
	if m.stopped && !stop {
		m.boots++
	}
	m.stopped = stop
}

// SwitchMachine switches a machine on or off.
func (o *Organisation) SwitchMachine(m *Machine, stop bool, now time.Time) {
	m.Power(stop)
	m.Touch(now)
	o.MachineChanged(m)
}

// MachineChanged records that the traffic to a machine changed.
func (o *Organisation) MachineChanged(m *Machine) {
	for g := range m.Groups {
		o.GroupChanged(g)
	}
}

// Readdress gives the machine other addresses of its VPC, perhaps in another subnet.
func (m *Machine) Readdress(addresses []netip.Addr) error {
	home := m.Subnet
	if len(addresses) > 0 && !home.spans(addresses) {
		i := slices.IndexFunc(home.VPC.Subnets, func(s *Subnet) bool { return s.spans(addresses) })
		if i < 0 {
			return apierror.Invalid("no subnet of VPC %q has the addresses %v", home.VPC.Name, addresses)
		}
		home = home.VPC.Subnets[i]
	}
	ReleaseAddresses(m.Subnet.Pools, m.Addresses)
	if err := reserveAll(home, addresses); err != nil {
		// They were its own a moment ago, so they are free.
		_ = reserveAll(m.Subnet, m.Addresses)
		return apierror.Conflict("%v", err)
	}
	m.Subnet.Users.Remove("machine", m.Identity)
	home.Users.Add("machine", m.Identity)
	m.Subnet, m.Addresses = home, slices.Clone(addresses)
	return nil
}

// reserveAll takes addresses of a subnet, or none of them.
func reserveAll(s *Subnet, addresses []netip.Addr) error {
	if len(addresses) == 0 {
		return nil
	}
	_, err := s.assign(addresses)
	return err
}

// spans reports whether all addresses are in the subnet.
func (s *Subnet) spans(addresses []netip.Addr) bool {
	return !slices.ContainsFunc(addresses, func(addr netip.Addr) bool {
		for _, pool := range s.Pools {
			if pool.Prefix().Contains(addr) {
				return false
			}
		}
		return true
	})
}

// Depart ends what the machine is part of.
func (m *Machine) Depart() {
	org := m.Subnet.VPC.Org
	org.Leave(&m.Life, func() {
		m.SecurityGroups = Reattach("machine", m.Identity, m.SecurityGroups, nil)
		m.Subnet.Users.Remove("machine", m.Identity)
	}, func() {
		if !org.Store.Switches.KeepAttachedVolumes {
			m.ForgetVolumes()
		}
		ReleaseAddresses(m.Subnet.Pools, m.Addresses)
		org.Machines.Remove(m)
	})
}

func (o *Organisation) describeMachines() (out []seed.Machine) {
	for m := range o.Machines.All() {
		if !o.keeps(m) {
			continue
		}
		of := seed.Described(m.Meta)
		machine := seed.Machine{Identity: of.Identity, Name: of.Name, Slug: of.Slug, Labels: of.Labels,
			Annotations: of.Annotations, History: of.History, Life: lived(m.Life, m.Held), Subnet: m.Subnet.Identity,
			Zone: m.zone, Type: m.kind.Identity, Addresses: m.Addresses, WithoutAddresses: len(m.Addresses) == 0,
			Stopped: m.stopped, Boots: m.boots, CloudInit: m.CloudInit, DeleteProtection: m.DeleteProtection,
			SecurityGroups: identities(m.SecurityGroups)}
		if m.Image != nil {
			machine.Image = m.Image.Identity
		}
		out = append(out, machine)
	}
	return out
}
