package machine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/event"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/inventory"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/providerid"
)

// named describes what a machine must have to be found by the name of a Node. No slug has a dot.
func named(node string) string {
	if strings.Contains(node, ".") {
		return "name " + node
	}
	return "slug " + node
}

// noMachineNamed returns the problem that no machine has the Node's name; it names another VPC that has such a machine,
// or machines with a similar name.
func (i *Provider) noMachineNamed(ctx context.Context, name string) error {
	if vpc := i.inventory.VPCOfName(ctx, name); vpc != "" {
		return i.otherVPCProblem("the machine with the "+named(name), vpc)
	}
	advice := "Give the machine the name of this Node, or set spec.providerID of this Node to " + anyProviderID()
	switch similar := i.similar(ctx, name); {
	case len(similar) == 1:
		advice = fmt.Sprintf("Machine %s has the similar %s. If this Node runs on it, give it exactly the name of "+
			"this Node, or set spec.providerID of this Node to %s", similar[0].ID, ownName(similar[0]),
			providerid.Of(similar[0].ID))
	case len(similar) > 1:
		var texts []string
		for _, machine := range similar {
			texts = append(texts, fmt.Sprintf("%s (%s)", machine.ID, ownName(machine)))
		}
		advice = fmt.Sprintf("These machines have similar names: %s. If this Node runs on one of them, give it "+
			"exactly the name of this Node, or set spec.providerID of this Node to %s", event.Names(texts),
			anyProviderID())
	}
	return &cloud.MachineProblem{Reason: cloud.MachineNotFound,
		Message: fmt.Sprintf("VPC %s has no machine with the %s. %s.", i.config.VPCIdentity, named(name), advice)}
}

// ownName describes the name by which a machine is found.
func ownName(machine inventory.Machine) string {
	if machine.Name != "" {
		return "name " + machine.Name
	}
	return "slug " + machine.Slug
}

// similar returns the machines whose name begins like that of a Node, up to the first dot, or has the same letters. It
// is a hint for a message, so errors are ignored.
func (i *Provider) similar(ctx context.Context, node string) []inventory.Machine {
	machines, err := i.inventory.Machines(ctx, i.config.Inventory.MaxMachineAge())
	if err != nil {
		return nil
	}
	host := hostOf(node)
	names := []string{host, strings.ReplaceAll(node, ".", "-")}
	return slices.DeleteFunc(slices.Clone(machines), func(machine inventory.Machine) bool {
		return isBeingDeleted(machine) || !slices.Contains(names, machine.Slug) && hostOf(machine.Name) != host
	})
}

// hostOf returns the part of a name before the first dot, in lower case as in the names of Nodes.
func hostOf(name string) string {
	host, _, _ := strings.Cut(strings.ToLower(name), ".")
	return host
}
