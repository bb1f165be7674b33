package route

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// pair is a route as it is remembered.
type pair struct {
	table       string
	destination netip.Prefix
	gateway     netip.Addr
}

// knowledge decides which routes are this cluster's. Routes have neither names nor labels, so that only where they lead
// to can tell.
type knowledge struct {
	cidrs []netip.Prefix
	// addresses are those of the Nodes that certainly run on their machines.
	addresses map[netip.Addr]bool
	// owned are the routes that were this cluster's at the latest pass, or were made since: a Node may be gone while
	// its machine is not.
	owned map[pair]bool
	// vacant are routes to an address that no machine has, by more than one look, the latest of which is of this
	// moment.
	vacant map[pair]bool
	// claims and others are those of the demand: neither by an address nor because that is vacant is a route to a
	// network of others this cluster's. They may let it lead where they like, also to a Node that passes their packets
	// on.
	claims claims
	others others
}

// owns says whether a route may be changed and removed.
func (k knowledge) owns(t cloud.RouteTable, f cloud.ActualRoute) bool {
	vacant := cloud.Inside(f.Destination, k.cidrs) && k.vacant[pair{t.ID, f.Destination, f.Gateway}]
	return k.sure(t, f) || vacant && !k.others.overlap(f.Destination)
}

// sure is owns without what has to be asked again each time: whether anybody is where the route leads to.
func (k knowledge) sure(t cloud.RouteTable, f cloud.ActualRoute) bool {
	leadsToNode := k.addresses[f.Gateway] && !k.conceded(f.Destination)
	return cloud.Inside(f.Destination, k.cidrs) && (f.Managed || t.Exclusive || leadsToNode ||
		k.owned[pair{t.ID, f.Destination, f.Gateway}])
}

// conceded says whether others have some of a network. What an older member has is its own all the same.
func (k knowledge) conceded(network netip.Prefix) bool {
	if !k.others.overlap(network) {
		return false
	}
	_, _, members := k.claims.owner(network)
	return !members
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
	table cloud.RouteTable
	found cloud.ActualRoute // what is changed or removed
	route cloud.Route       // what there is afterwards; not for removals
	// doubted says of a removal that the route is this cluster's only because nobody is where it leads to.
	doubted bool
	// rest is how long it waits after a failure, and why what its Node is told meanwhile: it is not done in the pass
	// that it is planned for.
	rest time.Duration
	why  notice
}

// key is what a failure is remembered by.
func (o operation) key() pair {
	if o.verb == remove {
		return pair{o.table.ID, o.found.Destination, o.found.Gateway}
	}
	return pair{o.table.ID, o.route.Destination, o.route.Gateway}
}

// due says that it is done in the pass that it is planned for.
func (o operation) due() bool { return o.rest == 0 }

// plan is how the cloud's routes become what they should be.
type plan struct {
	// additions are creations and changes, by the name of the Node that needs them.
	additions map[string][]operation
	removals  []operation
	// conflicts are why Nodes get no route in a table, by the Node's name: one of others is there, or their network is
	// too large.
	conflicts map[string][]conflict
	// warnings are what else Nodes' owners should know, by the Node's name.
	warnings map[string][]notice
	// unserved are why Nodes may not reach pods of others, by the Node's name.
	unserved map[string]string
	// right are the tables in which a destination leads where it should.
	right map[netip.Prefix][]string
	// owned are this cluster's routes that stay or are changed, and staying is how many routes do.
	owned   map[pair]bool
	staying int
	// strangers are routes inside the cluster's networks that are not known as this cluster's.
	strangers []pair
}

// conflict is why there is no route to a destination in a table, as one of somebody else.
type conflict struct {
	notice
	table       string
	destination netip.Prefix
	nowhere     bool // no table has it for the Node
}

// planOf compares.
func planOf(view cloud.RouteTables, d demand, k knowledge) plan {
	p := plan{
		unserved:  view.UnknownTables,
		additions: map[string][]operation{}, conflicts: map[string][]conflict{}, warnings: map[string][]notice{},
		owned: map[pair]bool{},
		right: map[netip.Prefix][]string{},
	}
	wanted := d.wanted()
	old := d.before()
	for _, table := range view.Tables {
		present := map[netip.Prefix][]cloud.ActualRoute{}
		for _, f := range table.Routes {
			present[f.Destination] = append(present[f.Destination], f)
			if cloud.Inside(f.Destination, k.cidrs) && !k.owns(table, f) && !wanted[f.Destination].leads(f) {
				p.strangers = append(p.strangers, pair{table.ID, f.Destination, f.Gateway})
				p.inside(table, f, d)
			}
		}
		old.look(&p, table, present)
		staying := map[netip.Prefix]kept{}
		for _, w := range d.wants {
			if slices.ContainsFunc(present[w.destination], w.leads) {
				p.right[w.destination] = append(p.right[w.destination], table.ID)
			}
			if table.Used {
				staying[w.destination] = kept{p.serve(table, w, present[w.destination], k), w}
			}
		}
		p.bypass(table)
		p.clear(table, staying, d, k)
	}
	p.refuse(old)
	return p
}

// inside tells of somebody else's route to a part of a Node's network, which wins over the Node's own.
func (p *plan) inside(table cloud.RouteTable, f cloud.ActualRoute, d demand) {
	node, whole, owned := d.claims.owner(f.Destination)
	if !table.Used || !owned || whole == f.Destination {
		return
	}
	p.conflict(node, table, whole, fmt.Sprintf("has a route to %s, a part of %s, that leads to %s", f.Destination,
		whole, target(f)))
}

