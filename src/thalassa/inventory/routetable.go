package inventory

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/thalassa-cloud/client-go/filters"
	"github.com/thalassa-cloud/client-go/iaas"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
)

// RouteTable says where the traffic of some subnets goes.
type RouteTable struct {
	ID, Name, Slug string
	Default        bool     // it is the one of subnets that name none
	Subnets        []string // identities
	Routes         []Route  // by destination
}

// Route is a route of a route table. Routes can be compared with ==.
type Route struct {
	ID          string
	Destination netip.Prefix // the zero Prefix if the cloud shows none that can be read
	// Gateway is the address it leads to; the zero Addr if it leads to something else.
	Gateway netip.Addr
}

// routing is a route table without its routes, or one of its routes: one list shows both, and each is written on its
// own.
type routing struct {
	table   RouteTable // of a route: only its identity
	route   Route
	isRoute bool
}

// allRouting is the key of all of them.
const allRouting = "all"

func (r routing) id() string {
	if r.isRoute {
		return r.table.ID + "/" + r.route.ID
	}
	return r.table.ID
}

// newRouting prepares the copy of all route tables and their routes, which is made when somebody asks for it.
func (i *Inventory) newRouting() *kind[routing] {
	k := newKind("route tables", i.listRouting, routing.id, func(routing) []string { return []string{allRouting} })
	// The pods of a node must not wait because somebody removed its route soon. Two routes to the same place are as
	// good as one.
	k.ask, k.replaceable = i.askRouting, true
	return k
}

// RouteTables returns all route tables of the VPC with their routes, sorted by identity, from a list at most maxAge
// old. What a list shows no more, and was not removed by us, is asked for before it counts as gone.
func (i *Inventory) RouteTables(ctx context.Context, maxAge time.Duration) ([]RouteTable, error) {
	all, err := i.routing.find(ctx, allRouting, maxAge)
	if err != nil {
		return nil, err
	}
	routes := map[string][]Route{}
	var tables []RouteTable
	for _, one := range all {
		if one.isRoute {
			routes[one.table.ID] = append(routes[one.table.ID], one.route)
			continue
		}
		tables = append(tables, one.table)
	}
	for at := range tables {
		tables[at].Routes = slices.SortedFunc(slices.Values(routes[tables[at].ID]), func(a, b Route) int {
			return cmp.Or(cmp.Compare(a.Destination.String(), b.Destination.String()), cmp.Compare(a.ID, b.ID))
		})
	}
	slices.SortFunc(tables, func(a, b RouteTable) int { return cmp.Compare(a.ID, b.ID) })
	return tables, nil
}

func (i *Inventory) listRouting(ctx context.Context) ([]routing, error) {
	ctx = client.Optional(ctx)
	items, err := client.List(ctx, i.cloud, iaas.RouteTableEndpoint, []filters.Filter{i.inVPC()},
		func(t routeTableItem) (routeTableItem, bool) {
			return t, i.mayHave(t.VPC)
		})
	if err != nil {
		return nil, needing(err, "read route tables")
	}
	if items, err = i.homely(ctx, items); err != nil {
		return nil, err
	}
	if !showAll(items) {
		for at := range items {
			if items[at], err = i.getRouteTable(ctx, items[at].Identity); err != nil {
				return nil, err
			}
		}
	}
	var all []routing
	for _, item := range items {
		all = append(all, item.objects()...)
	}
	return all, nil
}

// homely are the tables of this VPC. One that is listed without its VPC is read by its identity: a cloud that ignores
// the filter would show those of other VPCs, whose routes nobody may touch.
func (i *Inventory) homely(ctx context.Context, items []routeTableItem) ([]routeTableItem, error) {
	var home []routeTableItem
	for _, item := range items {
		if item.VPC.Identity == "" {
			read, err := i.getRouteTable(ctx, item.Identity)
			if err != nil {
				return nil, err
			}
			item = read
		}
		if item.VPC.Identity == i.vpc {
			home = append(home, item)
		}
	}
	return home, nil
}

// showAll says whether a list shows routes and subnets, and not only tables: when it shows none, there may be some.
// Which of the two the cloud does is not documented.
func showAll(items []routeTableItem) bool {
	return slices.ContainsFunc(items, func(t routeTableItem) bool { return len(t.Routes) > 0 }) &&
		slices.ContainsFunc(items, func(t routeTableItem) bool { return len(t.Subnets) > 0 })
}

func (i *Inventory) getRouteTable(ctx context.Context, id string) (routeTableItem, error) {
	item, exists, err := getOne(client.Optional(ctx), i.cloud, iaas.RouteTableEndpoint, url.PathEscape(id),
		func(t routeTableItem) (routeTableItem, bool) {
			return t, true
		})
	switch {
	case err != nil:
		return item, needing(err, "read route tables")
	case exists && item.VPC.Identity == "":
		return item,
			fmt.Errorf("reading route table %s: the cloud does not show which VPC it is of: %w; if that lasts, ask "+
				"its support", id, client.ErrMalformed)
	case !exists:
		return item, fmt.Errorf("reading route table %s, which was listed: %w; it is retried automatically", id,
			client.ErrNotFound)
	}
	return item, nil
}

