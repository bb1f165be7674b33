package thalassa

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
)

// firewall adds a machine that is no Node, and a route of somebody to it inside the cluster's networks.
func (l *land) firewall() (address string) {
	l.Helper()
	id, err := l.emulator.AddMachine(emulator.MachineSpec{Name: "firewall"})
	if err != nil {
		l.Fatal(err)
	}
	machine, err := l.api().GetMachine(l.Context(), id)
	if err != nil {
		l.Fatal(err)
	}
	address = machine.Interfaces[0].IPAddresses[0]
	l.byHand(mainTable, "10.244.77.0/24", address)
	return address
}

// TestListsThatLackMachines are no proof that nobody has an address: not partial ones, and not one that is old.
func TestListsThatLackMachines(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		effect fault.Effect
		times  int
	}{
		"partial": {fault.Effect{Kind: fault.Partial}, 0},
		"old":     {fault.Effect{Kind: fault.Stale, Delay: 10 * time.Minute}, 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			inLand(t, emulator.Switches{}, func(l *land) {
				for i := range 20 {
					l.join(fmt.Sprintf("n%d", i), fmt.Sprintf("10.244.1%02d.0/24", i))
				}
				l.begin()
				l.wait(aPeriod)
				l.firewall()
				before := l.has(mainTable)
				l.disturb("GET /v1/machines", tt.times, tt.effect)
				l.wait(aPeriod)
				for range 4 {
					l.change("n0", func(n *corev1.Node) {
						n.Status.Addresses = append(n.Status.Addresses, internal([]string{"192.0.2.1"})...)
					})
					l.wait(aPeriod)
				}
				l.is("routes", l.has(mainTable), before)
			})
		})
	}
}

// TestFreeSamples: what Nodes have proves that a list is complete, by family, and says nothing of addresses outside
// of the VPC.
func TestFreeSamples(t *testing.T) {
	inLand(t, emulator.Switches{}, func(l *land) {
		first := l.join("a")
		member := func(addresses ...string) cloud.RouteMember {
			return cloud.RouteMember{Node: &corev1.Node{}, Known: true, Addresses: parsed(addresses)}
		}
		only4, both, gone := member(first[0]), member(append(first, "192.0.2.1")...), member("10.0.0.222")
		asked := []netip.Addr{netip.MustParseAddr("10.0.0.200"), netip.MustParseAddr("fd00:0:0:1::200"),
			netip.MustParseAddr("172.16.0.1"), netip.MustParseAddr(first[0])}
		tests := map[string]struct {
			members []cloud.RouteMember
			want    string
		}{
			"no Node":                  {nil, "[]"},
			"a Node with IPv4":         {[]cloud.RouteMember{only4}, "[10.0.0.200]"},
			"a Node with both":         {[]cloud.RouteMember{both}, "[10.0.0.200 fd00:0:0:1::200]"},
			"a Node that nobody lists": {[]cloud.RouteMember{both, gone}, "the list is not complete"},
			"a Node of no machine":     {[]cloud.RouteMember{both, {Node: &corev1.Node{}}}, "the list is not complete"},
		}
		for name, tt := range tests {
			free, err := l.cloud.routes.FreeAddresses(l.Context(), cloud.PodNetwork{Members: tt.members}, asked)
			if got := fmt.Sprint(free, err); !strings.Contains(got, tt.want) {
				t.Errorf("%s: %s, want %s", name, got, tt.want)
			}
		}
	})
}

// TestNodeOfNoMachine is informed that it keeps what others left behind from being removed. It does not where that is
// known to be the cluster's, also in a table that no node uses.
func TestNodeOfNoMachine(t *testing.T) {
	inLand(t, emulator.Switches{}, func(l *land) {
		a := l.join("a", "10.244.1.0/24")
		l.byHand(mainTable, "10.244.9.0/24", "10.0.0.200")
		l.byHand(sideTable, "10.244.1.0/24", a[0])
		l.byHand(sideTable, "10.244.8.0/24", a[0])
		l.begin()
		l.register("x", "m-none", nil, "10.244.5.0/24")
		l.is("events", l.events(), "")
		l.byHand(sideTable, "10.244.5.0/24", a[0])
		l.byHand(sideTable, "10.244.7.0/24", a[0])
		l.wait(3 * aPeriod)
		living := "10.244.1.0/24 by " + a[0]
		l.is("routes", l.has(mainTable), living+", 10.244.9.0/24 by 10.0.0.200")
		l.is("routes of the other table", l.has(sideTable), living+", 10.244.5.0/24 by "+a[0])
		l.is("events", l.events(), "RouteCleanUpStopped")
		l.leave("x")
		l.wait(3 * aPeriod)
		l.is("routes without it", l.has(mainTable), living)
		l.is("routes of the other table", l.has(sideTable), living)
		l.is("events", l.events(), "RouteLeftBehind")
	})
}
