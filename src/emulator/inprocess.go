package emulator

import (
	"fmt"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/seed"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/state"
)

// AddMachine adds a machine that is ready at once, and returns its identity.
func (e *Emulator) AddMachine(spec seed.Machine) (string, error) {
	identities, err := e.addMachines(spec)
	if err != nil {
		return "", err
	}
	return identities[0], nil
}

// AddMachines adds n machines named machine-00001 and so on, as far as these names are free, to the first subnet,
// spread over the zones of its region, and returns their identities.
func (e *Emulator) AddMachines(n int) ([]string, error) {
	if n == 0 {
		return nil, nil
	}
	specs, err := e.synthetic(n)
	if err != nil {
		return nil, err
	}
	return e.addMachines(specs...)
}

func (e *Emulator) synthetic(n int) ([]seed.Machine, error) {
	e.api.Store.Lock()
	defer e.api.Store.Unlock()
	home, err := e.api.Store.FindSubnet("")
	if err != nil {
		return nil, err
	}
	zones := home.VPC.Region.Zones
	machines := &home.VPC.Org.Machines
	var specs []seed.Machine
	for number := machines.Len() + 1; len(specs) < n; number++ {
		name := fmt.Sprintf("machine-%05d", number)
		if machines.HasSlug(name) {
			continue
		}
		specs = append(specs, seed.Machine{Name: name, Zone: zones[len(specs)%len(zones)].Slug, Subnet: home.Identity})
	}
	return specs, nil
}

func (e *Emulator) addMachines(specs ...seed.Machine) ([]string, error) {
	defer e.flush()
	e.api.Store.Lock()
	defer e.api.Store.Unlock()
	now := time.Now()
	e.api.ApplyDue(now)
	defer e.api.Snapshot(now)
	var identities []string
	for _, spec := range specs {
		home, err := e.api.Store.FindSubnet(spec.Subnet)
		if err != nil {
			return identities, fmt.Errorf("adding machine %q: %w", spec.Name, err)
		}
		spec.Subnet = home.Identity
		m, err := home.VPC.Org.SeedMachine(spec, now)
		if err != nil {
			return identities, fmt.Errorf("adding machine %q: %w", spec.Name, err)
		}
		identities = append(identities, m.Identity)
	}
	return identities, nil
}

// DeleteMachine deletes a machine, named by identity or slug, as DELETE does.
func (e *Emulator) DeleteMachine(ref string) error {
	return e.onMachine("deleting", ref, func(o *state.Organisation, m *state.Machine, now time.Time) {
		e.api.RemoveMachine(o, m, now)
	})
}

// StopMachine switches a machine off.
func (e *Emulator) StopMachine(ref string) error {
	return e.onMachine("stopping", ref, func(o *state.Organisation, m *state.Machine, now time.Time) {
		o.SwitchMachine(m, true, now)
	})
}

// StartMachine switches a machine on.
func (e *Emulator) StartMachine(ref string) error {
	return e.onMachine("starting", ref, func(o *state.Organisation, m *state.Machine, now time.Time) {
		o.SwitchMachine(m, false, now)
	})
}

func (e *Emulator) onMachine(doing, ref string, act func(*state.Organisation, *state.Machine, time.Time)) error {
	return e.api.Override(func(now time.Time) error {
		m, err := e.api.Store.FindMachine(ref)
		if err != nil {
			return fmt.Errorf("%s machine: %w", doing, err)
		}
		act(m.Subnet.VPC.Org, m, now)
		return nil
	})
}
