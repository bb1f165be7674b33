package route

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// minFreeTime is the shortest time between two checks that find an address free, before a route to it counts as left
// behind.
const minFreeTime = time.Minute

// maxFollowUp is the longest time between two checks for routes that were left behind, if there is no check for drift.
const maxFollowUp = time.Hour

// checks has what the latest checks in a row found, with the times of the first and the latest of them.
type checks[K comparable] map[K]struct{ first, latest time.Time }

// next returns the record after another check, and what is new in it.
func (c checks[K]) next(found []K) (after checks[K], added []K) {
	after = checks[K]{}
	for _, key := range found {
		one, known := c[key]
		if one.latest = time.Now(); !known {
			one.first = one.latest
			added = append(added, key)
		}
		after[key] = one
	}
	return after, added
}

// lasting is what at least two checks found, with minFreeTime between them.
func (c checks[K]) lasting() map[K]bool {
	found := map[K]bool{}
	for key, one := range c {
		if one.latest.Sub(one.first) >= minFreeTime {
			found[key] = true
		}
	}
	return found
}

// findLeftBehind checks whether machines have the gateways of unmanaged routes. It returns the routes whose gateways
// are free according to this and an earlier check. Only routes that could have been created for members are checked: a
// route to a network of another size may lead to an appliance, or to an address that moves between machines. After an
// error nothing is deleted because of this check, and the rest of the sync continues.
func (c *Controller) findLeftBehind(ctx context.Context, cluster cloud.PodNetwork, p plan,
	d desired) map[routeKey]bool {
	routes := slices.DeleteFunc(slices.Clone(p.unmanaged), func(route routeKey) bool {
		_, ofOther := d.others.overlap(route.destination)
		return !d.sizes[sizeOf(route.destination)] || ofOther
	})
	addresses := gatewaysOf(routes)
	if len(addresses) == 0 {
		c.free, c.blocking, c.unchecked = nil, nil, false
		return nil
	}
	free, err := c.provider.FreeAddresses(ctx, cluster, addresses)
	c.findBlocking(err)
	if c.unchecked = err != nil; c.unchecked {
		klog.FromContext(ctx).Error(err, "It is not known which machines have the addresses that unmanaged routes "+
			"lead to; these routes do not change until the next check")
		return nil
	}
	routes = slices.DeleteFunc(routes, func(route routeKey) bool { return !slices.Contains(free, route.gateway) })
	var added []routeKey
	c.free, added = c.free.next(routes)
	c.reportLeftBehind(cluster, added)
	return c.free.lasting()
}

// reportLeftBehind reports routes that will be deleted although nothing proves that they are this cluster's. They have
// no Node, so the event is on the oldest Node. There is one event for each table: the API server's client drops most of
// many events on one Node.
func (c *Controller) reportLeftBehind(cluster cloud.PodNetwork, routes []routeKey) {
	if len(cluster.Members) == 0 {
		return
	}
	oldest := slices.MinFunc(nodesOf(cluster.Members), older)
	left := map[string][]routeKey{}
	for _, one := range routes {
		left[one.table] = append(left[one.table], one)
	}
	for _, table := range slices.Sorted(maps.Keys(left)) {
		c.recorder.Eventf(oldest, corev1.EventTypeWarning, reasonLeftBehind,
			"Route table %s has %d routes to addresses that no machine has: %s. They may belong to Nodes that were "+
				"deleted, and are deleted at the next check. To keep a route, let it lead to a machine, or to a "+
				"network outside of --cluster-cidr.",
			table, len(left[table]), shortList(left[table], func(r routeKey) string {
				return fmt.Sprintf("%s by %s", r.destination, r.gateway)
			}))
	}
}

// blockingNode is a Node because of which routes that were left behind are not deleted, with what is missing of it. It
// has a provider ID without a machine, and blocks as long as it exists.
type blockingNode struct{ name, missing string }

// findBlocking records the blocking Nodes. Err is the error of the check. Errors other than an IncompleteListError
// change nothing.
func (c *Controller) findBlocking(err error) {
	incomplete, isIncomplete := errors.AsType[*cloud.IncompleteListError](err)
	if err != nil && !isIncomplete {
		return
	}
	var found []blockingNode
	if isIncomplete {
		for name, missing := range incomplete.Missing {
			found = append(found, blockingNode{name, missing})
		}
	}
	c.blocking, _ = c.blocking.next(found)
}

// addBlocking adds warnings to the blocking Nodes. A list may be incomplete for a moment, so a Node is reported from
// the second check on.
func (c *Controller) addBlocking(p plan) {
	for one := range c.blocking.lasting() {
		p.warnings[one.name] = append(p.warnings[one.name], problem(reasonStopped, "The cloud's list of machines "+
			"lacks %s of this Node, so the list may be incomplete. Routes of deleted Nodes are not deleted until the "+
			"list is complete. If spec.providerID names a machine that does not exist, delete the Node, and let its "+
			"kubelet register with the right provider ID.", one.missing))
	}
}
