package thalassa

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/thalassa-cloud/client-go/iaas"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
)

const routeCreated, noRouteCreated = "False RouteCreated", "True NoRouteCreated"

// answers are all ways in which the cloud may treat what no source tells of routes.
func answers() map[string]emulator.Switches {
	return map[string]emulator.Switches{
		"as guessed":           {},
		"duplicates":           {DuplicateRoutes: true},
		"answers with tables":  {RouteAnswer: emulator.AnswerTable},
		"answers with nothing": {RouteAnswer: emulator.AnswerNothing},
		"a list for nothing":   {RouteAnswer: emulator.AnswerNothing, DoneStatus: 200, DoneBody: emulator.ListBody},
		"bare lists":           {BareRouteTables: true},
		"no filters":           {IgnoredFilters: []string{"vpc"}},
		"conflicts are 400":    {ConflictStatus: 400, CreateStatus: 200},
		"merging":              {Updates: emulator.Merge, DoneStatus: 202},
	}
}

// TestRoutesOfNodes come, change and go with their Nodes, whatever the cloud does that nobody tells.
func TestRoutesOfNodes(t *testing.T) {
	for name, switches := range answers() {
		t.Run(name, func(t *testing.T) {
			inLand(t, switches, func(l *land) {
				a := l.join("a", "10.244.1.0/24", "fd00:244:0:1::/64")
				l.begin()
				both := "10.244.1.0/24 by " + a[0] + ", fd00:244:0:1::/64 by " + a[1]
				l.is("routes", l.has(mainTable), both)
				l.is("routes of the other table, in whose subnet no node is", l.has(sideTable), "")
				l.is("condition", l.condition("a"), routeCreated)

				b := l.join("b", "10.244.2.0/24")
				l.wait(3 * time.Second)
				l.is("routes with b", l.has(mainTable), strings.Replace(both, ", fd", ", 10.244.2.0/24 by "+b[0]+", fd",
					1))
				l.emulator.ResetCounters()
				l.begin()
				l.wait(2 * aPeriod)
				if writes := l.writes(); len(writes) > 0 {
					l.Errorf("writes after a restart: %v", writes)
				}
				l.leave("b")
				l.wait(3 * time.Second)
				l.is("routes without b, whose machine is still there", l.has(mainTable), both)
				l.leave("a")
				c := l.join("c", "10.244.1.0/24")
				l.wait(3 * time.Second)
				l.is("routes with c in the place of a", l.has(mainTable), "10.244.1.0/24 by "+c[0])
				l.is("events", l.events(), "")
				l.wait(aPeriod)
				l.loses(mainTable, "10.244.1.0/24")
				l.wait(aPeriod)
				l.is("routes after somebody removed one", l.has(mainTable), "10.244.1.0/24 by "+c[0])
				l.is("events", l.events(), "RouteRestored")
			})
		})
	}
}

// TestDriftSoonAfter: a route that somebody removes as soon as a list has shown it is back within the period, too, and
// so is the one that is made then.
func TestDriftSoonAfter(t *testing.T) {
	inLand(t, emulator.Switches{}, func(l *land) {
		const period = 10
		l.config.Routes.DriftPeriod = period
		a := l.join("a", "10.244.1.0/24")
		l.begin()
		for range 2 {
			l.wait(seconds(period))
			l.loses(mainTable, "10.244.1.0/24")
			l.wait(seconds(period))
			l.is("routes", l.has(mainTable), "10.244.1.0/24 by "+a[0])
			l.is("events", l.events(), "RouteRestored")
		}
	})
}

// TestStart costs a list, and one more call for each table as long as there is no route at all: then the list may be
// one without routes.
func TestStart(t *testing.T) {
	inLand(t, emulator.Switches{}, func(l *land) {
		l.join("a", "10.244.1.0/24")
		l.counted()
		l.begin()
		l.is("calls of the first start", l.counted(), "GET /v1/machines 1, GET /v1/route-tables 1, GET "+
			"/v1/route-tables/{id} 2, GET /v1/vpcs/{id} 1, POST /v1/route-tables/{id}/routes 1")
		l.begin()
		l.is("calls of the second", l.counted(), "GET /v1/machines 1, GET /v1/route-tables 1, GET /v1/vpcs/{id} 1")
	})
}

