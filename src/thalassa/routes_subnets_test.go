package thalassa

import (
	"testing"
	"time"

	"github.com/thalassa-cloud/client-go/iaas"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
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

// TestSubnetThatIsNotShown is reported on its nodes, whose conditions say so as long as they have not said anything
// else; the others get their routes.
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
