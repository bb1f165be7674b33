package inventory

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thalassa-cloud/client-go/iaas"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/store"
)

const listTables = "GET /v1/route-tables"

// defaultTable is the identity of the VPC's own route table.
func (w *rig) defaultTable() string {
	w.Helper()
	for _, table := range must[[]RouteTable](w)(w.RouteTables(w.Context(), time.Hour)) {
		if table.Default {
			return table.ID
		}
	}
	w.Fatal("there is no default route table")
	return ""
}

// ways are the routes of a table, from a list at most so old: "10.244.1.0/24 by 10.0.0.5".
func (w *rig) ways(table string, maxAge time.Duration) string {
	w.Helper()
	var ways []string
	for _, one := range must[[]RouteTable](w)(w.RouteTables(w.Context(), maxAge)) {
		for _, route := range one.Routes {
			if one.ID == table {
				ways = append(ways, fmt.Sprintf("%s by %s", route.Destination, route.Gateway))
			}
		}
	}
	return strings.Join(ways, ", ")
}

func (w *rig) route(table, destination, gateway string) {
	w.Helper()
	w.ok(w.CreateRoute(w.Context(), table, netip.MustParsePrefix(destination), netip.MustParseAddr(gateway)))
}

// routeID is the identity of a route that the copy has.
func (w *rig) routeID(table, destination string) string {
	w.Helper()
	for _, one := range must[[]RouteTable](w)(w.RouteTables(w.Context(), time.Hour)) {
		at := slices.IndexFunc(one.Routes, func(r Route) bool { return r.Destination.String() == destination })
		if one.ID == table && at >= 0 {
			return one.Routes[at].ID
		}
	}
	w.Fatalf("no route to %s", destination)
	return ""
}

// TestRoutesAreKept: one list shows tables and routes, and our own writes are in the copy without another one.
func TestRoutesAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newRig(t, emulator.Config{})
		table := w.defaultTable()
		w.route(table, "10.244.1.0/24", "10.0.0.5")
		w.restart()
		w.calls("")
		if got := w.ways(table, time.Hour); got != "10.244.1.0/24 by 10.0.0.5" {
			t.Errorf("routes %q", got)
		}
		w.route(table, "10.244.2.0/24", "10.0.0.6")
		w.ok(w.ChangeRoute(t.Context(), table, w.routeID(table, "10.244.1.0/24"),
			netip.MustParsePrefix("10.244.1.0/24"), netip.MustParseAddr("10.0.0.7")))
		want := "10.244.1.0/24 by 10.0.0.7, 10.244.2.0/24 by 10.0.0.6"
		if got := w.ways(table, time.Hour); got != want {
			t.Errorf("routes %q, want %q", got, want)
		}
		if got := w.ways(table, Fresh); got != want {
			t.Errorf("routes by a new list %q, want %q", got, want)
		}
		w.ok(w.DeleteRoute(t.Context(), table, w.routeID(table, "10.244.1.0/24")))
		if got := w.ways(table, time.Hour); got != "10.244.2.0/24 by 10.0.0.6" {
			t.Errorf("routes after a deletion %q", got)
		}
		if lists := w.calls(listTables); lists != 2 {
			t.Errorf("%d lists, want one, and the one that was asked for", lists)
		}
	})
}

// TestTablesAreThoseOfTheVPC, each with its subnets.
func TestTablesAreThoseOfTheVPC(t *testing.T) {
	for _, switches := range []emulator.Switches{{}, {IgnoredFilters: []string{"vpc"}}, {BareRouteTables: true}} {
		w := newRig(t, emulator.Config{Switches: switches})
		w.post(iaas.RouteTableEndpoint, iaas.CreateRouteTable{Name: "far", VpcIdentity: otherVPC})
		side := w.post(iaas.RouteTableEndpoint, iaas.CreateRouteTable{Name: "Side", VpcIdentity: emulator.DefaultVPC})
		tables := must[[]RouteTable](w)(w.RouteTables(t.Context(), time.Hour))
		if len(tables) != 2 {
			t.Fatalf("%+v: tables %+v", switches, tables)
		}
		for _, table := range tables {
			subnets := slices.Sorted(slices.Values(table.Subnets))
			switch {
			case table.ID == side && table.Slug == "side" && !table.Default &&
				len(subnets) == 0:
			case table.Default &&
				slices.Equal(subnets, slices.Sorted(slices.Values([]string{emulator.DefaultSubnet, otherSubnet}))):
			default:
				t.Errorf("%+v: table %+v", switches, table)
			}
		}
	}
}

// TestRoutesThatListsLack are asked for before they count as gone, and what was just made is there although a list does
// not show it.
func TestRoutesThatListsLack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newRig(t, emulator.Config{})
		table := w.defaultTable()
		for _, destination := range []string{"10.244.1.0/24", "10.244.2.0/24", "10.244.3.0/24"} {
			w.route(table, destination, "10.0.0.5")
		}
		<-time.After(2 * store.VisibilityDelay)
		want := w.ways(table, Fresh)
		w.injectFault(listTables, 1, fault.Effect{Kind: fault.Stale, Delay: 3 * store.VisibilityDelay})
		if got := w.ways(table, Fresh); got != want {
			t.Errorf("by an old list: %q, want %q", got, want)
		}
		gone := w.routeID(table, "10.244.2.0/24")
		w.ok(client.Delete(t.Context(), w.Inventory.cloud, routesOf(table)+"/"+gone))
		if got := w.ways(table, Fresh); strings.Contains(got, "10.244.2.0/24") ||
			!strings.Contains(got, "10.244.3.0/24") {
			t.Errorf("after one was removed by hand: %q", got)
		}
		w.injectFault(listTables, 1, fault.Effect{Kind: fault.Stale, Delay: time.Second})
		w.route(table, "10.244.4.0/24", "10.0.0.5")
		if got := w.ways(table, Fresh); !strings.Contains(got, "10.244.4.0/24") {
			t.Errorf("what was just made is not there: %q", got)
		}
		w.injectFault("GET /v1/route-tables/{id}/routes/{route}", 1, fault.Effect{Kind: fault.Refuse, Status: 503})
		w.ok(client.Delete(t.Context(), w.Inventory.cloud, routesOf(table)+"/"+w.routeID(table, "10.244.3.0/24")))
		w.injectFault("GET *", 20, fault.Effect{Kind: fault.Refuse, Status: 400})
		if _, err := w.RouteTables(t.Context(), Fresh); err == nil {
			t.Error("a list that failed is an answer")
		}
	})
}

