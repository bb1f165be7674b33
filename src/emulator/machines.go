package emulator

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/seed"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// The power states of a machine; deleting and deleted come from its life.
const (
	stateRunning = "running"
	stateStopped = "stopped"
)

func (m *machine) state(now time.Time) string {
	switch phase := m.at(now); {
	case phase >= deleting:
		return phase.String()
	case m.stopped:
		return stateStopped
	}
	return stateRunning
}

// status is the provisioning status: unlike the state it says whether a new
// machine is there yet.
func (m *machine) status(now time.Time) string {
	switch phase := m.at(now); {
	case m.held != "" && m.wanted():
		return m.held
	case phase == creating:
		return "provisioning"
	case phase >= deleting:
		return phase.String()
	case m.stopped:
		return stateStopped
	}
	return statusReady
}

// attached is the machine inside an attachment: what identifies it. It is made
// once per request, because large lists mention a machine a thousand times.
func (c *call) attached(m *machine) *wire.Machine {
	if view, found := c.machines[m]; found {
		return view
	}
	if c.machines == nil {
		c.machines = map[*machine]*wire.Machine{}
	}
	view := &wire.Machine{
		Identity: m.Identity, Name: m.Name, Slug: m.Slug, CreatedAt: m.CreatedAt,
		State:  m.state(c.now),
		Status: wire.ResourceStatus{Status: m.status(c.now), LastTransitionTime: m.transition(m.CreatedAt, c.now)},
	}
	c.machines[m] = view
	return view
}

func (m *machine) view(now time.Time) wire.Machine {
	home := m.subnet
	updated := m.UpdatedAt
	view := wire.Machine{
		Identity: m.Identity, Name: m.Name, Slug: m.Slug, Description: m.Description,
		CreatedAt: m.CreatedAt, UpdatedAt: &updated, Labels: m.Labels, Annotations: m.Annotations,
		State: m.state(now), CloudInit: m.cloudInit, DeleteProtection: m.deleteProtection,
		Organisation: home.vpc.org.short(), MachineType: &m.kind.MachineType,
		VPC: home.vpc.short(), Subnet: home.short(),
		Status:     wire.ResourceStatus{Status: m.status(now), LastTransitionTime: m.transition(m.CreatedAt, now)},
		Region:     home.vpc.region.Slug,
		Interfaces: m.interfaces(), AvailabilityZone: m.zone, PersistentVolume: m.rootVolume,
		SecurityGroups: securityGroupViews(m.securityGroups, now),
	}
	for _, g := range m.securityGroups {
		view.SecurityGroupAttachments = append(view.SecurityGroupAttachments, g.Identity)
	}
	if m.image != nil {
		view.MachineImage = &m.image.MachineImage
	}
	return view
}

func (m *machine) interfaces() []wire.Interface {
	if len(m.addresses) == 0 {
		return nil
	}
	return []wire.Interface{{
		Name: "default", MACAddress: macAddress(m.addresses[0]), IPAddresses: texts(m.addresses),
	}}
}

// macAddress is a locally administered address that is unique in the VPC.
func macAddress(addr netip.Addr) string {
	b := addr.As16()
	return fmt.Sprintf("52:54:%02x:%02x:%02x:%02x", b[12], b[13], b[14], b[15])
}

func (c *call) machine() (*machine, error) {
	m, found := c.org.machines.find(c.PathValue("id"))
	if !found {
		return nil, notFound("machine", c.PathValue("id"))
	}
	return m, nil
}

func (c *call) wantedMachine() (*machine, error) {
	m, err := c.machine()
	if err == nil && !m.wanted() {
		err = conflict("machine %q is being deleted", m.Identity)
	}
	return m, err
}

func (m *machine) traits(now time.Time) traits {
	return m.meta.traits().reference("machine", &m.meta).reference("subnet", &m.subnet.meta).
		reference("vpc", &m.subnet.vpc.meta).reference("region", &m.subnet.vpc.region.meta).
		with("zone", m.zone).with("status", m.status(now), m.state(now))
}

func (e *Emulator) listMachines(c *call) (reply, error) {
	views := []wire.Machine{}
	for m := range c.org.machines.all() {
		if c.filter.matches(m.Labels, func() traits { return m.traits(c.now) }) {
			views = append(views, m.view(c.now))
		}
	}
	return many(views), nil
}

func (e *Emulator) getMachine(c *call) (reply, error) {
	m, err := c.machine()
	if err != nil {
		return reply{}, err
	}
	return one(m.view(c.now)), nil
}

func (e *Emulator) createMachine(c *call) (reply, error) {
	in, err := decode[wire.CreateMachine](c)
	if err != nil {
		return reply{}, err
	}
	described := spec{name: in.Name, description: in.Description, labels: in.Labels, annotations: in.Annotations}
	if err := checkNew(e, &c.org.machines, "machine", described); err != nil {
		return reply{}, err
	}
	if in.Subnet == "" || in.MachineType == "" {
		return reply{}, invalid("fields \"subnet\" and \"machineType\" are required")
	}
	var parts installation
	if err := parts.read(c, in); err != nil {
		return reply{}, err
	}
	stopped, err := stoppedState(in.State, false)
	if err != nil {
		return reply{}, err
	}
	if err := c.org.admit(quotaMachines); err != nil {
		return reply{}, err
	}
	m, err := c.org.seedMachine(seed.Machine{
		Name: in.Name, Labels: in.Labels, Annotations: in.Annotations, Subnet: in.Subnet,
		Type: in.MachineType, Zone: kept(in.AvailabilityZone, ""), Stopped: stopped,
		SecurityGroups: in.SecurityGroupAttachments,
	}, c.now)
	if _, refused := errors.AsType[*problem](err); err != nil && !refused {
		err = invalid("creating machine %q: %v", in.Name, err)
	}
	if err != nil {
		return reply{}, err
	}
	m.Description, m.deleteProtection = in.Description, in.DeleteProtection
	m.image, m.cloudInit, m.rootVolume = parts.image, parts.cloudInit, parts.rootVolume
	m.readyAt = c.now.Add(e.delays.MachineCreate)
	return created(m.Identity, m.view(c.now)), nil
}

