package inventory

import (
	"context"
	"encoding/json"
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

func bodyTo(destination netip.Prefix, gateway netip.Addr) routeBody {
	return routeBody{Destination: destination.String(), Address: gateway.String()}
}