// TestTablesOfSubnets: each table that a subnet of nodes uses has all routes. One that none uses any more keeps those
// of living nodes, by which others may reach pods, and no others.
func TestTablesOfSubnets(t *testing.T) {
	inLand(t, emulator.Switches{}, func(l *land) {
		a := l.join("a", "10.244.1.0/24")
		b := l.joinIn(sideSubnet, "b", "10.244.2.0/24")
		l.begin()
		both := "10.244.1.0/24 by " + a[0] + ", 10.244.2.0/24 by " + b[0]
		l.is("routes of one", l.has(mainTable), both)
		l.is("routes of the other", l.has(sideTable), both)
		l.leave("b")
		l.wait(3 * time.Second)
		l.is("routes of one", l.has(mainTable), "10.244.1.0/24 by "+a[0])
		l.is("routes of the other", l.has(sideTable), "10.244.1.0/24 by "+a[0])
		c := l.join("c", "10.244.3.0/24")
		l.wait(3 * time.Second)
		l.is("routes of the other with one more node", l.has(sideTable), "10.244.1.0/24 by "+a[0])
		both = "10.244.1.0/24 by " + a[0] + ", 10.244.3.0/24 by " + c[0]
		l.joinIn(sideSubnet, "control") // has no pods of its own, but reaches others
		l.wait(3 * time.Second)
		l.is("routes of the other with a node that needs none", l.has(sideTable), both)

		empty := "" // gives the side subnet the default table
		if _, err := l.api().UpdateSubnet(l.Context(), sideSubnet, iaas.UpdateSubnet{Name: "side",
			AssociatedRouteTableIdentity: &empty}); err != nil {
			l.Fatal(err)
		}
		l.wait(aPeriod)
		l.leave("c")
		l.wait(3 * time.Second)
		l.is("routes of the table that its subnet left", l.has(sideTable), "10.244.1.0/24 by "+a[0])
		l.is("routes of the table that it came to", l.has(mainTable), "10.244.1.0/24 by "+a[0])
	})
}

// TestConfiguredTable gets the routes, and no other gets any more. One that is not there is said on the nodes that
// wait, and that subnets of nodes use another one on those nodes. They need what is in that one as long as they are
// there.
func TestConfiguredTable(t *testing.T) {
	inLand(t, emulator.Switches{}, func(l *land) {
		a := l.join("a", "10.244.1.0/24")
		l.begin()
		l.config.Routes.Table = "missing"
		b := l.join("b", "10.244.2.0/24")
		l.begin()
		l.is("routes", l.has(mainTable), "10.244.1.0/24 by "+a[0])
		l.is("events", l.events(), "RoutesNotKnown")
		for _, reference := range []string{"side", sideTable} {
			l.config.Routes.Table = reference
			l.begin()
			l.wait(3 * time.Second)
			l.is("routes", l.has(sideTable), "10.244.1.0/24 by "+a[0]+", 10.244.2.0/24 by "+b[0])
			l.is("routes of the other table", l.has(mainTable), "10.244.1.0/24 by "+a[0])
			l.is("events", l.events(), "OtherRouteTable OtherRouteTable")
		}
		l.leave("a")
		l.wait(3 * time.Second)
		l.is("routes of the other table without its node", l.has(mainTable), "")
	})
}

// TestForeignRoutesOfTheVPC are not touched, and reported where they are in the way.
func TestForeignRoutesOfTheVPC(t *testing.T) {
	inLand(t, emulator.Switches{}, func(l *land) {
		address := l.firewall()
		gateway, err := l.api().CreateNatGateway(l.Context(), iaas.CreateVpcNatGateway{Name: "n",
			SubnetIdentity: emulator.DefaultSubnet, ConfigureDefaultRoute: true})
		if err != nil || gateway.Identity == "" {
			l.Fatal(err)
		}
		l.byHand(mainTable, "10.99.0.0/16", address)
		l.byHand(mainTable, "10.244.1.0/24", address)
		before := l.has(mainTable)
		l.join("a", "10.244.1.0/24")
		l.begin()
		l.wait(5 * aPeriod)
		l.is("routes", l.has(mainTable), before)
		l.is("condition", l.condition("a"), noRouteCreated)
		l.is("events", l.events(), "RouteConflict RouteLeftBehind")
	})
}

// TestLeftBehind: what a node left that went while no process ran is reported once and stays, whether its machine is
// there or not. In a table that is only this cluster's, it is removed, with all that leads to no node. Routes to
// elsewhere stay.
func TestLeftBehind(t *testing.T) {
	inLand(t, emulator.Switches{}, func(l *land) {
		a, b := l.join("a", "10.244.1.0/24"), l.join("b", "10.244.2.0/24")
		l.begin()
		l.byHand(mainTable, "10.99.0.0/16", b[0])
		l.process.End()
		l.leave("b")
		l.begin()
		left := "10.244.1.0/24 by " + a[0] + ", 10.244.2.0/24 by " + b[0] + ", 10.99.0.0/16 by " + b[0]
		l.is("events", l.events(), "RouteLeftBehind")
		l.wait(3 * aPeriod)
		l.is("routes while b's machine is there", l.has(mainTable), left)
		if err := l.emulator.DeleteMachine("b"); err != nil {
			l.Fatal(err)
		}
		l.wait(3 * aPeriod)
		l.is("routes without b's machine", l.has(mainTable), left)
		l.is("events later", l.events(), "")
		l.config.Routes.Table, l.config.Routes.Exclusive = mainTable, true
		l.begin()
		l.is("routes of its own table", l.has(mainTable), "10.244.1.0/24 by "+a[0]+", 10.99.0.0/16 by "+b[0])
	})
}

