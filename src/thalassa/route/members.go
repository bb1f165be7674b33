package route

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/inventory"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/providerid"
)

// Members implements cloud.Routes. A kubelet can write any address and provider ID into its Node. Routes of the cluster
// are recognised by their addresses, so only addresses that the cloud reports for the machine count. A Node is
// confirmed if its machine has its name, because a kubelet's credentials are for one name. The data comes from the list
// that the node controllers also use. If machines cannot be listed, the previous data is used.
func (r *Provider) Members(ctx context.Context, nodes []*corev1.Node) ([]cloud.RouteMember, error) {
	var members []cloud.RouteMember
	var ids []string
	for _, node := range nodes {
		if id, err := providerid.Machine(node.Spec.ProviderID); err == nil {
			members, ids = append(members, cloud.RouteMember{Node: node}), append(ids, id)
		}
	}
	if len(members) == 0 {
		return nil, nil
	}
	err := r.refreshMachines(ctx, ids)
	some := false
	for at, id := range ids {
		one, known := r.machines.get(id)
		node := members[at].Node
		members[at] = cloud.RouteMember{Node: node, Known: known, Confirmed: known && one.IsNamed(node.Name),
			Addresses: preferred(node, one.addresses)}
		some = some || known
	}
	if err != nil && some {
		klog.FromContext(ctx).Error(err,
			"The machines of nodes cannot be looked up; for routes their addresses are taken to be as they were")
		err = nil
	}
	return members, err
}

// refreshMachines looks the machines up. A machine that the list lacks and that was never seen may be new, so it is
// requested again.
func (r *Provider) refreshMachines(ctx context.Context, ids []string) error {
	age := r.config.Inventory.MaxMachineAge()
	all, err := r.inventory.Machines(ctx, age)
	if err != nil {
		return err
	}
	found := map[string]inventory.Machine{}
	for _, machine := range all {
		found[machine.ID] = machine
	}
	for _, id := range ids {
		if _, listed := found[id]; listed {
			continue
		}
		if _, known := r.machines.get(id); known {
			continue
		}
		machine, exists, err := r.inventory.MachineByID(ctx, id, age)
		if err != nil {
			return err
		}
		if exists {
			found[id] = machine
		}
	}
	r.machines.update(ids, found)
	return nil
}

// preferred returns the addresses in the order of the Node's addresses, because a kubelet may choose among those of its
// machine.
func preferred(node *corev1.Node, addresses []netip.Addr) []netip.Addr {
	order := cloud.InternalAddresses(node)
	place := func(a netip.Addr) int {
		if at := slices.Index(order, a); at >= 0 {
			return at
		}
		return len(order)
	}
	return slices.SortedStableFunc(slices.Values(addresses), func(a, b netip.Addr) int {
		return cmp.Compare(place(a), place(b))
	})
}

// machineCache contains the machines of nodes as the cloud last reported them: one list without a machine, or without
// its addresses, does not prove that they do not exist. The zero value is ready to use.
type machineCache struct {
	mu       sync.Mutex
	machines map[string]cachedMachine // by identity
}

// cachedMachine is the part of a machine that routes depend on.
type cachedMachine struct {
	inventory.Machine // only its names
	addresses         []netip.Addr
}

// get returns a machine. Known: the cloud has reported it.
func (r *machineCache) get(machine string) (one cachedMachine, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	one, known = r.machines[machine]
	return one, known
}

// update stores what the cloud reports, and drops machines without a node. An address belongs to the machine that has
// it now.
func (r *machineCache) update(wanted []string, found map[string]inventory.Machine) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before, holders := r.machines, map[netip.Addr]bool{}
	shown := map[string]cachedMachine{}
	for id, machine := range found {
		shown[id] = cachedMachine{inventory.Machine{Slug: machine.Slug, Name: machine.Name}, parsed(machine.Addresses)}
		for _, address := range shown[id].addresses {
			holders[address] = true
		}
	}
	r.machines = map[string]cachedMachine{}
	for _, id := range wanted {
		one, seen := shown[id]
		known, was := before[id]
		if was && len(one.addresses) == 0 {
			if one.Slug == "" {
				one.Machine = known.Machine
			}
			one.addresses = slices.DeleteFunc(slices.Clone(known.addresses), func(a netip.Addr) bool {
				return holders[a]
			})
		}
		if seen || was {
			r.machines[id] = one
		}
	}
}

func parsed(texts []string) []netip.Addr {
	var addresses []netip.Addr
	for _, text := range texts {
		if address, err := netip.ParseAddr(text); err == nil {
			addresses = append(addresses, address.Unmap())
		}
	}
	return addresses
}