// bypass tells Nodes whose traffic goes by a table that is not used.
func (p *plan) bypass(table cloud.RouteTable) {
	if table.Used {
		return
	}
	for _, name := range table.Nodes {
		p.warnings[name] = append(p.warnings[name], notice{reasonOtherTable, fmt.Sprintf(
			"The subnet of this Node uses route table %s, which is not the route table that is configured for "+
				"routes. No routes are made in it, so this Node may be unable to reach pods of other Nodes. Let the "+
				"subnet use the configured table, or configure none.",
			table.Name)})
	}
}

func (p *plan) conflict(node string, table cloud.RouteTable, destination netip.Prefix, has string) {
	p.conflicts[node] = append(p.conflicts[node], conflict{table: table.ID, destination: destination,
		notice: notice{reasonConflict, fmt.Sprintf(
			"Route table %s %s, which does not belong to a node of this cluster. It is not changed. Delete it, even "+
				"if "+
				"it is an older route of this Node, or give the pods of this Node another network.", table.Name, has)}})
}

// elsewhere says whether a destination leads where it should in another table.
func (p plan) elsewhere(table string, destination netip.Prefix) bool {
	return slices.ContainsFunc(p.right[destination], func(one string) bool { return one != table })
}

// none is no route of a destination.
const none = -1

// kept is which of the routes of a destination stays for the sake of a want, or none.
type kept struct {
	at int
	want
}

// serve plans what a Node wants in a table where routes of the destination are present already. It returns which of
// them stays or is changed. One that leads where it should is as good as the cluster's own, whoever made it.
func (p *plan) serve(table cloud.RouteTable, w want, present []cloud.ActualRoute, k knowledge) (stays int) {
	if len(w.gateways) == 0 {
		return none
	}
	ours := slices.IndexFunc(present, func(f cloud.ActualRoute) bool { return k.owns(table, f) })
	stays = slices.IndexFunc(present, w.leads)
	foreign := slices.IndexFunc(present, func(f cloud.ActualRoute) bool { return !k.owns(table, f) && !w.leads(f) })
	if foreign >= 0 {
		p.conflict(w.node.Name, table, w.destination, fmt.Sprintf("has a route to %s that leads to %s", w.destination,
			target(present[foreign])))
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

// clear plans the removal of this cluster's routes that nobody wants. Where a Node wants the destination and has no
// address to lead to, nothing is removed: it may get its address back. In a table that is not used what leads to the
// networks of Nodes stays until they go: others may reach pods by it. Of two routes that both lead where they should
// neither goes: one of them may be of an old list, and gone.
func (p *plan) clear(table cloud.RouteTable, staying map[netip.Prefix]kept, d demand, k knowledge) {
	seen := map[netip.Prefix]int{}
	for _, f := range table.Routes {
		index := seen[f.Destination]
		seen[f.Destination]++
		one, served := staying[f.Destination]
		right := served && one.leads(f)
		if !k.owns(table, f) && !right {
			continue
		}
		undecided := d.destinations[f.Destination] && (!table.Used || !served || one.at == none)
		switch {
		case undecided, right, served && one.at == index:
			p.staying++
			if k.sure(table, f) {
				p.owned[pair{table.ID, f.Destination, f.Gateway}] = true
			}
		default:
			p.removals = append(p.removals, operation{verb: remove, table: table, found: f, doubted: !k.sure(table, f)})
		}
	}
}

func target(f cloud.ActualRoute) string {
	if f.Gateway.IsValid() {
		return f.Gateway.String()
	}
	return "no address"
}

// gatewaysOf are the addresses that routes lead to, each once.
func gatewaysOf(routes []pair) []netip.Addr {
	var addresses []netip.Addr
	for _, one := range routes {
		if one.gateway.IsValid() && !slices.Contains(addresses, one.gateway) {
			addresses = append(addresses, one.gateway)
		}
	}
	return addresses
}

// removesOrChanges says whether anything that is there is to go, or to lead elsewhere, in this pass.
func (p plan) removesOrChanges() bool {
	changes := func(o operation) bool { return o.verb != create && o.rest == 0 }
	for _, operations := range p.additions {
		if slices.ContainsFunc(operations, changes) {
			return true
		}
	}
	return slices.ContainsFunc(p.removals, changes)
}

// replaced takes it as done that these are all routes of a table inside the cluster's networks.
func (p *plan) replaced(table string, routes []cloud.Route) {
	there := func(o operation) bool { return o.table.ID == table }
	for node, operations := range p.additions {
		p.additions[node] = slices.DeleteFunc(operations, there)
	}
	p.removals = slices.DeleteFunc(p.removals, there)
	maps.DeleteFunc(p.owned, func(one pair, _ bool) bool {
		if one.table == table {
			p.staying--
		}
		return one.table == table
	})
	for _, one := range routes {
		p.owned[pair{table, one.Destination, one.Gateway}] = true
		p.right[one.Destination] = append(p.right[one.Destination], table)
	}
	p.staying += len(routes)
}

// postpone lets operations rest that failed a moment ago.
func (p plan) postpone(resting func(operation) (why notice, rest time.Duration)) {
	for _, operations := range p.additions {
		for at := range operations {
			operations[at].why, operations[at].rest = resting(operations[at])
		}
	}
	for at := range p.removals {
		p.removals[at].why, p.removals[at].rest = resting(p.removals[at])
	}
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
