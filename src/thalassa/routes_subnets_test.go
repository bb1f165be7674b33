package thalassa

import (
	"strings"
	"testing"
	"time"

	"github.com/thalassa-cloud/client-go/iaas"
	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/inventory"
)

// newSubnet makes a subnet whose route table is the one of the side.
func (l *land) newSubnet(cidr string) string {
	l.Helper()
	table := sideTable
	subnet, err := l.api().CreateSubnet(l.Context(), iaas.CreateSubnet{Name: "new", VpcIdentity: emulator.DefaultVPC,
		Cidr: cidr, AssociatedRouteTableIdentity: &table})
	if err != nil {
		l.Fatal(err)
	}
	return subnet.Identity
}

// TestNewSubnet: its table has all routes as soon as a node is in it, although the VPC is read seldom.
func TestNewSubnet(t *testing.T) {
	inLand(t, emulator.Switches{}, func(l *land) {
		a := l.join("a", "10.244.1.0/24")
		l.begin()
		l.wait(2 * time.Minute)
		b := l.joinIn(l.newSubnet("10.0.192.0/24"), "b", "10.244.2.0/24")
		l.wait(10 * time.Second)
		both := "10.244.1.0/24 by " + a[0] + ", 10.244.2.0/24 by " + b[0]
		l.is("routes of the table", l.has(mainTable), both)
		l.is("routes of the new subnet's table", l.has(sideTable), both)
		l.is("condition", l.condition("b"), routeCreated)
		l.is("events", l.events(), "")
	})
}

// TestSubnetThatIsNotShown is told to its nodes, which say so as long as they have not said anything else; the others
// get their routes.
func TestSubnetThatIsNotShown(t *testing.T) {
	inLand(t, emulator.Switches{}, func(l *land) {
		a := l.join("a", "10.244.1.0/24")
		l.begin()
		subnet := l.newSubnet("10.0.192.0/24")
		l.disturb("GET /v1/vpcs/{id}", 0, fault.Effect{Kind: fault.Refuse, Status: 502})
		l.wait(2 * time.Minute)
		b := l.joinIn(subnet, "b", "10.244.2.0/24")
		l.wait(10 * time.Second)
		both := "10.244.1.0/24 by " + a[0] + ", 10.244.2.0/24 by " + b[0]
		l.is("routes of the table", l.has(mainTable), both)
		l.is("condition", l.condition("b"), noRouteCreated)
		l.is("condition of the other", l.condition("a"), routeCreated)
		l.is("events", l.events(), "RouteTableNotFound")
		l.emulator.ClearFaults()
		l.wait(2 * aPeriod)
		l.is("routes of the new subnet's table", l.has(sideTable), both)
		l.is("condition", l.condition("b"), routeCreated)
	})
}

// TestSubnetWithoutTable concerns only the nodes in it, and is no reason to think that tables are not needed.
func TestSubnetWithoutTable(t *testing.T) {
	inLand(t, emulator.Switches{}, func(l *land) {
		a, b := l.join("a"), l.joinIn(sideSubnet, "b")
		l.begin()
		member := func(name string, addresses []string) cloud.RouteMember {
			n := &corev1.Node{}
			n.Name = name
			return cloud.RouteMember{Node: n, Known: true, Addresses: parsed(addresses)}
		}
		shown := []inventory.RouteTable{{ID: mainTable, Subnets: []string{emulator.DefaultSubnet}}}
		got, err := l.cloud.routes.placed(l.Context(), shown, []cloud.RouteMember{member("a", a), member("b", b)})
		if err != nil || !got.used[mainTable] || len(got.used) != 1 || got.certain {
			l.Errorf("placed %+v, error %v", got, err)
		}
		if why := got.unserved["b"]; len(got.unserved) != 1 || !strings.Contains(why, sideSubnet) {
			l.Errorf("told: %v", got.unserved)
		}
	})
}
