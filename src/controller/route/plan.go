package route

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// routeKey identifies a route.
type routeKey struct {
	table       string
	destination netip.Prefix
	gateway     netip.Addr
}

// ownership decides which routes are this cluster's. Routes have neither names nor labels, so this follows from their
// gateways and from earlier syncs.
type ownership struct {
	cidrs []netip.Prefix
	// addresses are those of Nodes that are confirmed to run on their machines.
	addresses map[netip.Addr]bool
	// owned are the routes that were this cluster's at the latest sync, or were created since. A Node may be deleted
	// before its machine.
	owned map[routeKey]bool
	// leftBehind are routes to an address that no machine has, according to more than one check. The latest check is
	// part of this sync.
	leftBehind map[routeKey]bool
	// claims and others are those of the desired state. A route to a network of Nodes that are not members is not this
	// cluster's because of its gateway or a free address: users may create such routes with any gateway, also with a
	// Node that forwards the packets.
	claims claims
	others otherNetworks
}

// owns says whether a route may be changed and deleted.
func (own ownership) owns(t cloud.RouteTable, f cloud.ActualRoute) bool {
	leftBehind := cloud.Inside(f.Destination, own.cidrs) && own.leftBehind[routeKey{t.ID, f.Destination, f.Gateway}]
	return own.ownsCertainly(t, f) || leftBehind && !own.others.overlap(f.Destination)
}

// ownsCertainly is owns without the routes that are left behind, for which each sync has to check again whether a
// machine has the address.
func (own ownership) ownsCertainly(t cloud.RouteTable, f cloud.ActualRoute) bool {
	leadsToNode := own.addresses[f.Gateway] && !own.ofOtherNode(f.Destination)
	return cloud.Inside(f.Destination, own.cidrs) && (f.Managed || t.Exclusive || leadsToNode ||
		own.owned[routeKey{t.ID, f.Destination, f.Gateway}])
}

// ofOtherNode says whether a network overlaps with one of a Node that is not a member, and does not belong to an older
// member.
func (own ownership) ofOtherNode(network netip.Prefix) bool {
	if !own.others.overlap(network) {
		return false
	}
	_, _, ofMember := own.claims.owner(network)
	return !ofMember
}

// verb is the kind of a write.
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
	verb   verb
	table  cloud.RouteTable
	actual cloud.ActualRoute // what is changed or removed
	route  cloud.Route       // the route afterwards; not for removals
	// leftBehind says of a removal that the only reason is that no machine has the address of the gateway.
	leftBehind bool
	// delay is how long it has to wait after a failure, and problem is that failure. With a delay it is not part of
	// this sync.
	delay   time.Duration
	problem problem
}

// key identifies the operation in the record of failures.
func (o operation) key() routeKey {
	if o.verb == remove {
		return routeKey{o.table.ID, o.actual.Destination, o.actual.Gateway}
	}
	return routeKey{o.table.ID, o.route.Destination, o.route.Gateway}
}

// due says that the operation is part of this sync.
func (o operation) due() bool { return o.delay == 0 }

// plan is the list of writes that makes the actual routes the desired ones.
type plan struct {
	// additions are creations and changes, by the name of the Node that needs them.
	additions map[string][]operation
	removals  []operation
	// conflicts are why Nodes do not get a route in a table, by the Node's name: an unmanaged route is in its place, or
	// the network is too large.
	conflicts map[string][]conflict
	// warnings are further problems of Nodes, by the Node's name.
	warnings map[string][]problem
	// unknownTables are why the table of a Node is not known, by the Node's name.
	unknownTables map[string]string
	// correctIn are the tables with a correct route to a destination.
	correctIn map[netip.Prefix][]string
	// owned are this cluster's routes that stay or are changed, and keptCount is the number of routes that do.
	owned     map[routeKey]bool
	keptCount int
	// unmanaged are routes inside the cluster's networks that are not this cluster's, as far as known.
	unmanaged []routeKey
}

// conflict is why there is no route to a destination in a table.
type conflict struct {
	problem
	table       string
	destination netip.Prefix
	inNoTable   bool // no table has the route
}

