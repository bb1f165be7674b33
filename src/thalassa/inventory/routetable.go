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
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/store"
)

// RouteTable contains the routes of some subnets.
type RouteTable struct {
	ID, Slug string
	Default  bool     // it is the table of subnets that name none
	Subnets  []string // identities
	Routes   []Route  // by destination
}

// Route is a route of a route table. Routes can be compared with ==.
type Route struct {
	ID          string
	Destination netip.Prefix // the zero Prefix if the cloud returns none that can be parsed
	// Gateway is the address to which the route leads; the zero Addr if it leads to something else.
	Gateway netip.Addr
}

// routing is a route table without its routes, or one of its routes. One list contains both, and each is written
// separately.
type routing struct {
	table   RouteTable // of a route: only its identity
	route   Route
	isRoute bool
}

// allRouting is the key of all objects.
const allRouting = "all"

func (r routing) id() string {
	if r.isRoute {
		return r.table.ID + "/" + r.route.ID
	}
	return r.table.ID
}

// newRouting returns the store of all route tables and their routes, which is filled when it is needed.
func (i *Inventory) newRouting() *store.Store[routing] {
	s := store.New("route tables", i.listRouting, routing.id, func(routing) []string { return []string{allRouting} })
	// A route that somebody deleted must be created again soon, because the pods of its node need it. A duplicate route
	// does no harm.
	s.Get, s.ToleratesDuplicates = i.requestRouting, true
	return s
}

// RouteTables returns all route tables of the VPC with their routes, sorted by identity, from a list at most maxAge
// old. An object that lists lack, and that was not deleted by us, is requested by identity before it counts as deleted.
func (i *Inventory) RouteTables(ctx context.Context, maxAge time.Duration) ([]RouteTable, error) {
	all, err := i.routing.Find(ctx, allRouting, maxAge)
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
			return t, i.inVPCOrUnknown(t.VPC)
		})
	if err != nil {
		return nil, store.WithPermission(err, "read route tables")
	}
	detailed := showAll(items)
	var all []routing
	for _, item := range items {
		// A table that is listed without its VPC is requested by identity: a cloud that ignores the filter would return
		// tables of other VPCs, whose routes must not be changed. So is one whose routes and subnets are not listed.
		if item.VPC.Identity == "" || !detailed && item.VPC.Identity == i.vpc {
			if item, err = i.getRouteTable(ctx, item.Identity); err != nil {
				return nil, err
			}
		}
		if item.VPC.Identity == i.vpc {
			all = append(all, item.objects()...)
		}
	}
	return all, nil
}

// showAll reports whether a list contains routes and subnets in addition to tables. Whether the cloud's list does is
// not documented.
func showAll(items []routeTableItem) bool {
	return slices.ContainsFunc(items, func(t routeTableItem) bool { return len(t.Routes) > 0 }) &&
		slices.ContainsFunc(items, func(t routeTableItem) bool { return len(t.Subnets) > 0 })
}

func (i *Inventory) getRouteTable(ctx context.Context, id string) (routeTableItem, error) {
	item, exists, err := store.GetOne(client.Optional(ctx), i.cloud, iaas.RouteTableEndpoint, url.PathEscape(id),
		func(t routeTableItem) (routeTableItem, bool) {
			return t, true
		})
	switch {
	case err != nil:
		return item, store.WithPermission(err, "read route tables")
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

// requestRouting requests one route table or route by identity.
func (i *Inventory) requestRouting(ctx context.Context, id string) (routing, bool, error) {
	ctx = client.Optional(ctx)
	table, route, isRoute := strings.Cut(id, "/")
	if !isRoute {
		return store.GetOne(ctx, i.cloud, iaas.RouteTableEndpoint, table, func(t routeTableItem) (routing, bool) {
			return routing{table: t.object()}, i.inVPCOrUnknown(t.VPC)
		})
	}
	return store.GetOne(ctx, i.cloud, routesOf(table), route, func(r routeItem) (routing, bool) {
		return routeIn(table, r.object()), true
	})
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
	reference
	Slug    string      `json:"slug"`
	VPC     reference   `json:"vpc"`
	Default bool        `json:"isDefault"`
	Subnets []reference `json:"associatedSubnets"`
	Routes  []routeItem `json:"routes"`
}

// object is the table without its routes.
func (t routeTableItem) object() RouteTable {
	table := RouteTable{ID: t.Identity, Slug: t.Slug, Default: t.Default}
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

// routeItem is the API's route. If it leads to an object, it contains its identity, the object, or both.
type routeItem struct {
	reference
	routeBody
	Gateway       string    `json:"targetGatewayIdentity"`
	GatewayObject reference `json:"targetGateway"`
	NAT           string    `json:"targetNatGatewayIdentity"`
	NATObject     reference `json:"targetNatGateway"`
	Peering       string    `json:"targetVpcPeeringConnectionId"`
	PeeringObject reference `json:"targetVpcPeeringConnection"`
}

// routeBody is a route to an address, as it is written.
type routeBody struct {
	Destination string `json:"destinationCidrBlock"`
	Address     string `json:"gatewayAddress"`
}

// leadsToObject reports whether the target of the route is an object.
func (r routeItem) leadsToObject() bool {
	return cmp.Or(r.Gateway, r.GatewayObject.Identity, r.NAT, r.NATObject.Identity, r.Peering,
		r.PeeringObject.Identity) != ""
}

// object returns the route. Its address counts only if no object is its target, because a cloud may return the address
// of an object as well.
func (r routeItem) object() Route {
	route := Route{ID: r.Identity}
	if destination, err := netip.ParsePrefix(r.Destination); err == nil {
		route.Destination = destination.Masked()
	}
	if address, err := netip.ParseAddr(r.Address); err == nil && !r.leadsToObject() {
		route.Gateway = address.Unmap()
	}
	return route
}