// TestRoutesWithoutPermission are reported with the right that is missing.
func TestRoutesWithoutPermission(t *testing.T) {
	inLand(t, emulator.Switches{}, func(l *land) {
		l.join("a", "10.244.1.0/24")
		l.disturb("POST /v1/route-tables/{id}/routes", 0, fault.Effect{Kind: fault.Forbidden})
		l.begin()
		event := <-l.process.Recorder.Events
		if !strings.Contains(event, "FailedToCreateRoute") ||
			!strings.Contains(event, "need the permission to write route tables") {
			l.Errorf("reported: %s", event)
		}
		l.is("condition", l.condition("a"), noRouteCreated)
		_ = l.cloud.Ready() // asks
		l.wait(time.Second)
		if err := l.cloud.Ready(); err != nil {
			l.Errorf("the process is not ready because of it: %v", err)
		}
	})
}

// TestCrashesBetweenRoutes: a process that ends after any write leaves what the next one completes.
func TestCrashesBetweenRoutes(t *testing.T) {
	t.Parallel()
	for writes := range 6 {
		for _, happened := range []bool{false, true} {
			inLand(t, emulator.Switches{}, func(l *land) {
				l.config.Routes.Table, l.config.Routes.Exclusive = mainTable, true
				l.byHand(mainTable, "10.244.9.0/24", "10.0.0.200")
				var want []string
				for i := range 4 {
					address := l.join(fmt.Sprintf("n%d", i), fmt.Sprintf("10.244.%d.0/24", i))
					want = append(want, fmt.Sprintf("10.244.%d.0/24 by %s", i, address[0]))
				}
				alive := l.network
				l.network = &failing{next: alive, writes: writes, happened: happened}
				l.begin()
				l.wait(aPeriod)
				l.network = alive
				l.begin()
				l.wait(aPeriod)
				l.is(fmt.Sprintf("routes after a crash at write %d, happened %v", writes, happened), l.has(mainTable),
					strings.Join(want, ", "))
			})
		}
	}
}

// TestNodesInOtherVPCs: when no node is where the configuration says, something is wrong, and nothing is changed.
func TestNodesInOtherVPCs(t *testing.T) {
	inLand(t, emulator.Switches{}, func(l *land) {
		a := l.join("a", "10.244.1.0/24")
		l.begin()
		l.leave("a")
		l.register("far", "m-far", []string{"172.16.0.1"}, "10.244.2.0/24")
		l.begin()
		l.wait(aPeriod)
		l.is("routes", l.has(mainTable), "10.244.1.0/24 by "+a[0])
		l.is("events", l.events(), "RoutesNotKnown")
	})
}

// TestNodesWithoutMachines are in a subnet that nobody knows: nothing is removed from any table meanwhile.
func TestNodesWithoutMachines(t *testing.T) {
	inLand(t, emulator.Switches{}, func(l *land) {
		a := l.join("a", "10.244.1.0/24")
		b := l.joinIn(sideSubnet, "b", "10.244.2.0/24")
		l.begin()
		before := l.has(sideTable)
		l.leave("b")
		l.register("b", "m-gone", b, "10.244.2.0/24")
		l.wait(aPeriod)
		l.is("routes of the table whose only node has no machine", l.has(sideTable), before)
		l.is("routes of the other", l.has(mainTable), "10.244.1.0/24 by "+a[0]+", 10.244.2.0/24 by "+b[0])
		l.is("events", l.events(), "")
	})
}

// TestAbandonedRoute: the route of a Node that was deleted while no process ran leads to the Node that has its network
// now, if that certainly runs on its machine. It does not change if the list of machines lacks some.
func TestAbandonedRoute(t *testing.T) {
	t.Parallel()
	const network, nowhere = "10.244.1.0/24", "10.0.0.200"
	join := func(l *land) []string { return l.join("a", network) }
	tests := map[string]struct {
		join    func(l *land) (addresses []string)
		changes bool
	}{
		"a Node on its machine": {join, true},
		"a Node with another name than its machine": {func(l *land) []string {
			address := l.firewall()
			l.register("a", l.machine("firewall"), []string{address}, network)
			return []string{address}
		}, false},
		"a list that lacks machines": {func(l *land) []string {
			l.disturb("GET /v1/machines", 0, fault.Effect{Kind: fault.Partial})
			return join(l)
		}, false},
		"beside a Node without a machine": {func(l *land) []string {
			l.register("ghost", "m-none", nil, "10.244.5.0/24")
			return join(l)
		}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			inLand(t, emulator.Switches{}, func(l *land) {
				l.byHand(mainTable, network, nowhere)
				for i := range 20 {
					l.join(fmt.Sprintf("n%d", i), fmt.Sprintf("10.244.1%02d.0/24", i))
				}
				l.begin()
				l.wait(aPeriod)
				want := tt.join(l)[0]
				l.wait(2 * aPeriod)
				if !tt.changes {
					want = nowhere
				}
				if has := l.has(mainTable); !strings.Contains(has, network+" by "+want) {
					t.Errorf("routes %s, want %s by %s", has, network, want)
				}
				if events := l.events(); strings.Contains(events, "RouteConflict") == tt.changes {
					t.Errorf("events %s", events)
				}
			})
		})
	}
}