// newPlan compares the actual routes with the desired ones.
func newPlan(view cloud.RouteTables, d desired, own ownership) plan {
	p := plan{
		unknownTables: view.UnknownTables,
		additions:     map[string][]operation{}, conflicts: map[string][]conflict{}, warnings: map[string][]problem{},
		owned:     map[routeKey]bool{},
		correctIn: map[netip.Prefix][]string{},
	}
	byDestination := d.byDestination()
	oversized := d.oversizedRoutes()
	for _, table := range view.Tables {
		actual := map[netip.Prefix][]cloud.ActualRoute{}
		for _, f := range table.Routes {
			actual[f.Destination] = append(actual[f.Destination], f)
			if cloud.Inside(f.Destination, own.cidrs) && !own.owns(table, f) &&
				!byDestination[f.Destination].matches(f) {
				p.unmanaged = append(p.unmanaged, routeKey{table.ID, f.Destination, f.Gateway})
				p.addPartConflict(table, f, d)
			}
		}
		oversized.addTable(&p, table, actual)
		kept := map[netip.Prefix]keptRoute{}
		for _, r := range d.routes {
			if slices.ContainsFunc(actual[r.destination], r.matches) {
				p.correctIn[r.destination] = append(p.correctIn[r.destination], table.ID)
			}
			if table.Used {
				kept[r.destination] = keptRoute{p.planRoute(table, r, actual[r.destination], own), r}
			}
		}
		p.addOtherTableWarnings(table)
		p.planRemovals(table, kept, d, own)
	}
	p.addOversized(oversized)
	return p
}

// addPartConflict adds a conflict if an unmanaged route leads to a part of a Node's network. Such a route takes
// precedence over that of the Node.
func (p *plan) addPartConflict(table cloud.RouteTable, f cloud.ActualRoute, d desired) {
	node, containing, found := d.claims.owner(f.Destination)
	if !table.Used || !found || containing == f.Destination {
		return
	}
	p.addConflict(node, table, containing, fmt.Sprintf("has a route to %s, a part of %s, that leads to %s",
		f.Destination, containing, nextHop(f)))
}

// addOtherTableWarnings adds warnings for Nodes whose traffic uses a table in which no routes are created.
func (p *plan) addOtherTableWarnings(table cloud.RouteTable) {
	if table.Used {
		return
	}
	for _, name := range table.Nodes {
		p.warnings[name] = append(p.warnings[name], problem{reasonOtherTable, fmt.Sprintf(
			"The subnet of this Node uses route table %s, which is not the route table that is configured for "+
				"routes. No routes are made in it, so this Node may be unable to reach pods of other Nodes. Let the "+
				"subnet use the configured table, or configure none.",
			table.Name)})
	}
}

func (p *plan) addConflict(node string, table cloud.RouteTable, destination netip.Prefix, has string) {
	p.conflicts[node] = append(p.conflicts[node], conflict{table: table.ID, destination: destination,
		problem: problem{reasonConflict, fmt.Sprintf(
			"Route table %s %s, which does not belong to a node of this cluster. It is not changed. Delete it, even "+
				"if "+
				"it is an older route of this Node, or give the pods of this Node another network.", table.Name, has)}})
}

// correctInOther says whether another table has a correct route to a destination.
func (p plan) correctInOther(table string, destination netip.Prefix) bool {
	return slices.ContainsFunc(p.correctIn[destination], func(one string) bool { return one != table })
}

// noRoute is the index if none of the routes to a destination is kept.
const noRoute = -1

// keptRoute is the index of the route that is kept for a desired route, or noRoute.
type keptRoute struct {
	index int
	desiredRoute
}