// askRouting gets one route table or route, whatever lists say.
func (i *Inventory) askRouting(ctx context.Context, id string) (routing, bool, error) {
	ctx = client.Optional(ctx)
	table, route, isRoute := strings.Cut(id, "/")
	if !isRoute {
		return getOne(ctx, i.cloud, iaas.RouteTableEndpoint, table, func(t routeTableItem) (routing, bool) {
			return routing{table: t.object()}, i.mayHave(t.VPC)
		})
	}
	return getOne(ctx, i.cloud, routesOf(table), route, func(r routeItem) (routing, bool) {
		return routeIn(table, r.object()), true
	})
}

// TakenAddresses are those of all network interfaces of all machines in the VPC, by a list that begins now. It is read
// for nobody else.
func (i *Inventory) TakenAddresses(ctx context.Context) (map[netip.Addr]bool, error) {
	all, err := client.List(ctx, i.cloud, iaas.MachineEndpoint, []filters.Filter{i.inVPC()},
		func(m machineItem) (machineItem, bool) {
			return m, !m.object().Gone()
		})
	if err != nil {
		return nil, fmt.Errorf("listing the addresses of machines: %w", err)
	}
	taken := map[netip.Addr]bool{}
	for _, machine := range all {
		for _, network := range machine.Interfaces {
			for _, text := range network.Addresses {
				if address, err := netip.ParseAddr(text); err == nil {
					taken[address.Unmap()] = true
				}
			}
		}
	}
	return taken, nil
}

// routesOf is the path of a route table's routes.
func routesOf(table string) string {
	return iaas.RouteTableEndpoint + "/" + url.PathEscape(table) + "/routes"
}

func routeIn(table string, route Route) routing {
	return routing{table: RouteTable{ID: table}, route: route, isRoute: true}
}

// routeTableItem is as much of the API's route table as is needed.
type routeTableItem struct {
	Identity string      `json:"identity"`
	Name     string      `json:"name"`
	Slug     string      `json:"slug"`
	VPC      reference   `json:"vpc"`
	Default  bool        `json:"isDefault"`
	Subnets  []reference `json:"associatedSubnets"`
	Routes   []routeItem `json:"routes"`
}

func (t routeTableItem) identity() string { return t.Identity }

// object is the table without its routes.
func (t routeTableItem) object() RouteTable {
	table := RouteTable{ID: t.Identity, Name: t.Name, Slug: t.Slug, Default: t.Default}
	for _, subnet := range t.Subnets {
		table.Subnets = append(table.Subnets, subnet.Identity)
	}
	return table
}

// objects are the table and its routes.
func (t routeTableItem) objects() []routing {
	all := []routing{{table: t.object()}}
	for _, route := range t.Routes {
		all = append(all, routeIn(t.Identity, route.object()))
	}
	return all
}

// routeItem is the API's route. It may show what it leads to by identity, as an object, or both.
type routeItem struct {
	Identity string `json:"identity"`
	routeBody
	GatewayObject reference `json:"targetGateway"`
	NATObject     reference `json:"targetNatGateway"`
	PeeringObject reference `json:"targetVpcPeeringConnection"`
}

// routeBody is what a route is made of: a destination, and one of the others.
type routeBody struct {
	Destination string `json:"destinationCidrBlock"`
	ViaGateway  string `json:"targetGatewayIdentity,omitempty"`
	NATGateway  string `json:"targetNatGatewayIdentity,omitempty"`
	Peering     string `json:"targetVpcPeeringConnectionId,omitempty"`
	Address     string `json:"gatewayAddress,omitempty"`
}

func (r routeItem) identity() string { return r.Identity }

// body is what the route can be written with again.
func (r routeItem) body() routeBody {
	body := r.routeBody
	body.ViaGateway = cmp.Or(body.ViaGateway, r.GatewayObject.Identity)
	body.NATGateway = cmp.Or(body.NATGateway, r.NATObject.Identity)
	body.Peering = cmp.Or(body.Peering, r.PeeringObject.Identity)
	return body
}

// objects is how many objects the route leads to.
func (b routeBody) objects() int {
	objects := 0
	for _, id := range []string{b.ViaGateway, b.NATGateway, b.Peering} {
		if id != "" {
			objects++
		}
	}
	return objects
}

// complete says that the cloud shows where the route leads: to one object, or, without one, to an address.
func (b routeBody) complete() bool {
	return b.objects() == 1 || b.objects() == 0 && b.Address != ""
}

// object is the route. An address counts only where it is all that it leads to: a cloud may show that of an object as
// well.
func (r routeItem) object() Route {
	route := Route{ID: r.Identity}
	if destination, err := netip.ParsePrefix(r.Destination); err == nil {
		route.Destination = destination.Masked()
	}
	if address, err := netip.ParseAddr(r.Address); err == nil && r.body().objects() == 0 {
		route.Gateway = address.Unmap()
	}
	return route
}
