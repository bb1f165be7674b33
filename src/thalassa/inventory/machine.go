package inventory

import (
	"context"
	"strings"
	"time"

	"github.com/thalassa-cloud/client-go/iaas"
)

// primaryInterface is the network interface whose addresses become the node's; the existing CCM reads no other.
const primaryInterface = "default"

// Machine is a server.
type Machine struct {
	ID        string
	Slug      string // matches the name of the node that runs on it
	Type      string // slug of the machine type
	Zone      string // slug of the availability zone
	State     string // running, stopped, deleting or deleted
	Addresses []string
	Labels    Labels // those that the scope wants
}

// Stopped says that the server exists but does not run, or is being deleted, from which it does not come back.
func (m Machine) Stopped() bool {
	return m.State == string(iaas.MachineStateStopped) || m.State == string(iaas.MachineStateDeleting)
}

// Gone says that the server is deleted, although the cloud still shows it for a while.
func (m Machine) Gone() bool {
	return m.State == string(iaas.MachineStateDeleted)
}

// Machines returns all machines of the VPC, sorted by identity, from a list at most maxAge old, which it shares with
// all who read machines.
func (i *Inventory) Machines(ctx context.Context, maxAge time.Duration) ([]Machine, error) {
	return i.machines.all(ctx, maxAge)
}

func (m Machine) keys() []string { return []string{slugKey(m.Slug)} }

// slugKey keeps slugs and identities apart in the index: one machine's slug may be another's identity.
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

// labelledItem is one of which labels are needed, too. Without that they are not even decoded: they may be most of it.
type labelledItem struct {
	machineItem
	Labels Labels `json:"labels"`
}

func (m machineItem) identity() string { return m.Identity }

func (m machineItem) object() Machine {
	machine := Machine{ID: m.Identity, Slug: m.Slug, State: strings.ToLower(m.State), Type: m.MachineType.Slug,
		Zone: m.Zone}
	// One that is said to be deleted only by its status still has a state of its own, so it is not known to be gone.
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
