package route

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// oversizedRoutes counts the used tables in which existing routes to oversized networks lead to their Nodes. The slices
// have the order of desired.oversized.
type oversizedRoutes struct {
	routes     []desiredRoute
	correctIn  []int
	usedTables int
}

func (d desired) oversizedRoutes() *oversizedRoutes {
	return &oversizedRoutes{routes: d.oversized, correctIn: make([]int, len(d.oversized))}
}

// addTable counts the correct routes in one more table.
func (o *oversizedRoutes) addTable(p *plan, table cloud.RouteTable, actual map[netip.Prefix][]cloud.ActualRoute) {
	if !table.Used {
		return
	}
	o.usedTables++
	for at, r := range o.routes {
		if slices.ContainsFunc(actual[r.destination], r.matches) {
			o.correctIn[at]++
			p.correctIn[r.destination] = append(p.correctIn[r.destination], table.ID)
		}
	}
}

// addOversized adds the problems of oversized networks. A kubelet chooses the networks that its Node registers with,
// and must not get the traffic of other Nodes' pods. Existing routes do not change, because a running Node may need
// them. A Node with its route in some tables is reported like one whose route a table refuses. A Node with its route in
// all tables only gets a warning.
func (p *plan) addOversized(o *oversizedRoutes) {
	for at, r := range o.routes {
		tooLarge := problem{reasonLarge, fmt.Sprintf(
			"No route to %s is made, and an existing one does not change: the network is larger than the networks "+
				"that nodes of this cluster are given, so other nodes may have parts of it. "+
				"If this is a mistake, find out which program set it, delete this Node, and let it register again. "+
				"If it is intended, set --shortest-node-cidr-mask-size-ipv4 or -ipv6.", r.destination)}
		if o.usedTables > 0 && o.correctIn[at] == o.usedTables {
			p.warnings[r.node.Name] = append(p.warnings[r.node.Name], tooLarge)
			continue
		}
		// Of two Nodes with the same network, one may have its route in a table, and the other in none.
		p.conflicts[r.node.Name] = append(p.conflicts[r.node.Name], conflict{inNoTable: o.correctIn[at] == 0,
			destination: r.destination, problem: tooLarge})
	}
}