// TestRoutesAfterRefusals: after a write that may have happened, or was refused because the copy is wrong, the next
// reader lists.
func TestRoutesAfterRefusals(t *testing.T) {
	tests := map[string]struct {
		effect fault.Effect
		lists  int
	}{
		"refused":   {fault.Effect{Kind: fault.Refuse, Status: 400}, 1},
		"lost":      {fault.Effect{Kind: fault.Drop}, 1},
		"throttled": {fault.Effect{Kind: fault.Refuse, Status: 429}, 0},
		"forbidden": {fault.Effect{Kind: fault.Forbidden}, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newRig(t, emulator.Config{})
				table := w.defaultTable()
				w.route(table, "10.244.1.0/24", "10.0.0.5")
				w.injectFault("POST *", 20, tt.effect)
				err := w.CreateRoute(t.Context(), table, netip.MustParsePrefix("10.244.2.0/24"),
					netip.MustParseAddr("10.0.0.5"))
				if err == nil {
					t.Fatal("a write that was disturbed succeeded")
				}
				if needs := strings.Contains(err.Error(),
					"the permission to write route tables"); needs != (name == "forbidden") {
					t.Errorf("error %v", err)
				}
				w.calls("")
				w.ways(table, time.Hour)
				if lists := w.calls(listTables); lists != tt.lists {
					t.Errorf("%d lists afterwards, want %d", lists, tt.lists)
				}
			})
		})
	}
	w := newRig(t, emulator.Config{})
	table := w.defaultTable()
	w.ok(w.DeleteRoute(t.Context(), table, "rte-gone"))
	if err := w.ChangeRoute(t.Context(), table, "rte-gone", netip.MustParsePrefix("10.244.2.0/24"),
		netip.MustParseAddr("10.0.0.5")); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("changing a route that is gone: %v", err)
	}
}

// TestRouteBodies are those of the official client.
func TestRouteBodies(t *testing.T) {
	ours, theirs, record := bodies(t)
	destination, gateway := netip.MustParsePrefix("10.244.1.0/24"), netip.MustParseAddr("10.0.0.5")
	if err := errors.Join(ours.CreateRoute(t.Context(), "rtb-1", destination, gateway),
		ours.ChangeRoute(t.Context(), "rtb-1", "rte-1", destination, gateway)); err != nil {
		t.Fatal(err)
	}
	if _, err := theirs.CreateRouteTableRoute(t.Context(), "rtb-1",
		iaas.CreateRouteTableRoute{DestinationCidrBlock: "10.244.1.0/24", GatewayAddress: "10.0.0.5"}); err != nil {
		t.Fatal(err)
	}
	if _, err := theirs.UpdateRouteTableRoute(t.Context(), "rtb-1", "rte-1",
		iaas.UpdateRouteTableRoute{DestinationCidrBlock: "10.244.1.0/24", GatewayAddress: "10.0.0.5"}); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		if got, want := fmt.Sprint(record.sent[i]), fmt.Sprint(record.sent[i+2]); got != want {
			t.Errorf("we send %s, the official client %s", got, want)
		}
	}
}

// TestRouteTargets may be shown by identity, as objects, or both. The address of an object is no node's.
func TestRouteTargets(t *testing.T) {
	for shown, gateway := range map[string]string{
		`"gatewayAddress": "10.0.0.5"`: "10.0.0.5",
		`"gatewayAddress": "10.0.0.5", "targetGatewayEndpoint": {"identity": "vge-1"}`:     "10.0.0.5",
		`"gatewayAddress": "10.0.0.5", "targetNatGateway": null`:                           "10.0.0.5",
		`"targetNatGatewayIdentity": "nat-1"`:                                              "",
		`"targetNatGateway": {"identity": "nat-1"}`:                                        "",
		`"targetNatGateway": {"identity": "nat-1"}, "gatewayAddress": "10.0.0.5"`:          "",
		`"targetGateway": {"identity": "gw-1"}, "gatewayAddress": "10.0.0.5"`:              "",
		`"targetGatewayIdentity": "gw-1", "gatewayAddress": "10.0.0.5"`:                    "",
		`"targetVpcPeeringConnection": {"identity": "pc-1"}, "gatewayAddress": "10.0.0.5"`: "",
		`"targetVpcPeeringConnectionId": "pc-1", "gatewayAddress": "10.0.0.5"`:             "",
	} {
		var item routeItem
		body := `{"identity": "rte-1", "destinationCidrBlock": "10.244.1.0/24", ` + shown + `}`
		if err := json.Unmarshal([]byte(body), &item); err != nil {
			t.Fatal(err)
		}
		want := Route{ID: "rte-1", Destination: netip.MustParsePrefix("10.244.1.0/24")}
		want.Gateway, _ = netip.ParseAddr(gateway)
		if item.object() != want {
			t.Errorf("%s: %+v, want %+v", body, item.object(), want)
		}
	}
}
