package route

import (
	"net/netip"
	"slices"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/event"
)

// ownership decides which routes are this cluster's. Routes have neither names nor labels, so this follows from their
// gateways and from earlier syncs.
type ownership struct {
	cidrs []netip.Prefix
	// desired has the networks and addresses of Nodes. A route to a network of Nodes that are not members is not this
	// cluster's because of its gateway: users may create such routes with any gateway, also with a Node that forwards
	// the packets.
	desired desired
	// owned are the routes that were this cluster's at the latest sync, or were created since. A Node may be deleted
	// before its machine.
	owned map[routeKey]bool
}

// owns reports whether a route may be changed and deleted.
func (own ownership) owns(t cloud.RouteTable, f cloud.ActualRoute) bool {
	leadsToNode := own.desired.addresses[f.Gateway] && !own.ofOtherNode(f.Destination)
	return cloud.Inside(f.Destination, own.cidrs) &&
		(f.Managed || t.Exclusive || leadsToNode || own.owned[keyOf(t, f)] || own.replaces(f))
}

// replaces reports whether a route that nobody uses gives way to that of a member. It is not this cluster's otherwise.
func (own ownership) replaces(f cloud.ActualRoute) bool {
	_, ofOther := own.desired.others.overlap(f.Destination)
	return f.Abandoned && !ofOther
}

// ofOtherNode reports whether a network overlaps with one of a Node that is not a member, and does not belong to an
// older member.
func (own ownership) ofOtherNode(network netip.Prefix) bool {
	_, ofOther := own.desired.others.overlap(network)
	_, ofMember := own.desired.claims.containing(network)
	return ofOther && !ofMember
}

// routeKey identifies a route.
type routeKey struct {
	table       string
	destination netip.Prefix
	gateway     netip.Addr
}

func keyOf(t cloud.RouteTable, f cloud.ActualRoute) routeKey {
	return routeKey{t.ID, f.Destination, f.Gateway}
}

// verb is the kind of a write.
type verb string

// The verbs, as values of a metric's label.
const (
	create verb = "create"
	change verb = "change"
	remove verb = "delete"
)

// operation is one write.
type operation struct {
	verb   verb
	table  cloud.RouteTable
	actual cloud.ActualRoute // what is changed or removed
	route  cloud.Route       // the route afterwards; not for removals
	// failed is the failure of the attempts before, and delay is how long it has to wait after it. With a delay it is
	// not part of this sync.
	failed failure
	delay  time.Duration
}

// key identifies the operation in the record of failures.
func (o *operation) key() routeKey {
	if o.verb == remove {
		return keyOf(o.table, o.actual)
	}
	return routeKey{o.table.ID, o.route.Destination, o.route.Gateway}
}

// plan is the list of writes that makes the actual routes the desired ones.
type plan struct {
	// writes are all writes. Additions are creations and changes, by the name of the Node that needs them.
	writes    []*operation
	additions map[string][]*operation
	removals  []*operation
	// conflicts are why Nodes do not get a route in a table, by the Node's name: an unmanaged route is in its place, or
	// the network is too large.
	conflicts map[string][]conflict
	// warnings are further problems of Nodes, by the Node's name.
	warnings map[string][]event.Warning
	// unknownTables are why the table of a Node is not known, by the Node's name.
	unknownTables map[string]string
	// correctIn are the tables with a correct route of a Node.
	correctIn map[nodeNetwork][]string
	// owned are this cluster's routes that stay or are changed, and keptCount is the number of routes that do.
	owned     map[routeKey]bool
	keptCount int
	// unmanaged are routes inside the cluster's networks that are not this cluster's, as far as known.
	unmanaged []routeKey
}

// conflict is why a Node's route is missing in a table.
type conflict struct {
	event.Warning
	table string
	route nodeNetwork
}

// newPlan compares the actual routes with the desired ones.
func newPlan(view cloud.RouteTables, own ownership) plan {
	p := plan{
		unknownTables: view.UnknownTables, additions: map[string][]*operation{}, conflicts: map[string][]conflict{},
		warnings: map[string][]event.Warning{}, correctIn: map[nodeNetwork][]string{}, owned: map[routeKey]bool{},
	}
	used := 0
	for _, table := range view.Tables {
		p.addTable(table, own)
		if table.Used {
			used++
			continue
		}
		for _, name := range table.Nodes {
			p.warnings[name] = append(p.warnings[name], problem(reasonOtherTable, "The subnet of this Node uses "+
				"route table %s, which is not the route table that is configured for routes. No routes are made in "+
				"it, so this Node may be unable to reach pods of other Nodes. Let the subnet use the configured "+
				"table, or configure none.", table.Name))
		}
	}
	p.addOversized(own.desired.routes, used)
	return p
}

// actualRoute is a route in one table, and what follows from it.
type actualRoute struct {
	cloud.ActualRoute
	owned   bool
	correct bool // for a desired route
	kept    bool // it is the one that stays, or is changed
}

// addTable plans the writes to one table.
func (p *plan) addTable(table cloud.RouteTable, own ownership) {
	desired := map[netip.Prefix]desiredRoute{}
	for _, r := range own.desired.routes {
		if !r.oversized {
			desired[r.destination] = r
		}
	}
	var all []*actualRoute
	actual := map[netip.Prefix][]*actualRoute{}
	for _, f := range table.Routes {
		one := &actualRoute{ActualRoute: f, owned: own.owns(table, f), correct: desired[f.Destination].matches(f)}
		all, actual[f.Destination] = append(all, one), append(actual[f.Destination], one)
		if cloud.Inside(f.Destination, own.cidrs) && !one.owned && !one.correct {
			p.unmanaged = append(p.unmanaged, keyOf(table, f))
			p.addPartConflict(table, f, own.desired.claims)
		}
	}
	for _, r := range own.desired.routes {
		correct := slices.ContainsFunc(actual[r.destination], func(f *actualRoute) bool {
			return r.matches(f.ActualRoute)
		})
		if correct && (table.Used || !r.oversized) {
			p.addCorrect(table, r.key())
		}
		if table.Used && !r.oversized {
			p.addRoute(table, r, actual[r.destination])
		}
	}
	for _, f := range all {
		p.keepOrRemove(table, f, actual[f.Destination], own)
	}
}

