package thalassa

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
)

// Members implements cloud.Routes. A kubelet may write any address into its Node's status, and routes belong to the
// cluster by where they lead to: so what counts is which addresses the cloud shows for the machine. Nor is the provider
// ID more than its word: a Node is confirmed by its name, which its credentials are for, and which the machine has to
// have. It comes from the list that the node controllers read anyway. While machines cannot be listed, what was known
// of them still is.
func (r *routes) Members(ctx context.Context, nodes []*corev1.Node) ([]cloud.RouteMember, error) {
	var members []cloud.RouteMember
	var ids []string
	for _, node := range nodes {
		if id, err := machineOf(node.Spec.ProviderID); err == nil {
			members, ids = append(members, cloud.RouteMember{Node: node}), append(ids, id)
		}
	}
	if len(members) == 0 {
		return nil, nil
	}
	err := r.learn(ctx, ids)
	some := false
	for at, id := range ids {
		one, known := r.machines.of(id)
		node := members[at].Node
		members[at] = cloud.RouteMember{Node: node, Known: known, Confirmed: known && one.slug == node.Name,
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

// learn looks the machines up. One that the list lacks, and that was never seen, may be new: it is asked for again.
func (r *routes) learn(ctx context.Context, ids []string) error {
	age := r.config.Inventory.machineAge()
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
		if _, known := r.machines.of(id); known {
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

// preferred are the addresses in the order in which the node has them: a kubelet may choose among those of its machine.
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

// residents are the machines that nodes run on, as the cloud has last shown them: one list that lacks a machine, or its
// addresses, is no reason to think that a node is nowhere. The zero value is ready to use.
type residents struct {
	mu       sync.Mutex
	machines map[string]resident // by identity
}

// resident is what routes depend on of a machine.
type resident struct {
	slug      string
	addresses []netip.Addr
}

// of is a machine. Known says that the cloud has shown it.
func (r *residents) of(machine string) (one resident, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	one, known = r.machines[machine]
	return one, known
}

// update takes over what the cloud shows, and forgets machines that no node runs on. An address that another machine
// has now is that one's.
func (r *residents) update(wanted []string, found map[string]inventory.Machine) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before, holders := r.machines, map[netip.Addr]bool{}
	shown := map[string]resident{}
	for id, machine := range found {
		shown[id] = resident{machine.Slug, parsed(machine.Addresses)}
		for _, address := range shown[id].addresses {
			holders[address] = true
		}
	}
	r.machines = map[string]resident{}
	for _, id := range wanted {
		one, seen := shown[id]
		known, was := before[id]
		if was && len(one.addresses) == 0 {
			one.slug = cmp.Or(one.slug, known.slug)
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
