package inventory

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"regexp"
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

// TestAllRoutesAreReplaced: what stays is sent as it was, whatever it leads to, and an empty table is sent as a list.
func TestAllRoutesAreReplaced(t *testing.T) {
	w := newRig(t, emulator.Config{})
	table := w.defaultTable()
	w.post(iaas.NatGatewayEndpoint, iaas.CreateVpcNatGateway{Name: "n", SubnetIdentity: emulator.DefaultSubnet,
		ConfigureDefaultRoute: true})
	w.route(table, "10.99.0.0/16", "10.0.0.9")
	w.route(table, "10.244.1.0/24", "10.0.0.5")
	pods := netip.MustParsePrefix("10.244.0.0/16")
	stays := func(r Route) bool { return !pods.Contains(r.Destination.Addr()) }
	added := map[netip.Prefix]netip.Addr{netip.MustParsePrefix("10.244.2.0/24"): netip.MustParseAddr("10.0.0.6")}
	w.ok(w.ReplaceRoutes(t.Context(), table, stays, added))
	if got := w.ways(table,
		time.Hour); got != "0.0.0.0/0 by invalid IP, 10.244.2.0/24 by 10.0.0.6, 10.99.0.0/16 by 10.0.0.9" {
		t.Errorf("routes %q", got)
	}
	w.ok(w.ReplaceRoutes(t.Context(), table, func(Route) bool { return false }, nil))
	if got := w.ways(table, time.Hour); got != "" {
		t.Errorf("routes %q, want none", got)
	}
	if err := w.ReplaceRoutes(t.Context(), "rtb-gone", stays, nil); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("replacing the routes of a table that is gone: %v", err)
	}
}

// TestAddressesOfMachines are those of all interfaces of all machines of the VPC that are there.
func TestAddressesOfMachines(t *testing.T) {
	w := newRig(t, emulator.Config{})
	var ids []string
	for _, spec := range []emulator.MachineSpec{{Name: "a"}, {Name: "b", Subnet: otherSubnet},
		{Name: "c", Subnet: farSubnet}} {
		ids = append(ids, must[string](w)(w.emulator.AddMachine(spec)))
	}
	taken, err := w.TakenAddresses(t.Context())
	if err != nil || len(taken) != 2 {
		t.Fatalf("addresses %v, error %v", taken, err)
	}
	for _, id := range ids[:2] {
		machine, found, err := w.MachineByID(t.Context(), id, Fresh)
		if err != nil || !found || len(machine.Addresses) != 1 || !taken[netip.MustParseAddr(machine.Addresses[0])] {
			t.Errorf("%v of %+v, found %v, error %v", taken, machine, found, err)
		}
	}
	w.injectFault("GET /v1/machines", 20, fault.Effect{Kind: fault.Refuse, Status: 403})
	if _, err := w.TakenAddresses(t.Context()); err == nil {
		t.Error("a list that failed is an answer")
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

// TestRouteThatIsNotShownWhole cannot be written again, so it must not be part of a replacement.
func TestRouteThatIsNotShownWhole(t *testing.T) {
	for body, want := range map[routeBody]bool{
		{Address: "10.0.0.1"}: true, {NATGateway: "nat-1"}: true, {NATGateway: "nat-1", Address: "10.0.0.1"}: true,
		{}: false, {NATGateway: "nat-1", ViaGateway: "gw-1"}: false,
	} {
		if got := body.complete(); got != want {
			t.Errorf("%+v: complete %t, want %t", body, got, want)
		}
	}
}

// TestRouteTargets may be shown by identity, as objects, or both. The address of an object is no node's.
func TestRouteTargets(t *testing.T) {
	const destination = "10.244.1.0/24"
	tests := map[string]struct {
		shown   string
		body    routeBody
		gateway string
	}{
		"an address": {`"gatewayAddress": "10.0.0.5"`, routeBody{Address: "10.0.0.5"}, "10.0.0.5"},
		"an address and who has it": {
			`"gatewayAddress": "10.0.0.5", "targetGatewayEndpoint": {"identity": "vge-1"}, "targetNatGateway": null`, routeBody{Address: "10.0.0.5"}, "10.0.0.5"},
		"an identity": {`"targetNatGatewayIdentity": "nat-1"`, routeBody{NATGateway: "nat-1"}, ""},
		"an object":   {`"targetNatGateway": {"identity": "nat-1"}`, routeBody{NATGateway: "nat-1"}, ""},
		"both": {`"targetNatGatewayIdentity": "nat-1", "targetNatGateway": {"identity": "nat-1"}`,
			routeBody{NATGateway: "nat-1"}, ""},
		"its address as well": {`"targetNatGateway": {"identity": "nat-1"}, "gatewayAddress": "10.0.0.5"`,
			routeBody{NATGateway: "nat-1", Address: "10.0.0.5"}, ""},
		"a gateway": {`"targetGateway": {"identity": "gw-1"}, "gatewayAddress": "10.0.0.5"`,
			routeBody{ViaGateway: "gw-1", Address: "10.0.0.5"}, ""},
		"a peering": {`"targetVpcPeeringConnection": {"identity": "pc-1"}, "gatewayAddress": "10.0.0.5"`,
			routeBody{Peering: "pc-1", Address: "10.0.0.5"}, ""},
	}
	for name, tt := range tests {
		var item routeItem
		if err := json.Unmarshal([]byte(`{"identity": "rte-1", "destinationCidrBlock": "`+destination+`", `+tt.shown+
			`}`), &item); err != nil {
			t.Fatal(err)
		}
		tt.body.Destination = destination
		want := Route{ID: "rte-1", Destination: netip.MustParsePrefix(destination)}
		if tt.gateway != "" {
			want.Gateway = netip.MustParseAddr(tt.gateway)
		}
		if item.body() != tt.body || item.object() != want || !item.body().complete() {
			t.Errorf("%s: %+v, made of %+v, want %+v of %+v", name, item.object(), item.body(), want, tt.body)
		}
	}
}

// objectsOnly is a way to a cloud that shows the NAT gateways of routes only as objects.
type objectsOnly struct{ http.RoundTripper }

func (o objectsOnly) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := o.RoundTripper.RoundTrip(request)
	if err != nil || request.Method != http.MethodGet {
		return response, err
	}
	shown, err := io.ReadAll(response.Body)
	shown = regexp.MustCompile(`"targetNatGatewayIdentity":"[^"]*",`).ReplaceAll(shown, nil)
	response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(shown)), int64(len(shown))
	return response, err
}

// TestRouteToAnObjectSurvivesReplacement, also where the cloud shows no identity beside it.
func TestRouteToAnObjectSurvivesReplacement(t *testing.T) {
	w := newRig(t, emulator.Config{})
	w.restartBy(objectsOnly{w.emulator.Transport()})
	table := w.defaultTable()
	nat := w.post(iaas.NatGatewayEndpoint, iaas.CreateVpcNatGateway{Name: "n", SubnetIdentity: emulator.DefaultSubnet,
		ConfigureDefaultRoute: true})
	w.ok(w.ReplaceRoutes(t.Context(), table, func(Route) bool { return true }, nil))
	w.restart()
	item := must[routeTableItem](w)(w.getRouteTable(t.Context(), table))
	if len(item.Routes) != 1 || item.Routes[0].NATGateway != nat {
		t.Errorf("routes %+v, want the one to %s", item.Routes, nat)
	}
}