// stoppedState reads the power state that a request asks for.
func stoppedState(state *string, current bool) (bool, error) {
	switch {
	case state == nil:
		return current, nil
	case *state == stateRunning:
		return false, nil
	case *state == stateStopped:
		return true, nil
	}
	return current, invalid("field \"state\" must be running or stopped, not %q", *state)
}

func (e *Emulator) updateMachine(c *call) (reply, error) {
	m, err := c.wantedMachine()
	if err != nil {
		return reply{}, err
	}
	in, err := decode[wire.UpdateMachine](c)
	if err != nil {
		return reply{}, err
	}
	next := *m
	if err := next.configure(c.org.store, in); err != nil {
		return reply{}, err
	}
	if err := next.describe(e.rules(), in.Name, in.Description, in.Labels, in.Annotations, c.now); err != nil {
		return reply{}, err
	}
	if err := checkUnique(e, &c.org.machines, "machine", next.Name, m.Identity); err != nil {
		return reply{}, err
	}
	groups, err := c.attachments(e.rules(), in.SecurityGroupAttachments, m.securityGroups, m.subnet.vpc)
	if err != nil {
		return reply{}, err
	}
	if err := next.move(c.org, in.Subnet); err != nil {
		return reply{}, err
	}
	m.subnet.users.remove("machine", m.Identity)
	*m = next
	m.subnet.users.add("machine", m.Identity)
	m.securityGroups = reattach("machine", m.Identity, m.securityGroups, groups)
	c.org.reselect(m, c.now)
	c.org.machineChanged(m)
	return changed(m.Identity, m.view(c.now)), nil
}

// configure applies the settings that are unchanged when absent.
func (m *machine) configure(s *store, in wire.UpdateMachine) error {
	stopped, err := stoppedState(in.State, m.stopped)
	if err != nil {
		return err
	}
	m.power(stopped)
	m.deleteProtection = kept(in.DeleteProtection, m.deleteProtection)
	if in.MachineType != nil {
		if m.kind, err = s.machineTypeFor(*in.MachineType); err != nil {
			return invalid("field \"machineType\": %v", err)
		}
	}
	if in.AvailabilityZone != nil {
		if m.zone, err = m.subnet.vpc.region.zoneFor(*in.AvailabilityZone); err != nil {
			return invalid("field \"availabilityZone\": %v", err)
		}
	}
	return nil
}

// move gives the machine an address in another subnet of its VPC.
func (m *machine) move(o *organisation, ref *string) error {
	if ref == nil {
		return nil
	}
	home, err := referred(&o.subnets, "subnet", "subnet", *ref)
	switch {
	case err != nil:
		return err
	case home.vpc != m.subnet.vpc:
		return invalid("field \"subnet\": subnet %q is in another VPC than the machine", *ref)
	case home == m.subnet:
		return nil
	}
	addrs, err := takeAddresses(home.pools)
	if err != nil {
		return conflict("moving machine %q: %v", m.Identity, err)
	}
	releaseAddresses(m.subnet.pools, m.addresses)
	m.subnet, m.addresses = home, addrs
	return nil
}

func (e *Emulator) deleteMachine(c *call) (reply, error) {
	m, err := c.machine()
	if err != nil {
		return reply{}, err
	}
	if m.deleteProtection {
		return reply{}, conflict("machine %q is protected from deletion; switch deleteProtection off first", m.Identity)
	}
	e.removeMachine(c.org, m, c.now)
	return done(m.Identity), nil
}

// removeMachine starts the deletion of a machine.
func (e *Emulator) removeMachine(o *organisation, m *machine, now time.Time) {
	if !m.wanted() {
		return
	}
	m.remove(now, e.delays.MachineDelete, e.delays.MachineLinger)
	m.touch(now)
	o.machineChanged(m)
	if !e.switches.KeepDeletedMachines {
		for g := range m.groups {
			if a, found := g.attachments.find(m.Identity); found {
				g.detach(a)
			}
		}
	}
	o.leave(&m.life, func() {
		releaseAddresses(m.subnet.pools, m.addresses)
		m.securityGroups = reattach("machine", m.Identity, m.securityGroups, nil)
		m.subnet.users.remove("machine", m.Identity)
		o.machines.remove(m)
	})
	o.sweep(now)
}

func (e *Emulator) startMachine(c *call) (reply, error) { return c.power(false) }
func (e *Emulator) stopMachine(c *call) (reply, error)  { return c.power(true) }

// restartMachine starts a machine that is stopped.
func (e *Emulator) restartMachine(c *call) (reply, error) {
	m, err := c.wantedMachine()
	if err == nil {
		m.power(true)
	}
	return c.power(false)
}

func (c *call) power(stop bool) (reply, error) {
	m, err := c.wantedMachine()
	if err != nil {
		return reply{}, err
	}
	c.org.switchMachine(m, stop, c.now)
	return done(m.Identity), nil
}

// power switches the machine on or off.
func (m *machine) power(stop bool) {
	if m.stopped && !stop {
		m.boots++
	}
	m.stopped = stop
}

func (o *organisation) switchMachine(m *machine, stop bool, now time.Time) {
	m.power(stop)
	m.touch(now)
	o.machineChanged(m)
}

// machineChanged records that the traffic to a machine changed.
func (o *organisation) machineChanged(m *machine) {
	for g := range m.groups {
		o.groupChanged(g)
	}
}
