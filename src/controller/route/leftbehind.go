package route

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// leftBehind reports whether an unmanaged route looks like that of a deleted Node: no Node has its network or its
// address. A route to a network of another size than those of members may lead to an appliance, or to an address that
// moves between machines.
func (d desired) leftBehind(route routeKey) bool {
	_, ofNode := d.overlap(route.destination)
	_, leadsToNode := d.addresses[route.gateway]
	return route.gateway.IsValid() && d.sizes[sizeOf(route.destination)] && !d.destinations[route.destination] &&
		!ofNode && !leadsToNode
}

// reportLeftBehind reports, once, the routes that look like those of Nodes that were deleted while no process ran.
// Nothing proves that they are this cluster's, so they are not deleted: in an exclusive table, no route is unmanaged.
// They have no Node, so the event is on the oldest member. There is one event for each table: the API server's client
// drops most of many events on one Node.
func (c *Controller) reportLeftBehind(members []*corev1.Node, d desired, p plan) {
	left := map[string][]routeKey{}
	for _, one := range p.unmanaged {
		if d.leftBehind(one) && !c.reported[one] {
			c.reported[one] = true
			left[one.table] = append(left[one.table], one)
		}
	}
	for _, table := range slices.Sorted(maps.Keys(left)) {
		c.recorder.Eventf(slices.MinFunc(members, older), corev1.EventTypeWarning, reasonLeftBehind,
			textLeftBehind, table, len(left[table]), shortList(left[table], func(r routeKey) string {
				return fmt.Sprintf("%s by %s", r.destination, r.gateway)
			}))
	}
}