// addPartConflict adds a conflict if an unmanaged route leads to a part of a Node's network. Such a route takes
// precedence over that of the Node.
func (p *plan) addPartConflict(table cloud.RouteTable, f cloud.ActualRoute, claims networks) {
	whole, found := claims.containing(f.Destination)
	if table.Used && found && whole.network != f.Destination {
		p.addConflict(table, whole, "has a route to %s, a part of %s, that leads to %s", f.Destination, whole.network,
			nextHop(f))
	}
}

func (p *plan) addConflict(table cloud.RouteTable, route nodeNetwork, has string, values ...any) {
	text := problem(reasonConflict, "Route table %s "+has+", which does not belong to a node of this cluster. It is "+
		"not changed. Delete it, even if it is an older route of this Node, or give the pods of this Node another "+
		"network.", append([]any{table.Name}, values...)...)
	p.conflicts[route.node] = append(p.conflicts[route.node], conflict{text, table.ID, route})
}

func (p *plan) addCorrect(table cloud.RouteTable, route nodeNetwork) {
	p.correctIn[route] = append(p.correctIn[route], table.ID)
}

// correctInOther reports whether another table has a correct route.
func (p *plan) correctInOther(table string, route nodeNetwork) bool {
	return slices.ContainsFunc(p.correctIn[route], func(one string) bool { return one != table })
}

// addRoute plans a desired route in a table that contains these routes to its destination. A correct route is kept
// whoever created it.
func (p *plan) addRoute(table cloud.RouteTable, r desiredRoute, actual []*actualRoute) {
	if len(r.gateways) == 0 {
		return
	}
	owned := slices.IndexFunc(actual, func(f *actualRoute) bool { return f.owned })
	correct := slices.IndexFunc(actual, func(f *actualRoute) bool { return f.correct })
	unmanaged := slices.IndexFunc(actual, func(f *actualRoute) bool { return !f.owned && !f.correct })
	if unmanaged >= 0 {
		p.addConflict(table, r.key(), "has a route to %s that leads to %s", r.destination,
			nextHop(actual[unmanaged].ActualRoute))
	}
	o := &operation{verb: create, table: table,
		route: cloud.Route{Destination: r.destination, Gateway: r.gateways[0], Node: r.node}}
	switch {
	case correct >= 0:
		actual[correct].kept = true
		return
	case owned >= 0:
		actual[owned].kept = true
		o.verb, o.actual = change, actual[owned].ActualRoute
	case unmanaged >= 0:
		return
	}
	p.writes, p.additions[r.node.Name] = append(p.writes, o), append(p.additions[r.node.Name], o)
}

// keepOrRemove plans the removal of a route if it is this cluster's and not needed. A route is kept if a Node has the
// network and no address, because the address may come back. In a table that is not used, routes to the networks of
// Nodes are kept as long as the Nodes exist, because the table may still carry traffic. If two routes are correct, both
// are kept, because the list may be old and one of them deleted since.
func (p *plan) keepOrRemove(table cloud.RouteTable, f *actualRoute, same []*actualRoute, own ownership) {
	correct := table.Used && f.correct
	if !f.owned && !correct {
		return
	}
	undecided := own.desired.destinations[f.Destination] &&
		!slices.ContainsFunc(same, func(one *actualRoute) bool { return one.kept })
	if !undecided && !correct && !f.kept {
		o := &operation{verb: remove, table: table, actual: f.ActualRoute}
		p.writes, p.removals = append(p.writes, o), append(p.removals, o)
		return
	}
	p.keptCount++
	if f.owned && !f.Abandoned {
		p.owned[keyOf(table, f.ActualRoute)] = true
	}
}

// addOversized adds the problems of oversized networks. A kubelet chooses the networks that its Node registers with,
// and must not get the traffic of other Nodes' pods. Existing routes do not change, because a running Node may need
// them. A Node with its route in some of the used tables is reported like one whose route a table refuses. A Node with
// its route in all of them only gets a warning.
func (p *plan) addOversized(routes []desiredRoute, used int) {
	for _, r := range routes {
		if !r.oversized {
			continue
		}
		tooLarge := problem(reasonLarge, "No route to %s is made, and an existing one does not change: the network is "+
			"larger than the networks that nodes of this cluster are given, so other nodes may have parts of it. If "+
			"this is a mistake, find out which program set it, delete this Node, and let it register again. If it is "+
			"intended, set --shortest-node-cidr-mask-size-ipv4 or -ipv6.", r.destination)
		if correct := len(p.correctIn[r.key()]); correct > 0 && correct == used {
			p.warnings[r.node.Name] = append(p.warnings[r.node.Name], tooLarge)
			continue
		}
		p.conflicts[r.node.Name] = append(p.conflicts[r.node.Name], conflict{Warning: tooLarge, route: r.key()})
	}
}

func nextHop(f cloud.ActualRoute) string {
	if f.Gateway.IsValid() {
		return f.Gateway.String()
	}
	return "no address"
}

// changesRoute says that an operation is part of this sync, and not a creation: only these need a new list.
func (o *operation) changesRoute() bool { return o.verb != create && o.delay == 0 }