// planRoute plans a desired route in a table that contains these routes to its destination. It returns the index of the
// one that is kept or changed. A correct route is kept whoever created it.
func (p *plan) planRoute(table cloud.RouteTable, r desiredRoute, actual []cloud.ActualRoute,
	own ownership) (correct int) {
	if len(r.gateways) == 0 {
		return noRoute
	}
	owned := slices.IndexFunc(actual, func(f cloud.ActualRoute) bool { return own.owns(table, f) })
	correct = slices.IndexFunc(actual, r.matches)
	unmanaged := slices.IndexFunc(actual, func(f cloud.ActualRoute) bool {
		return !own.owns(table, f) && !r.matches(f)
	})
	if unmanaged >= 0 {
		p.addConflict(r.node.Name, table, r.destination, fmt.Sprintf("has a route to %s that leads to %s",
			r.destination, nextHop(actual[unmanaged])))
	}
	switch {
	case correct >= 0:
		return correct
	case owned >= 0:
		p.addOperation(r, operation{verb: change, table: table, actual: actual[owned], route: r.route()})
		return owned
	case unmanaged < 0:
		p.addOperation(r, operation{verb: create, table: table, route: r.route()})
	}
	return noRoute
}

func (p *plan) addOperation(r desiredRoute, o operation) {
	p.additions[r.node.Name] = append(p.additions[r.node.Name], o)
}

// planRemovals plans the removal of this cluster's routes that are not needed. A route is kept if a Node has the
// network and no address, because the address may come back. In a table that is not used, routes to the networks of
// Nodes are kept as long as the Nodes exist, because the table may still carry traffic. If two routes are correct, both
// are kept, because the list may be old and one of them deleted since.
func (p *plan) planRemovals(table cloud.RouteTable, kept map[netip.Prefix]keptRoute, d desired, own ownership) {
	seen := map[netip.Prefix]int{}
	for _, f := range table.Routes {
		index := seen[f.Destination]
		seen[f.Destination]++
		k, desired := kept[f.Destination]
		correct := desired && k.matches(f)
		if !own.owns(table, f) && !correct {
			continue
		}
		undecided := d.destinations[f.Destination] && (!table.Used || !desired || k.index == noRoute)
		switch {
		case undecided, correct, desired && k.index == index:
			p.keptCount++
			if own.ownsCertainly(table, f) {
				p.owned[routeKey{table.ID, f.Destination, f.Gateway}] = true
			}
		default:
			p.removals = append(p.removals, operation{verb: remove, table: table, actual: f,
				leftBehind: !own.ownsCertainly(table, f)})
		}
	}
}

func nextHop(f cloud.ActualRoute) string {
	if f.Gateway.IsValid() {
		return f.Gateway.String()
	}
	return "no address"
}

// gatewaysOf are the gateways of routes, each once.
func gatewaysOf(routes []routeKey) []netip.Addr {
	var addresses []netip.Addr
	for _, one := range routes {
		if one.gateway.IsValid() && !slices.Contains(addresses, one.gateway) {
			addresses = append(addresses, one.gateway)
		}
	}
	return addresses
}

// removesOrChanges says whether this sync deletes or changes an existing route.
func (p plan) removesOrChanges() bool {
	changes := func(o operation) bool { return o.verb != create && o.delay == 0 }
	for _, operations := range p.additions {
		if slices.ContainsFunc(operations, changes) {
			return true
		}
	}
	return slices.ContainsFunc(p.removals, changes)
}

// recordReplacement records that these are all routes of a table inside the cluster's networks.
func (p *plan) recordReplacement(table string, routes []cloud.Route) {
	inTable := func(o operation) bool { return o.table.ID == table }
	for node, operations := range p.additions {
		p.additions[node] = slices.DeleteFunc(operations, inTable)
	}
	p.removals = slices.DeleteFunc(p.removals, inTable)
	maps.DeleteFunc(p.owned, func(one routeKey, _ bool) bool {
		if one.table == table {
			p.keptCount--
		}
		return one.table == table
	})
	for _, one := range routes {
		p.owned[routeKey{table, one.Destination, one.Gateway}] = true
		p.correctIn[one.Destination] = append(p.correctIn[one.Destination], table)
	}
	p.keptCount += len(routes)
}

// setDelays sets the delays of operations that failed before.
func (p plan) setDelays(delayOf func(operation) (p problem, delay time.Duration)) {
	for _, operations := range p.additions {
		for at := range operations {
			operations[at].problem, operations[at].delay = delayOf(operations[at])
		}
	}
	for at := range p.removals {
		p.removals[at].problem, p.removals[at].delay = delayOf(p.removals[at])
	}
}

// writesTo is the number of planned writes to a table.
func (p plan) writesTo(table string) int {
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
