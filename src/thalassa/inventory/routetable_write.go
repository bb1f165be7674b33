package inventory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
)

// CreateRoute adds a route to a route table. What the cloud answers with is not documented: where it does not show the
// route, the next reader lists anew.
func (i *Inventory) CreateRoute(ctx context.Context, table string, destination netip.Prefix, gateway netip.Addr) error {
	answer, err := client.Post[client.Ignored](client.Optional(ctx), i.cloud, routesOf(table),
		bodyTo(destination, gateway))
	if err != nil {
		return i.routeRefused(err)
	}
	var item routeItem
	if json.Unmarshal(answer, &item) == nil && item.Identity != "" && item.object().Destination == destination {
		i.routing.create(routeIn(table, item.object()))
		return nil
	}
	i.routing.distrust()
	return nil
}

// ChangeRoute makes a route of a route table lead to another address.
func (i *Inventory) ChangeRoute(ctx context.Context, table, id string, destination netip.Prefix,
	gateway netip.Addr) error {
	body := bodyTo(destination, gateway)
	if _, err := client.Put[client.Ignored](client.Optional(ctx), i.cloud, routesOf(table)+"/"+id, body); err != nil {
		return i.routeRefused(err)
	}
	i.routing.put(routeIn(table, routeItem{Identity: id, routeBody: body}.object()))
	return nil
}

// DeleteRoute removes a route of a route table. One that is gone is a success, which the next reader sees confirmed by
// a list.
func (i *Inventory) DeleteRoute(ctx context.Context, table, id string) error {
	err := client.Delete(client.Optional(ctx), i.cloud, routesOf(table)+"/"+id)
	if err != nil && !isGone(err) {
		return i.routeRefused(err)
	}
	i.routing.drop(routeIn(table, Route{ID: id}).id())
	if err != nil {
		i.routing.distrust()
	}
	return nil
}

// ReplaceRoutes makes the routes of a route table those that it has and that stay, and new ones, in one write. What it
// has is read just before, so that what others write at the same moment is lost: it is for tables that nobody else
// writes to. The error is an ErrMalformed when one that stays cannot be written again as it is.
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
		return i.routeRefused(err)
	}
	for _, route := range current.Routes {
		i.routing.drop(routeIn(table, route.object()).id()) // so that nobody asks for those that are gone
	}
	i.noteReplaced(ctx, table, answer, added)
	return nil
}

// noteReplaced puts the routes that a table was given into the copy, so that a list which is behind does not hide them.
// They come from the answer, or, where that does not show them, from the table itself. If neither has them, the next
// reader lists.
func (i *Inventory) noteReplaced(ctx context.Context, table string, answer []byte, added map[netip.Prefix]netip.Addr) {
	var routes []routeItem
	if json.Unmarshal(answer, &routes) != nil || !showRoutes(routes, added) {
		current, err := i.getRouteTable(ctx, table)
		if err != nil || !showRoutes(current.Routes, added) {
			i.routing.distrust()
			return
		}
		routes = current.Routes
	}
	for _, route := range routes {
		i.routing.create(routeIn(table, route.object()))
	}
}

// showRoutes says whether all of these ways are among the routes, each with its identity.
func showRoutes(routes []routeItem, ways map[netip.Prefix]netip.Addr) bool {
	shown := map[netip.Prefix]netip.Addr{}
	for _, route := range routes {
		if route.Identity == "" {
			return false
		}
		shown[route.object().Destination] = route.object().Gateway
	}
	for destination, gateway := range ways {
		if shown[destination] != gateway {
			return false
		}
	}
	return true
}

func bodyTo(destination netip.Prefix, gateway netip.Addr) routeBody {
	return routeBody{Destination: destination.String(), Address: gateway.String()}
}

// routeRefused passes the error of a write on, and does not trust the copy any more when it may be wrong: that a
// destination is taken may be told as any refusal.
func (i *Inventory) routeRefused(err error) error {
	if doubtful(err) || errors.Is(err, client.ErrBadRequest) {
		i.routing.distrust()
	}
	if errors.Is(err, client.ErrUnauthorised) {
		return needing(err, "write route tables")
	}
	return err
}
