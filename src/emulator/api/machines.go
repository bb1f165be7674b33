package api

import (
	"errors"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/seed"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/state"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// attached is the machine inside an attachment: what identifies it. It is made
// once per request, because large lists contain a machine a thousand times.
func (c *call) attached(m *state.Machine) *wire.Machine {
	if view, found := c.machines[m]; found {
		return view
	}
	if c.machines == nil {
		c.machines = map[*state.Machine]*wire.Machine{}
	}
	view := m.Short(c.now)
	c.machines[m] = view
	return view
}

func (c *call) machine() (*state.Machine, error) {
	m, found := c.org.Machines.Find(c.PathValue("id"))
	if !found {
		return nil, apierror.NotFound("machine", c.PathValue("id"))
	}
	return m, nil
}

func (c *call) writableMachine() (*state.Machine, error) {
	m, err := c.machine()
	if err == nil && !m.Active() {
		err = apierror.Conflict("machine %q is being deleted", m.Identity)
	}
	return m, err
}

func (srv *Server) listMachines(c *call) (reply, error) {
	views := []wire.Machine{}
	for m := range c.org.Machines.All() {
		if c.filter.Matches(m.Labels, func() object.Traits { return m.Traits(c.now) }) {
			views = append(views, m.View(c.now))
		}
	}
	return many(views), nil
}

func (srv *Server) getMachine(c *call) (reply, error) {
	m, err := c.machine()
	if err != nil {
		return reply{}, err
	}
	return one(m.View(c.now)), nil
}

// refuseConsole does not invent a console. With the data plane netns, programs run on the machine of the emulator,
// whose shell is no machine's.
func (srv *Server) refuseConsole(c *call) (reply, error) {
	m, err := c.machine()
	if err != nil {
		return reply{}, err
	}
	return reply{}, apierror.Unserved("machine %q has no console, because the emulator runs no operating system in it",
		m.Identity)
}

func (srv *Server) createMachine(c *call) (reply, error) {
	in, err := decode[wire.CreateMachine](c)
	if err != nil {
		return reply{}, err
	}
	described := object.Spec{Name: in.Name, Description: in.Description, Labels: in.Labels, Annotations: in.Annotations}
	if err := checkNew(srv, &c.org.Machines, "machine", described); err != nil {
		return reply{}, err
	}
	if in.Subnet == "" || in.MachineType == "" {
		return reply{}, apierror.Invalid("fields \"subnet\" and \"machineType\" are required")
	}
	var parts installation
	if err := parts.read(c, in); err != nil {
		return reply{}, err
	}
	stopped, err := state.StoppedState(in.State, false)
	if err != nil {
		return reply{}, err
	}
	if err := c.org.Admit(state.QuotaMachines); err != nil {
		return reply{}, err
	}
	m, err := c.org.AddMachine(seed.Machine{
		Name: in.Name, Labels: in.Labels, Annotations: in.Annotations, Subnet: in.Subnet,
		Type: in.MachineType, Zone: object.Kept(in.AvailabilityZone, ""), Stopped: stopped,
		SecurityGroups: in.SecurityGroupAttachments,
	}, c.now)
	if _, refused := errors.AsType[*apierror.Error](err); err != nil && !refused {
		err = apierror.Invalid("creating machine %q: %v", in.Name, err)
	}
	if err != nil {
		return reply{}, err
	}
	m.Description, m.DeleteProtection = in.Description, in.DeleteProtection
	m.Image, m.CloudInit = parts.image, parts.cloudInit
	m.ReadyAt = c.now.Add(srv.delays.MachineCreate)
	parts.root.attach(c, m)
	return created(m.Identity, m.View(c.now)), nil
}

func (srv *Server) updateMachine(c *call) (reply, error) {
	m, err := c.writableMachine()
	if err != nil {
		return reply{}, err
	}
	in, err := decode[wire.UpdateMachine](c)
	if err != nil {
		return reply{}, err
	}
	next := *m
	if err := next.Configure(c.org.Store, in); err != nil {
		return reply{}, err
	}
	if err := next.Describe(srv.rules(), in.Name, in.Description, in.Labels, in.Annotations, c.now); err != nil {
		return reply{}, err
	}
	if err := checkUnique(srv, &c.org.Machines, "machine", next.Name, m.Identity); err != nil {
		return reply{}, err
	}
	groups, err := c.attachments(srv.rules(), in.SecurityGroupAttachments, m.SecurityGroups, m.Subnet.VPC)
	if err != nil {
		return reply{}, err
	}
	if err := next.Move(c.org, in.Subnet); err != nil {
		return reply{}, err
	}
	m.Subnet.Users.Remove("machine", m.Identity)
	*m = next
	m.Subnet.Users.Add("machine", m.Identity)
	m.SecurityGroups = state.Reattach("machine", m.Identity, m.SecurityGroups, groups)
	c.org.Reselect(m, c.now)
	c.org.MachineChanged(m)
	return changed(m.Identity, m.View(c.now)), nil
}

func (srv *Server) deleteMachine(c *call) (reply, error) {
	m, err := c.machine()
	if err != nil {
		return reply{}, err
	}
	if m.DeleteProtection {
		return reply{}, apierror.Conflict("machine %q is protected from deletion; switch deleteProtection off first",
			m.Identity)
	}
	srv.RemoveMachine(c.org, m, c.now)
	return done(m.Identity), nil
}

// RemoveMachine starts the deletion of a machine.
func (srv *Server) RemoveMachine(o *state.Organisation, m *state.Machine, now time.Time) {
	if !m.Active() {
		return
	}
	m.Remove(now, srv.delays.MachineDelete, srv.delays.MachineLinger)
	m.Touch(now)
	o.MachineChanged(m)
	if !srv.switches.KeepDeletedMachines {
		for g := range m.Groups {
			if a, found := g.Attachments.Find(m.Identity); found {
				g.Detach(a)
			}
		}
	}
	srv.releaseVolumes(m, now)
	m.Depart()
	o.FinishDeletions(now)
}

func (srv *Server) startMachine(c *call) (reply, error) { return c.power(false) }

func (srv *Server) stopMachine(c *call) (reply, error) { return c.power(true) }

// restartMachine starts a machine that is stopped.
func (srv *Server) restartMachine(c *call) (reply, error) {
	m, err := c.writableMachine()
	if err == nil {
		m.Power(true)
	}
	return c.power(false)
}

func (c *call) power(stop bool) (reply, error) {
	m, err := c.writableMachine()
	if err != nil {
		return reply{}, err
	}
	c.org.SwitchMachine(m, stop, c.now)
	return done(m.Identity), nil
}

// installation is what a new machine is made from.
type installation struct {
	image     *state.Image
	cloudInit *string
	root      rootVolume
}

// read finds and checks what a request refers to.
func (p *installation) read(c *call, in wire.CreateMachine) error {
	var err error
	if p.image, err = c.org.Store.ImageFor(in.MachineImage); err != nil {
		return err
	}
	if err := p.readCloudInit(c, in); err != nil {
		return err
	}
	p.root, err = c.rootVolume(in, p.image)
	return err
}

// readCloudInit takes the text of the request, or a copy of a template's.
func (p *installation) readCloudInit(c *call, in wire.CreateMachine) error {
	switch {
	case in.CloudInit != "" && in.CloudInitRef != "":
		return apierror.Invalid("fields \"cloudInit\" and \"cloudInitRef\" exclude each other")
	case in.CloudInit != "":
		p.cloudInit = &in.CloudInit
	case in.CloudInitRef != "":
		template, found := c.org.CloudInits.Find(in.CloudInitRef)
		if !found {
			return apierror.Invalid("field \"cloudInitRef\": cloud-init template %q not found", in.CloudInitRef)
		}
		p.cloudInit = &template.Content
	}
	return nil
}
