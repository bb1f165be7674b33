package inventory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/thalassa-cloud/client-go/filters"
	"github.com/thalassa-cloud/client-go/iaas"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/store"
)

// primaryInterface is the network interface whose addresses the node gets, as in the existing CCM.
const primaryInterface = "default"

// Machine is a virtual machine.
type Machine struct {
	ID        string
	Slug      string // matches the name of the node that runs on it
	Name      string // matches it, too, if it has a dot, which no slug has; "" if it has none
	Type      string // slug of the machine type
	Zone      string // slug of the availability zone
	State     string // running, stopped, deleting or deleted
	Addresses []string
	Labels    resource.Labels // labels with a prefix of the scope
}

// Stopped reports whether the machine exists but does not run, or is being deleted.
func (m Machine) Stopped() bool {
	return m.State == string(iaas.MachineStateStopped) || m.State == string(iaas.MachineStateDeleting)
}

// Gone reports whether the machine is deleted, although the cloud still returns it for some time.
func (m Machine) Gone() bool {
	return m.State == string(iaas.MachineStateDeleted)
}

// IsNamed reports whether the machine has the name of a node, as its slug or exactly.
func (m Machine) IsNamed(node string) bool { return node != "" && (m.Slug == node || m.Name == node) }

func (m Machine) keys() []string {
	if m.Name == "" || m.Name == m.Slug {
		return []string{slugKey(m.Slug)}
	}
	return []string{slugKey(m.Slug), slugKey(m.Name)}
}

// slugKey separates slugs from identities in the index: one machine's slug may be another's identity.
func slugKey(slug string) string { return "slug/" + slug }

// Machines returns all machines of the VPC, sorted by identity, from a list at most maxAge old.
func (i *Inventory) Machines(ctx context.Context, maxAge time.Duration) ([]Machine, error) {
	return i.machines.All(ctx, maxAge)
}

// absentAge is the maximum age of the list that shows that a machine does not exist, so that a new one is found within
// seconds. All nodes without a machine together cause at most one list in this time.
const absentAge = 2 * time.Second

// MachineByID returns the machine with the identity from a list at most maxAge old. "Not found" comes from a list that
// is at most absentAge old.
func (i *Inventory) MachineByID(ctx context.Context, id string,
	maxAge time.Duration) (m Machine, found bool, err error) {
	return first(i.findMachines(ctx, id, maxAge, time.Now().Add(-absentAge)))
}

// MachinesByName returns all machines of the VPC that have the name of a node, in the same way, and from a list that
// began at or after notBefore. The caller handles several machines.
func (i *Inventory) MachinesByName(ctx context.Context, node string, maxAge time.Duration,
	notBefore time.Time) ([]Machine, error) {
	if err := i.machinesListedSince(ctx, notBefore); err != nil {
		return nil, err
	}
	return i.findMachines(ctx, slugKey(node), maxAge, time.Now().Add(-absentAge))
}

// findMachines returns the machines with the key from a list at most maxAge old. That there is none comes from a list
// that began at or after notBefore.
func (i *Inventory) findMachines(ctx context.Context, key string, maxAge time.Duration,
	notBefore time.Time) ([]Machine, error) {
	machines, err := i.machines.Find(ctx, key, maxAge)
	if err == nil && len(machines) == 0 {
		machines, err = i.machines.Find(ctx, key, min(time.Since(notBefore), maxAge))
	}
	return machines, err
}

func first(machines []Machine, err error) (m Machine, found bool, _ error) {
	if err != nil || len(machines) == 0 {
		return Machine{}, false, err
	}
	return machines[0], true, nil
}

// newNodeInterval is the minimum interval of lists for new nodes. Otherwise each node that joins would cause a list of
// its own.
const newNodeInterval = time.Second

// machinesListedSince waits for a list of machines that began at or after a time, so that it contains no machine that
// was deleted before; the zero time is any. All callers together cause at most one list a second.
func (i *Inventory) machinesListedSince(ctx context.Context, notBefore time.Time) error {
	for {
		made := i.machines.CopyTime()
		if !made.Before(notBefore) {
			return nil
		}
		select {
		case <-time.After(newNodeInterval - time.Since(made)):
		case <-ctx.Done():
			return fmt.Errorf("waiting until machines are listed again: %w", context.Cause(ctx))
		}
		if err := i.machines.WaitForNewer(ctx, made); err != nil {
			return err
		}
	}
}

// MachineSince returns the machine with the identity from a list at most maxAge old. "Not found" comes only from a
// complete list that began at or after notBefore; the zero time is any.
func (i *Inventory) MachineSince(ctx context.Context, id string, maxAge time.Duration,
	notBefore time.Time) (m Machine, found bool, err error) {
	return first(i.findMachines(ctx, id, maxAge, notBefore))
}

