package route

import (
	"fmt"
	"net/netip"
	"slices"
)

// before is in how many of the tables that are used a network that is too large has a route to its Node nevertheless, from when it was not.
// It is by the place among the oversized ones of a demand.
type before struct {
	wants  []want
	tables []int
	used   int
}

func (d demand) before() *before {
	return &before{wants: d.oversized, tables: make([]int, len(d.oversized))}
}

// look counts in one more table.
func (b *before) look(table Table, present map[netip.Prefix][]Found) {
	if !table.Used {
		return
	}
	b.used++
	for at, w := range b.wants {
		if slices.ContainsFunc(present[w.destination], w.leads) {
			b.tables[at]++
		}
	}
}

// refuse tells of networks that are too large: a kubelet chooses what its Node registers with, and is not to have the pods of others. What
// is there stays, for it may be a living Node's only way. One that has all its routes does not lack any.
func (p *plan) refuse(b *before) {
	for at, w := range b.wants {
		told := p.refused
		if b.used > 0 && b.tables[at] == b.used {
			told = p.warnings
		}
		told[w.node.Name] = append(told[w.node.Name], notice{reasonLarge, fmt.Sprintf(
			"No route to %s is made, and one that is there stays as it is: the network is larger than any that nodes of this cluster are given, and others may have parts of it. "+
				"If that is not meant, find out who set it, delete this Node, and let it register again; if it is, set --shortest-node-cidr-mask-size-ipv4 or -ipv6.", w.destination)})
	}
}
