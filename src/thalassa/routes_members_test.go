package thalassa

import (
	"strings"
	"testing"
	"time"

	"github.com/thalassa-cloud/client-go/iaas"
	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// claims lets a Node say that it has an address.
func (l *land) claims(node, address string) {
	l.Helper()
	l.change(node, func(n *corev1.Node) {
		n.Status.Addresses = append(n.Status.Addresses, internal([]string{address})...)
	})
}

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

// TestForgedAddresses: which addresses a Node says it has counts for nothing. It gets no route of others removed, and
// no table filled.
func TestForgedAddresses(t *testing.T) {
	tests := map[string]func(l *land, firewall string){
		"the firewall's":    func(l *land, firewall string) { l.claims("a", firewall) },
		"in another subnet": func(l *land, _ string) { l.claims("a", "10.0.128.77") },
		"nobody's":          func(l *land, _ string) { l.claims("a", "10.0.100.100") },
		"of a Node without one": func(l *land, firewall string) {
			l.register("x", "m-none", []string{firewall, "10.0.128.77"}, "10.244.9.0/24")
		},
		"another Node's": func(l *land, _ string) {
			l.change("a", func(n *corev1.Node) { n.Status.Addresses = internal([]string{"10.0.0.3"}) })
		},
	}
	for name, forge := range tests {
		t.Run(name, func(t *testing.T) {
			inLand(t, emulator.Switches{}, func(l *land) {
				a := l.join("a", "10.244.1.0/24")
				firewall := l.firewall()
				l.begin()
				want := "10.244.1.0/24 by " + a[0] + ", 10.244.77.0/24 by " + firewall
				forge(l, firewall)
				l.wait(3 * aPeriod)
				l.is("routes", l.has(mainTable), want)
				l.is("routes of a table that no node uses", l.has(sideTable), "")
			})
		})
	}
}

// TestForgedProviderID: a kubelet that registers with the identity of another machine, which is no Node's, gets a route
// to that one for its own pods, and those of others stay. A name in its place, which the machine has, is believed.
func TestForgedProviderID(t *testing.T) {
	inLand(t, emulator.Switches{}, func(l *land) {
		a := l.join("a", "10.244.1.0/24")
		firewall := l.firewall()
		l.begin()
		l.register("x", l.machine("firewall"), []string{firewall}, "10.244.9.0/24")
		l.wait(3 * aPeriod)
		both := "10.244.1.0/24 by " + a[0] + ", 10.244.77.0/24 by " + firewall
		l.is("routes", l.has(mainTable), both+", 10.244.9.0/24 by "+firewall)
		l.is("condition", l.condition("x"), routeCreated)
		l.leave("x")
		l.wait(3 * time.Second)
		l.is("routes without it", l.has(mainTable), both)
		l.is("events", l.events(), "RouteLeftBehind") // of the one to the firewall
		l.register("firewall", l.machine("firewall"), []string{firewall}, "10.244.9.0/24")
		l.wait(3 * time.Second)
		l.is("routes with a Node on the firewall", l.has(mainTable), "10.244.1.0/24 by "+a[0]+", 10.244.9.0/24 by "+
			firewall)
	})
}

// TestMachineHasAnotherAddress: its routes lead to that one, although its kubelet still says the old one.
func TestMachineHasAnotherAddress(t *testing.T) {
	inLand(t, emulator.Switches{}, func(l *land) {
		a := l.join("a", "10.244.1.0/24")
		l.begin()
		l.wait(aPeriod)
		side := sideSubnet
		machine, err := l.api().UpdateMachine(l.Context(), l.machine("a"), iaas.UpdateMachine{Name: "a", Subnet: &side})
		if err != nil {
			l.Fatal(err)
		}
		l.wait(2 * aPeriod)
		now := "10.244.1.0/24 by " + machine.Interfaces[0].IPAddresses[0]
		if strings.Contains(now, a[0]) {
			l.Fatalf("the machine has still %s", a[0])
		}
		l.is("routes of the table that it is in now", l.has(sideTable), now)
	})
}

// machine is the one that a Node runs on.
func (l *land) machine(node string) string {
	l.Helper()
	all, err := l.api().ListMachines(l.Context(), &iaas.ListMachinesRequest{})
	if err != nil {
		l.Fatal(err)
	}
	for _, one := range all {
		if one.Slug == node {
			return one.Identity
		}
	}
	l.Fatalf("no machine %s", node)
	return ""
}
