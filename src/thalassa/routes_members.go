package thalassa

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/route"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/inventory"
)

// Members implements route.Provider. A kubelet may write any address into its Node's status, and routes belong to the cluster by where they
// lead to: so what counts is which addresses the cloud shows for the machine. It comes from the list that the node controllers read anyway.
// While machines cannot be listed, what was known of them still is.
func (r *routes) Members(ctx context.Context, nodes []*corev1.Node) ([]route.Member, error) {
	var members []route.Member
	var ids []string
	for _, node := range nodes {
		if id, err := machineOf(node.Spec.ProviderID); err == nil {
			members, ids = append(members, route.Member{Node: node}), append(ids, id)
		}
	}
	if len(members) == 0 {
		return nil, nil
	}
	err := r.learn(ctx, ids)
	some := false
	for at, id := range ids {
		addresses, known := r.machines.of(id)
		members[at].Known, members[at].Addresses = known, preferred(members[at].Node, addresses)
		some = some || known
	}
	if err != nil && some {
		klog.FromContext(ctx).Error(err, "The machines of nodes cannot be looked up; for routes their addresses are taken to be as they were")
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
	order := route.Addresses(node)
	place := func(a netip.Addr) int {
		if at := slices.Index(order, a); at >= 0 {
			return at
		}
		return len(order)
	}
	return slices.SortedStableFunc(slices.Values(addresses), func(a, b netip.Addr) int { return cmp.Compare(place(a), place(b)) })
}

// residents are the addresses of the machines that nodes run on, as the cloud has last shown them: one list that lacks a machine, or its
// addresses, is no reason to think that a node is nowhere. The zero value is ready to use.
type residents struct {
	mu        sync.Mutex
	addresses map[string][]netip.Addr // by the machine's identity
}

// of are the addresses of a machine. Known says that the cloud has shown it.
func (r *residents) of(machine string) (addresses []netip.Addr, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	addresses, known = r.addresses[machine]
	return addresses, known
}

// update takes over what the cloud shows, and forgets machines that no node runs on. An address that another machine has now is that one's.
func (r *residents) update(wanted []string, found map[string]inventory.Machine) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before, holders := r.addresses, map[netip.Addr]bool{}
	shown := map[string][]netip.Addr{}
	for id, machine := range found {
		shown[id] = parsed(machine.Addresses)
		for _, address := range shown[id] {
			holders[address] = true
		}
	}
	r.addresses = map[string][]netip.Addr{}
	for _, id := range wanted {
		addresses, seen := shown[id]
		if seen {
			r.addresses[id] = addresses
		}
		if known, was := before[id]; was && len(addresses) == 0 {
			r.addresses[id] = slices.DeleteFunc(slices.Clone(known), func(a netip.Addr) bool { return holders[a] })
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
