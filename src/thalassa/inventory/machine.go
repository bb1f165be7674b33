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

// MachineByID returns the machine with the identity; found is false if lists do not contain it. The answer is at most
// maxAge old. "Not found" comes from a list of the last seconds, or from older ones if the machine has been missing for
// long.
func (i *Inventory) MachineByID(ctx context.Context, id string,
	maxAge time.Duration) (m Machine, found bool, err error) {
	machines, err := i.machinesBy(ctx, id, maxAge)
	if err != nil || len(machines) == 0 {
		return Machine{}, false, err
	}
	return machines[0], true, nil
}

// MachinesByName returns all machines of the VPC that have the name of a node, in the same way. The caller handles
// several machines.
func (i *Inventory) MachinesByName(ctx context.Context, node string, maxAge time.Duration) ([]Machine, error) {
	return i.machinesBy(ctx, slugKey(node), maxAge)
}

// machinesBy returns the machines with the key. If there is none, the maximum age of the list grows with the time since
// which it is missing: a new machine is looked up in a list of the last seconds, and one that has been missing for long
// causes no list of its own.
func (i *Inventory) machinesBy(ctx context.Context, key string, maxAge time.Duration) ([]Machine, error) {
	machines, err := i.machines.Find(ctx, key, maxAge)
	since, missing := i.missingMachines.Get(key)
	if !missing {
		since = time.Now()
	}
	if err == nil && len(machines) == 0 {
		age := min(max(time.Since(since)/missingDivisor, minRefreshInterval), MachineAge)
		machines, err = i.machines.Find(ctx, key, age)
	}
	switch {
	case err != nil:
		return nil, err
	case len(machines) > 0:
		i.missingMachines.Remove(key)
	default:
		i.missingMachines.Put(key, since)
	}
	return machines, nil
}

// minRefreshInterval is the minimum interval of lists because of a missing object, so that a node without a machine
// does not list all machines again and again.
const minRefreshInterval = 2 * time.Second

// missingDivisor is the ratio of the time since which a machine is missing to the maximum age of the list.
const missingDivisor = 4

// newNodeInterval is the minimum interval of lists for new nodes. Otherwise each node that joins would cause a list of
// its own.
const newNodeInterval = time.Second

// MachinesListedSince waits for a list of machines that began at or after a time, so that it contains no machine that
// was deleted before; the zero time is any. All callers together cause at most one list a second.
func (i *Inventory) MachinesListedSince(ctx context.Context, notBefore time.Time) error {
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
// complete list that began at or after notBefore.
func (i *Inventory) MachineSince(ctx context.Context, id string, maxAge time.Duration,
	notBefore time.Time) (m Machine, found bool, err error) {
	machines, err := i.listedMachines(ctx, id, maxAge)
	if err == nil && len(machines) == 0 && !notBefore.IsZero() {
		machines, err = i.listedMachines(ctx, id, time.Since(notBefore))
	}
	if err != nil || len(machines) == 0 {
		return Machine{}, false, err
	}
	return machines[0], true, nil
}

// ListedWithName returns the machines that have the name of a node from a list at most maxAge old. It causes no other
// list if there is none.
func (i *Inventory) ListedWithName(ctx context.Context, node string, maxAge time.Duration) ([]Machine, error) {
	return i.listedMachines(ctx, slugKey(node), maxAge)
}

// listedMachines returns the machines with the key from a list at most maxAge old. A list that failed is not repeated
// at once, because thousands of nodes may request it.
func (i *Inventory) listedMachines(ctx context.Context, key string, maxAge time.Duration) ([]Machine, error) {
	if err, failed := i.machineListFailure.Get(""); failed {
		return nil, err
	}
	machines, err := i.machines.Find(ctx, key, maxAge)
	if err != nil && ctx.Err() == nil { // a cancelled caller says nothing about the cloud
		i.machineListFailure.Put("", err)
	}
	return machines, err
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

// TakenAddresses returns the addresses of all network interfaces of all machines in the VPC, from a list that begins
// now and is not stored.
func (i *Inventory) TakenAddresses(ctx context.Context) (map[netip.Addr]bool, error) {
	all, err := client.List(ctx, i.cloud, iaas.MachineEndpoint, []filters.Filter{i.inVPC()},
		func(m machineItem) (machineItem, bool) {
			return m, !m.object().Gone()
		})
	if err != nil {
		return nil, fmt.Errorf("listing the addresses of machines: %w", err)
	}
	taken := map[netip.Addr]bool{}
	for _, machine := range all {
		for _, network := range machine.Interfaces {
			for _, text := range network.Addresses {
				if address, err := netip.ParseAddr(text); err == nil {
					taken[address.Unmap()] = true
				}
			}
		}
	}
	return taken, nil
}

func (i *Inventory) listMachines(ctx context.Context) ([]Machine, error) {
	asked := []filters.Filter{i.inVPC()} // the cloud may ignore a filter, so it is applied again here
	if len(i.prefixes) == 0 {
		return client.Relist(ctx, i.cloud, &i.latest.machines, iaas.MachineEndpoint, asked, i.machineInVPC)
	}
	return client.Relist(ctx, i.cloud, &i.latest.machines, iaas.MachineEndpoint, asked, i.labelledMachineInVPC)
}

// getMachine requests one machine; exists is false if it is not in the VPC, or deleted.
func (i *Inventory) getMachine(ctx context.Context, id string) (machine Machine, exists bool, err error) {
	if len(i.prefixes) == 0 {
		return store.GetOne(ctx, i.cloud, iaas.MachineEndpoint, id, i.machineInVPC)
	}
	return store.GetOne(ctx, i.cloud, iaas.MachineEndpoint, id, i.labelledMachineInVPC)
}

// machineInVPC reports whether it is in the VPC and exists.
func (i *Inventory) machineInVPC(m machineItem) (Machine, bool) {
	machine := m.object()
	return machine, m.VPC.Identity == i.vpc && !machine.Gone()
}

// labelledMachineInVPC is machineInVPC for a machine with labels.
func (i *Inventory) labelledMachineInVPC(m labelledItem) (Machine, bool) {
	machine, here := i.machineInVPC(m.machineItem)
	maps.DeleteFunc(m.Labels, func(key, _ string) bool {
		return !slices.ContainsFunc(i.prefixes, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
	})
	if len(m.Labels) > 0 {
		machine.Labels = m.Labels
	}
	return machine, here
}

// machineItem is as much of the API's machine as is needed.
type machineItem struct {
	reference
	Name        string    `json:"name"`
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
	Labels resource.Labels `json:"labels"`
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

// ForgetFailures permits a list again at once after one that failed, because the cloud answers again.
func (i *Inventory) ForgetFailures() { i.machineListFailure.Remove("") }
