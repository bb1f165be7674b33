package emulator

import (
	"slices"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

func (r *region) view() wire.Region {
	zones := slices.Clone(r.zones)
	for i := range zones {
		zones[i].CloudRegion = &wire.Region{Meta: r.nested(), Zones: []wire.Zone{}}
	}
	return wire.Region{Meta: r.Meta, Zones: zones}
}

// short is the region inside another object: without its zones.
func (r *region) short() *wire.Region {
	return &wire.Region{Meta: r.nested(), Zones: []wire.Zone{}}
}

func (e *Emulator) listRegions(c *call) (reply, error) {
	views := []wire.Region{}
	for r := range e.store.regions.all() {
		// A client that checks its credentials asks for regions by "region".
		if c.filter.matches(r.Labels, func() traits { return r.traits().reference("region", &r.meta) }) {
			views = append(views, r.view())
		}
	}
	return many(views), nil
}

func (e *Emulator) getRegion(c *call) (reply, error) {
	r, found := e.store.regions.find(c.PathValue("id"))
	if !found {
		return reply{}, notFound("region", c.PathValue("id"))
	}
	return one(r.view()), nil
}

func (e *Emulator) listMachineTypes(c *call) (reply, error) {
	views := []wire.MachineType{}
	for t := range e.store.machineTypes.all() {
		of := func() traits { return named(t.Identity, t.Slug, t.Name) }
		if c.filter.matches(nil, of) {
			views = append(views, t.MachineType)
		}
	}
	return many(views), nil
}

func (e *Emulator) listMachineTypeCategories(*call) (reply, error) {
	all := wire.MachineTypeCategory{Name: "General purpose", MachineTypes: []wire.MachineType{}}
	for t := range e.store.machineTypes.all() {
		all.MachineTypes = append(all.MachineTypes, t.MachineType)
	}
	return many([]wire.MachineTypeCategory{all}), nil
}

func (e *Emulator) getMachineType(c *call) (reply, error) {
	t, found := e.store.machineTypes.find(c.PathValue("id"))
	if !found {
		return reply{}, notFound("machine type", c.PathValue("id"))
	}
	return one(t.MachineType), nil
}