// ListedWithName returns the machines that have the name of a node from a list at most maxAge old. It causes no other
// list if there is none.
func (i *Inventory) ListedWithName(ctx context.Context, node string, maxAge time.Duration) ([]Machine, error) {
	return i.machines.Find(ctx, slugKey(node), maxAge)
}

// ErrOtherVPC says that the machine exists in another VPC.
var ErrOtherVPC = errors.New("it is in another VPC")

// RequestMachine requests one machine by its identity; it does not use lists. The error for a machine in another VPC is
// ErrOtherVPC.
func (i *Inventory) RequestMachine(ctx context.Context, id string) (m Machine, found bool, err error) {
	item, exists, err := store.GetOne(ctx, i.cloud, iaas.MachineEndpoint, id, func(m machineItem) (machineItem, bool) {
		return m, true
	})
	if err != nil || !exists {
		return Machine{}, false, err
	}
	m = item.object()
	switch {
	case m.Gone():
		return m, false, nil
	case item.VPC.Identity == "":
		return Machine{}, false, fmt.Errorf("machine %s: %w: the answer contains no VPC; it is retried "+
			"automatically; if the problem persists, ask the cloud's support", id, client.ErrMalformed)
	case item.VPC.Identity != i.vpc:
		return Machine{}, false,
			fmt.Errorf("machine %s of VPC %s: %w, %s; set vpcIdentity in the cloud-config to the VPC of the "+
				"cluster's machines", id, i.vpc, ErrOtherVPC, item.VPC.Identity)
	}
	return m, true, nil
}

// MachineAddresses returns the addresses of all network interfaces of all machines in the VPC, from a list that begins
// now and is not stored.
func (i *Inventory) MachineAddresses(ctx context.Context) (map[netip.Addr]bool, error) {
	all, err := client.List(ctx, i.cloud, iaas.MachineEndpoint, []filters.Filter{i.inVPC()},
		func(m machineItem) (machineItem, bool) {
			return m, !m.object().Gone()
		})
	if err != nil {
		return nil, fmt.Errorf("listing the addresses of machines: %w", err)
	}
	found := map[netip.Addr]bool{}
	for _, machine := range all {
		for _, network := range machine.Interfaces {
			for _, text := range network.Addresses {
				if address, err := netip.ParseAddr(text); err == nil {
					found[address.Unmap()] = true
				}
			}
		}
	}
	return found, nil
}

func (i *Inventory) listMachines(ctx context.Context) ([]Machine, error) {
	asked := []filters.Filter{i.inVPC()} // the cloud may ignore a filter, so it is applied again here
	return client.Relist(ctx, i.cloud, &i.latest.machines, iaas.MachineEndpoint, asked, i.machineInVPC)
}

// getMachine requests one machine; exists is false if it is not in the VPC, or deleted. A failed request is not
// repeated for some seconds.
func (i *Inventory) getMachine(ctx context.Context, id string) (machine Machine, exists bool, err error) {
	if err, unanswered := i.unansweredMachines.Get(id); unanswered {
		return Machine{}, false, err
	}
	machine, exists, err = store.GetOne(ctx, i.cloud, iaas.MachineEndpoint, id, i.machineInVPC)
	if err != nil && ctx.Err() == nil {
		i.unansweredMachines.Put(id, err)
	}
	return machine, exists, err
}

// machineInVPC reports whether it is in the VPC and exists.
func (i *Inventory) machineInVPC(m machineItem) (Machine, bool) {
	machine := m.object()
	maps.DeleteFunc(m.Labels, func(key, _ string) bool {
		return !slices.ContainsFunc(i.prefixes, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
	})
	if len(m.Labels) > 0 {
		machine.Labels = m.Labels
	}
	return machine, m.VPC.Identity == i.vpc && !machine.Gone()
}

// machineItem is as much of the API's machine as is needed.
type machineItem struct {
	reference
	Name        string          `json:"name"`
	Slug        string          `json:"slug"`
	State       string          `json:"state"`
	VPC         reference       `json:"vpc"`
	Zone        string          `json:"availabilityZone"`
	Labels      resource.Labels `json:"labels"`
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

func (m machineItem) object() Machine {
	machine := Machine{ID: m.Identity, Slug: m.Slug, State: strings.ToLower(m.State), Type: m.MachineType.Slug,
		Zone: m.Zone}
	if strings.Contains(m.Name, ".") {
		machine.Name = m.Name
	}
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
