package route

import (
	"fmt"
	"net/netip"
	"slices"
)

// pair is a route as it is remembered.
type pair struct {
	table       string
	destination netip.Prefix
	gateway     netip.Addr
}

// knowledge decides which routes are this cluster's. Routes have neither names nor labels, so that only where they lead to can tell.
type knowledge struct {
	cidrs []netip.Prefix
	// addresses are those of the Nodes.
	addresses map[netip.Addr]bool
	// owned are the routes that were this cluster's at the latest pass, or were made since: a Node may be gone while its machine is not.
	owned map[pair]bool
	// vacant are routes to an address that no machine has, by more than one look, the latest of which is of this moment.
	vacant map[pair]bool
}

// owns says whether a route may be changed and removed.
func (k knowledge) owns(t Table, f Found) bool {
	return k.sure(t, f) || Inside(f.Destination, k.cidrs) && k.vacant[pair{t.ID, f.Destination, f.Gateway}]
}

// sure is owns without what has to be asked again each time: whether anybody is where the route leads to.
func (k knowledge) sure(t Table, f Found) bool {
	return Inside(f.Destination, k.cidrs) && (f.Managed || t.Exclusive || k.addresses[f.Gateway] || k.owned[pair{t.ID, f.Destination, f.Gateway}])
}

// verb is what is done to a route.
type verb string

// The verbs, as values of a metric's label.
const (
	create  verb = "create"
	change  verb = "change"
	remove  verb = "delete"
	replace verb = "replace"
)

// operation is one write.
type operation struct {
	verb  verb
	table Table
	found Found // what is changed or removed
	route Route // what there is afterwards; not for removals
	// doubted says of a removal that the route is this cluster's only because nobody is where it leads to.
	doubted bool
}

// key is what a failure is remembered by.
func (o operation) key() pair {
	if o.verb == remove {
		return pair{o.table.ID, o.found.Destination, o.found.Gateway}
	}
	return pair{o.table.ID, o.route.Destination, o.route.Gateway}
}

// plan is how the cloud's routes become what they should be.
type plan struct {
	// additions are creations and changes, by the name of the Node that needs them.
	additions map[string][]operation
	removals  []operation
	// conflicts are routes of others where those of Nodes should be, by the Node's name.
	conflicts map[string][]notice
	// owned are this cluster's routes that stay or are changed, and staying is how many routes do.
	owned   map[pair]bool
	staying int
	// strangers are routes inside the cluster's networks that are not known as this cluster's.
	strangers []pair
}

// planOf compares.
func planOf(tables []Table, d demand, k knowledge) plan {
	p := plan{additions: map[string][]operation{}, conflicts: map[string][]notice{}, owned: map[pair]bool{}}
	for _, table := range tables {
		present := map[netip.Prefix][]Found{}
		for _, f := range table.Routes {
			present[f.Destination] = append(present[f.Destination], f)
			if Inside(f.Destination, k.cidrs) && !k.owns(table, f) {
				p.strangers = append(p.strangers, pair{table.ID, f.Destination, f.Gateway})
			}
		}
		staying := map[netip.Prefix]int{}
		if table.Used {
			for _, w := range d.wants {
				staying[w.destination] = p.serve(table, w, present[w.destination], k)
			}
		}
		p.clear(table, staying, d, k)
	}
	return p
}

// none is no route of a destination.
const none = -1

// serve plans what a Node wants in a table where routes of the destination are present already. It returns which of them stays or is
// changed.
func (p *plan) serve(table Table, w want, present []Found, k knowledge) (stays int) {
	if len(w.gateways) == 0 {
		return none
	}
	ours := slices.IndexFunc(present, func(f Found) bool { return k.owns(table, f) })
	stays = slices.IndexFunc(present, func(f Found) bool { return slices.Contains(w.gateways, f.Gateway) })
	foreign := slices.IndexFunc(present, func(f Found) bool { return !k.owns(table, f) })
	if foreign >= 0 {
		p.conflicts[w.node.Name] = append(p.conflicts[w.node.Name], notice{reasonConflict, fmt.Sprintf(
			"Route table %s has a route to %s that leads to %s, which is none of this cluster's nodes. It is not touched. Remove it, or give the pods of this Node another network.",
			table.Name, w.destination, target(present[foreign]))})
	}
	switch {
	case stays >= 0:
		return stays
	case ours >= 0:
		p.add(w, operation{verb: change, table: table, found: present[ours], route: w.route()})
		return ours
	case foreign < 0:
		p.add(w, operation{verb: create, table: table, route: w.route()})
	}
	return none
}

func (p *plan) add(w want, o operation) {
	p.additions[w.node.Name] = append(p.additions[w.node.Name], o)
}

// clear plans the removal of this cluster's routes that nobody wants. Where a Node wants the destination and has no address to lead to,
// nothing is removed: it may get its address back.
func (p *plan) clear(table Table, staying map[netip.Prefix]int, d demand, k knowledge) {
	seen := map[netip.Prefix]int{}
	for _, f := range table.Routes {
		index := seen[f.Destination]
		seen[f.Destination]++
		if !k.owns(table, f) {
			continue
		}
		at, served := staying[f.Destination]
		undecided := table.Used && d.destinations[f.Destination] && (!served || at == none)
		switch {
		case undecided, served && at == index:
			p.staying++
			if k.sure(table, f) {
				p.owned[pair{table.ID, f.Destination, f.Gateway}] = true
			}
		default:
			p.removals = append(p.removals, operation{verb: remove, table: table, found: f, doubted: !k.sure(table, f)})
		}
	}
}

func target(f Found) string {
	if f.Gateway.IsValid() {
		return f.Gateway.String()
	}
	return "no address"
}

// doubtful are the addresses that strangers lead to.
func (p plan) doubtful() []netip.Addr {
	var addresses []netip.Addr
	for _, s := range p.strangers {
		if s.gateway.IsValid() && !slices.Contains(addresses, s.gateway) {
			addresses = append(addresses, s.gateway)
		}
	}
	return addresses
}

// writes is how many a table needs.
func (p plan) writes(table string) int {
	count := 0
	for _, operations := range p.additions {
		count += countIn(table, operations)
	}
	return count + countIn(table, p.removals)
}

func countIn(table string, operations []operation) int {
	count := 0
	for _, o := range operations {
		if o.table.ID == table {
			count++
		}
	}
	return count
}
