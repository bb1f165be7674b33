package inventory

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/store"
)

// CreateRoute adds a route to a route table. The cloud's answer is not documented: if it does not contain the route,
// the store is invalidated.
func (i *Inventory) CreateRoute(ctx context.Context, table string, destination netip.Prefix, gateway netip.Addr) error {
	answer, err := client.Post[client.Ignored](client.Optional(ctx), i.cloud, routesOf(table),
		bodyTo(destination, gateway))
	if err != nil {
		return i.routing.WriteError(err)
	}
	var item routeItem
	if json.Unmarshal(answer, &item) == nil && item.Identity != "" && item.object().Destination == destination {
		i.routing.PutCreated(routeIn(table, item.object()))
		return nil
	}
	i.routing.Invalidate()
	return nil
}

// ChangeRoute changes the address to which a route of a route table leads.
func (i *Inventory) ChangeRoute(ctx context.Context, table, id string, destination netip.Prefix,
	gateway netip.Addr) error {
	body := bodyTo(destination, gateway)
	if _, err := client.Put[client.Ignored](client.Optional(ctx), i.cloud, routesOf(table)+"/"+id, body); err != nil {
		return i.routing.WriteError(err)
	}
	i.routing.Put(routeIn(table, routeItem{reference: reference{id}, routeBody: body}.object()))
	return nil
}

// DeleteRoute deletes a route of a route table. If the route does not exist, this is a success, and the store is
// invalidated.
func (i *Inventory) DeleteRoute(ctx context.Context, table, id string) error {
	err := client.Delete(client.Optional(ctx), i.cloud, routesOf(table)+"/"+id)
	if err != nil && !store.IsGone(err) {
		return i.routing.WriteError(err)
	}
	i.routing.Drop(routeIn(table, Route{ID: id}).id())
	if err != nil {
		i.routing.Invalidate()
	}
	return nil
}

// ReplaceRoutes replaces the routes of a route table in one write, with those of the present routes that stay, and new
// ones. The present routes are read immediately before, and concurrent changes are lost: it is for tables that nobody
// else writes to. The error is an ErrMalformed if a route that stays cannot be written without a change.
func (i *Inventory) ReplaceRoutes(ctx context.Context, table string, stays func(Route) bool,
	added map[netip.Prefix]netip.Addr) error {
	current, err := i.getRouteTable(ctx, table)
	if err != nil {
		return err
	}
	bodies := []routeBody{} // never null
	for _, route := range current.Routes {
		if stays(route.object()) {
			body := route.body()
			if !body.complete() {
				return fmt.Errorf("replacing the routes of route table %s at once: the cloud does not show where its "+
					"route to %s leads, which would be lost: %w", table, route.Destination, client.ErrMalformed)
			}
			bodies = append(bodies, body)
		}
	}
	for destination, gateway := range added {
		bodies = append(bodies, bodyTo(destination, gateway))
	}
	batch := map[string]any{"routes": bodies}
	answer, err := client.Put[client.Ignored](client.Optional(ctx), i.cloud, routesOf(table), batch)
	if err != nil {
		return i.routing.WriteError(err)
	}
	for _, route := range current.Routes {
		i.routing.Drop(routeIn(table, route.object()).id()) // so that deleted routes are not requested
	}
	i.recordReplaced(ctx, table, answer, added)
	return nil
}

// recordReplaced stores the routes that were written to a table, so that an outdated list does not hide them. They come
// from the answer, or, if it lacks them, from the table. If both lack them, the store is invalidated.
func (i *Inventory) recordReplaced(ctx context.Context, table string, answer []byte,
	added map[netip.Prefix]netip.Addr) {
	var routes []routeItem
	if json.Unmarshal(answer, &routes) != nil || !containsRoutes(routes, added) {
		current, err := i.getRouteTable(ctx, table)
		if err != nil || !containsRoutes(current.Routes, added) {
			i.routing.Invalidate()
			return
		}
		routes = current.Routes
	}
	for _, route := range routes {
		i.routing.PutCreated(routeIn(table, route.object()))
	}
}

// containsRoutes reports whether the routes, each with an identity, contain all wanted ones.
func containsRoutes(routes []routeItem, wanted map[netip.Prefix]netip.Addr) bool {
	shown := map[netip.Prefix]netip.Addr{}
	for _, route := range routes {
		if route.Identity == "" {
			return false
		}
		shown[route.object().Destination] = route.object().Gateway
	}
	for destination, gateway := range wanted {
		if shown[destination] != gateway {
			return false
		}
	}
	return true
}

func bodyTo(destination netip.Prefix, gateway netip.Addr) routeBody {
	return routeBody{Destination: destination.String(), Address: gateway.String()}
}
