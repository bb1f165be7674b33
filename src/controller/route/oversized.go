package route

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// before is in how many of the tables that are used a network that is too large has a route to its Node nevertheless,
// from when it was not. It is by the place among the oversized ones of a demand.
type before struct {
	wants  []want
	tables []int
	used   int
}

func (d demand) before() *before {
	return &before{wants: d.oversized, tables: make([]int, len(d.oversized))}
}

// look counts in one more table, in which they lead where they should.
func (b *before) look(p *plan, table cloud.RouteTable, present map[netip.Prefix][]cloud.ActualRoute) {
	if !table.Used {
		return
	}
	b.used++
	for at, w := range b.wants {
		if slices.ContainsFunc(present[w.destination], w.leads) {
			b.tables[at]++
			p.right[w.destination] = append(p.right[w.destination], table.ID)
		}
	}
}

// refuse tells of networks that are too large: a kubelet chooses what its Node registers with, and is not to have the
// pods of others. What is there stays, for it may be a living Node's only way: a Node that has its route in some of the
// tables is told as one is that a table refuses, and one that has it in all of them does not lack any.
func (p *plan) refuse(b *before) {
	for at, w := range b.wants {
		why := notice{reasonLarge, fmt.Sprintf(
			"No route to %s is made, and an existing one does not change: the network is larger than the networks "+
				"that nodes of this cluster are given, so other nodes may have parts of it. "+
				"If this is a mistake, find out which program set it, delete this Node, and let it register again. "+
				"If it is intended, set --shortest-node-cidr-mask-size-ipv4 or -ipv6.", w.destination)}
		if b.used > 0 && b.tables[at] == b.used {
			p.warnings[w.node.Name] = append(p.warnings[w.node.Name], why)
			continue
		}
		// Of two Nodes with the same network one may have it in a table, and the other in none.
		p.conflicts[w.node.Name] = append(p.conflicts[w.node.Name], conflict{nowhere: b.tables[at] == 0,
			destination: w.destination, notice: why})
	}
}
