package inventory

import (
	"context"
	"strings"
	"time"

	"github.com/thalassa-cloud/client-go/iaas"
)

// primaryInterface is the network interface whose addresses the node gets, as in the existing CCM.
const primaryInterface = "default"

// Machine is a virtual machine.
type Machine struct {
	ID        string
	Slug      string // matches the name of the node that runs on it
	Type      string // slug of the machine type
	Zone      string // slug of the availability zone
	State     string // running, stopped, deleting or deleted
	Addresses []string
	Labels    Labels // labels with a prefix of the scope
}

// Stopped reports whether the machine exists but does not run, or is being deleted.
func (m Machine) Stopped() bool {
	return m.State == string(iaas.MachineStateStopped) || m.State == string(iaas.MachineStateDeleting)
}

// Gone reports whether the machine is deleted, although the cloud still returns it for some time.
func (m Machine) Gone() bool {
	return m.State == string(iaas.MachineStateDeleted)
}

// Machines returns all machines of the VPC, sorted by identity, from a list at most maxAge old.
func (i *Inventory) Machines(ctx context.Context, maxAge time.Duration) ([]Machine, error) {
	return i.machines.all(ctx, maxAge)
}

func (m Machine) keys() []string { return []string{slugKey(m.Slug)} }

// slugKey separates slugs from identities in the index: one machine's slug may be another's identity.
func slugKey(slug string) string { return "slug/" + slug }

// machineItem is as much of the API's machine as is needed.
type machineItem struct {
	Identity    string    `json:"identity"`
	Slug        string    `json:"slug"`
	State       string    `json:"state"`
	VPC         reference `json:"vpc"`
	Zone        string    `json:"availabilityZone"`
	MachineType struct {
		Slug string `json:"slug"`
	} `json:"machineType"`
	Interfaces []struct {
		Name      string   `json:"name"`
		Addresses []string `json:"ipAddresses"`
	} `json:"interfaces"`
	Status struct {
		Status string `json:"status"`
	} `json:"status"`
}

// labelledItem is an item with labels. They are decoded only if they are needed, because they may be the largest part.
type labelledItem struct {
	machineItem
	Labels Labels `json:"labels"`
}

func (m machineItem) identity() string { return m.Identity }

func (m machineItem) object() Machine {
	machine := Machine{ID: m.Identity, Slug: m.Slug, State: strings.ToLower(m.State), Type: m.MachineType.Slug,
		Zone: m.Zone}
	// If only the status says that the machine is deleted, its state differs, so it is not certain that the machine is
	// gone.
	if strings.EqualFold(m.Status.Status, string(iaas.MachineStateDeleted)) && !machine.Gone() {
		machine.State = string(iaas.MachineStateDeleting)
	}
	for _, network := range m.Interfaces {
		if network.Name == primaryInterface {
			machine.Addresses = network.Addresses
		}
	}
	return machine
}
