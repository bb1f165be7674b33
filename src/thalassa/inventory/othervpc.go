package inventory

import (
	"context"

	"github.com/thalassa-cloud/client-go/iaas"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
)

// foreignMachine is a machine in another VPC.
type foreignMachine struct{ id, slug, vpc string }

// VPCOfMachine returns the other VPC that contains the machine with the identity, "" if there is none or it is not
// known. It is a hint for messages, from one list of all machines a minute, whatever the number of nodes without one.
func (i *Inventory) VPCOfMachine(ctx context.Context, id string) string { return i.otherVPCOf(ctx, id) }

// VPCOfSlug is VPCOfMachine for a machine with the slug.
func (i *Inventory) VPCOfSlug(ctx context.Context, slug string) string {
	return i.otherVPCOf(ctx, slugKey(slug))
}

func (i *Inventory) otherVPCOf(ctx context.Context, key string) string {
	_ = i.foreignMachines.refresh(ctx, MachineAge) // an older list is better than none
	if found := i.foreignMachines.withAnyKey([]string{key}); len(found) > 0 {
		return found[0].vpc
	}
	return ""
}

// newForeignMachines returns the store of the machines in other VPCs, which is filled when a machine is missing.
func (i *Inventory) newForeignMachines() *store[foreignMachine] {
	list := func(ctx context.Context) ([]foreignMachine, error) {
		return client.List(client.Optional(ctx), i.cloud, iaas.MachineEndpoint, nil,
			func(m machineItem) (foreignMachine, bool) {
				return foreignMachine{m.Identity, m.Slug, m.VPC.Identity}, m.VPC.Identity != i.vpc && !m.object().Gone()
			})
	}
	return newStore("machines of other VPCs", withFailureTTL(MachineAge, list),
		func(m foreignMachine) string { return m.id },
		func(m foreignMachine) []string { return []string{slugKey(m.slug)} })
}
