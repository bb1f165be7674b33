package inventory

import (
	"context"
	"fmt"

	"github.com/thalassa-cloud/client-go/iaas"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/store"
)

// MachineType describes the size of machines.
type MachineType struct {
	ID        string `json:"identity"`
	Slug      string `json:"slug"`
	CPUs      int    `json:"vcpus"`
	MemoryMiB int    `json:"ramMb"`
}

// MachineTypeOf returns the machine type with the slug, from a list at most an hour old. "Not found" is at most a
// minute old. A list that was refused is not repeated at once.
func (i *Inventory) MachineTypeOf(ctx context.Context, slug string) (MachineType, bool, error) {
	found, err := i.machineTypes.LookUp(ctx, []string{slugKey(slug)}, vpcAge)
	switch {
	case err != nil:
		return MachineType{}, false, fmt.Errorf("looking up machine type %s: %w", slug, err)
	case len(found) == 0:
		return MachineType{}, false, nil
	}
	return found[0], true, nil
}

func (i *Inventory) newMachineTypes() *store.Store[MachineType] {
	return store.New("machine types", store.WithRefusals(store.RefusalTTL, i.listMachineTypes),
		func(m MachineType) string { return m.ID },
		func(m MachineType) []string { return []string{slugKey(m.Slug)} })
}

func (i *Inventory) listMachineTypes(ctx context.Context) ([]MachineType, error) {
	all, err := client.List(client.Optional(ctx), i.cloud, iaas.MachineTypeEndpoint, nil,
		func(m MachineType) (MachineType, bool) { return m, true })
	return all, store.WithPermission(err, "read machine types")
}
