package route

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/nodeipam"
)

// routesOf parses routes: "10.244.1.0/24 by 10.0.0.1". Without "by" there is no address.
func routesOf(texts ...string) []cloud.ActualRoute {
	var routes []cloud.ActualRoute
	for i, text := range texts {
		destination, gateway, hasGateway := strings.Cut(text, " by ")
		route := cloud.ActualRoute{Destination: netip.MustParsePrefix(destination), Handle: i}
		if hasGateway {
			route.Gateway = netip.MustParseAddr(gateway)
		}
		routes = append(routes, route)
	}
	return routes
}

// text is a plan as text: what is added, what is deleted, and which Nodes have conflicts.
func (p plan) text() string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(p.additions)) {
		for _, o := range p.additions[name] {
			all = append(all, fmt.Sprintf("%s: %s %s by %s", name, o.verb, o.route.Destination, o.route.Gateway))
		}
	}
	for _, o := range p.removals {
		all = append(all, fmt.Sprintf("delete %s by %s (%v)", o.actual.Destination, nextHop(o.actual), o.actual.Handle))
	}
	for _, name := range slices.Sorted(maps.Keys(p.conflicts)) {
		all = append(all, "conflict of "+name)
	}
	return strings.Join(all, ", ")
}

func TestPlan(t *testing.T) {
	a, b := node("a", "10.0.0.1 fd00::1", "10.244.1.0/24"), node("b", "10.0.0.2 fd00::2", "10.244.2.0/24")
	dual := node("d", "10.0.0.3 fd00::3", "10.244.3.0/24", "fd00:244:0:3::/64")
	withoutAddress := node("m", "", "10.244.1.0/24")
	old := node("old", "10.0.0.9")
	old.Spec.PodCIDR = "10.244.9.0/24"
	tests := map[string]struct {
		nodes  []*corev1.Node
		routes []cloud.ActualRoute
		unused bool
		want   string
	}{
		"nothing":    {nil, nil, false, ""},
		"a new Node": {[]*corev1.Node{a}, nil, false, "a: create 10.244.1.0/24 by 10.0.0.1"},
		"both families": {[]*corev1.Node{dual}, nil, false,
			"d: create 10.244.3.0/24 by 10.0.0.3, d: create fd00:244:0:3::/64 by fd00::3"},
		"only podCIDR": {[]*corev1.Node{old}, nil, false, "old: create 10.244.9.0/24 by 10.0.0.9"},
		"all there": {[]*corev1.Node{a, b}, routesOf("10.244.2.0/24 by 10.0.0.2",
			"10.244.1.0/24 by 10.0.0.1"), false, ""},
		"twice": {[]*corev1.Node{a}, routesOf("10.244.1.0/24 by 10.0.0.1",
			"10.244.1.0/24 by 10.0.0.1"), false, ""},
		"twice right and once wrong": {[]*corev1.Node{a, b}, routesOf("10.244.1.0/24 by 10.0.0.1",
			"10.244.1.0/24 by 10.0.0.2", "10.244.1.0/24 by 10.0.0.1", "10.244.2.0/24 by 10.0.0.2"), false,
			"delete 10.244.1.0/24 by 10.0.0.2 (1)"},
		"twice, of no Node": {[]*corev1.Node{a}, routesOf("10.244.1.0/24 by 10.0.0.1",
			"10.244.7.0/24 by 10.0.0.1", "10.244.7.0/24 by 10.0.0.1"), false,
			"delete 10.244.7.0/24 by 10.0.0.1 (1), delete 10.244.7.0/24 by 10.0.0.1 (2)"},
		"another Node's": {[]*corev1.Node{a, b}, routesOf("10.244.1.0/24 by 10.0.0.2"), false,
			"a: change 10.244.1.0/24 by 10.0.0.1, b: create 10.244.2.0/24 by 10.0.0.2"},
		"swapped": {[]*corev1.Node{a, b}, routesOf("10.244.1.0/24 by 10.0.0.2",
			"10.244.2.0/24 by 10.0.0.1"), false,
			"a: change 10.244.1.0/24 by 10.0.0.1, b: change 10.244.2.0/24 by 10.0.0.2"},
		"right beside wrong": {[]*corev1.Node{a, b}, routesOf("10.244.1.0/24 by 10.0.0.2",
			"10.244.1.0/24 by 10.0.0.1", "10.244.2.0/24 by 10.0.0.2"), false, "delete 10.244.1.0/24 by 10.0.0.2 (0)"},
		"a Node has another network": {[]*corev1.Node{a}, routesOf("10.244.7.0/24 by 10.0.0.1"), false,
			"a: create 10.244.1.0/24 by 10.0.0.1, delete 10.244.7.0/24 by 10.0.0.1 (0)"},
		"another's destination": {[]*corev1.Node{a}, routesOf("10.244.1.0/24 by 10.0.0.77"), false,
			"conflict of a"},
		"another's beside ours": {[]*corev1.Node{a}, routesOf("10.244.1.0/24 by 10.0.0.77",
			"10.244.1.0/24 by 10.0.0.1"), false, "conflict of a"},
		"other routes": {nil, routesOf("0.0.0.0/0", "10.244.0.0/15 by 10.0.0.1",
			"10.244.5.0/24 by 10.0.0.77", "10.0.0.0/8 by 10.0.0.2"), false, ""},
		"a Node without an address": {[]*corev1.Node{withoutAddress, b}, routesOf("10.244.1.0/24 by 10.0.0.2"), false,
			"b: create 10.244.2.0/24 by 10.0.0.2"},
		"a table that is not used": {[]*corev1.Node{a}, routesOf("10.244.1.0/24 by 10.0.0.1",
			"10.244.1.0/24 by 10.0.0.77"), true, ""},
		"left in a table not used": {[]*corev1.Node{a}, routesOf("10.244.1.0/24 by 10.0.0.1",
			"10.244.7.0/24 by 10.0.0.1", "10.244.8.0/24 by 10.0.0.77"), true, "delete 10.244.7.0/24 by 10.0.0.1 (1)"},
		"another's part of a Node's": {[]*corev1.Node{a}, routesOf("10.244.1.0/24 by 10.0.0.1",
			"10.244.1.128/25 by 10.0.0.77"), false, "conflict of a"},
		"ours in a part of a Node's": {[]*corev1.Node{a}, routesOf("10.244.1.0/24 by 10.0.0.1",
			"10.244.1.128/25 by 10.0.0.1"), false, "delete 10.244.1.128/25 by 10.0.0.1 (1)"},
		"the whole cluster by a Node": {[]*corev1.Node{a}, routesOf("10.244.0.0/16 by 10.0.0.1",
			"10.244.1.0/24 by 10.0.0.1"), false, "delete 10.244.0.0/16 by 10.0.0.1 (0)"},
		"an IPv6 route to IPv4's host": {[]*corev1.Node{dual}, routesOf("10.244.3.0/24 by 10.0.0.3",
			"fd00:244:0:3::/64 by fd00::99"), false, "conflict of d"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			cluster := cloud.PodNetwork{CIDRs: []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16"),
				netip.MustParsePrefix("fd00:244::/48")}, Members: membersOf(tt.nodes)}
			d := newDesired(cluster, tt.nodes, nodeipam.Masks{})
			tables := []cloud.RouteTable{{ID: "main", Name: "main", Used: !tt.unused, Routes: tt.routes}}
			own := ownership{cidrs: cluster.CIDRs, desired: d}
			if got := newPlan(cloud.RouteTables{Tables: tables}, own).text(); got != tt.want {
				t.Errorf("plan:\n got %s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestOwnership: which routes are this cluster's, and why.
func TestOwnership(t *testing.T) {
	inside, gateway := routesOf("10.244.1.0/24 by 10.0.0.1")[0], netip.MustParseAddr("10.0.0.1")
	key := routeKey{"main", inside.Destination, gateway}
	outside := routesOf("10.0.0.0/8 by 10.0.0.1")[0]
	addresses := map[netip.Addr]bool{gateway: true}
	var others, older networks
	others.add(netip.MustParsePrefix("10.244.0.0/20"), "x")
	older.add(inside.Destination, "a")
	toNode, forOthers, ofOlder := desired{addresses: addresses}, desired{addresses: addresses, others: others},
		desired{addresses: addresses, others: others, claims: older}
	was := map[routeKey]bool{key: true}
	managed, abandoned := inside, inside
	managed.Managed, abandoned.Abandoned = true, true
	tests := map[string]struct {
		knowledge ownership
		table     cloud.RouteTable
		found     cloud.ActualRoute
		want      bool
	}{
		"nothing known":         {ownership{}, cloud.RouteTable{ID: "main"}, inside, false},
		"to a Node":             {ownership{desired: toNode}, cloud.RouteTable{ID: "main"}, inside, true},
		"was ours":              {ownership{owned: was}, cloud.RouteTable{ID: "main"}, inside, true},
		"was ours elsewhere":    {ownership{owned: was}, cloud.RouteTable{ID: "side"}, inside, false},
		"to a Node, for others": {ownership{desired: forOthers}, cloud.RouteTable{ID: "main"}, inside, false},
		"to a Node, older":      {ownership{desired: ofOlder}, cloud.RouteTable{ID: "main"}, inside, true},
		"ours, now for others": {ownership{owned: was, desired: desired{others: others}},
			cloud.RouteTable{ID: "main"}, inside, true},
		"exclusive": {ownership{}, cloud.RouteTable{ID: "main", Exclusive: true}, inside, true},
		"managed":   {ownership{}, cloud.RouteTable{ID: "main"}, managed, true},
		"abandoned": {ownership{}, cloud.RouteTable{ID: "main"}, abandoned, true},
		"abandoned, for others": {ownership{desired: desired{others: others, claims: older}},
			cloud.RouteTable{ID: "main"}, abandoned, false},
		"outside, to a Node": {ownership{desired: toNode}, cloud.RouteTable{ID: "main"}, outside, false},
		"outside, exclusive": {ownership{}, cloud.RouteTable{ID: "main", Exclusive: true}, outside, false},
		"outside, but was ours": {ownership{owned: map[routeKey]bool{{"main", outside.Destination, gateway}: true}},
			cloud.RouteTable{ID: "main"}, outside, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tt.knowledge.cidrs = []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16")}
			if got := tt.knowledge.owns(tt.table, tt.found); got != tt.want {
				t.Errorf("owned: %v, want %v", got, tt.want)
			}
		})
	}
}
