package route

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// parallel is how many writes are made at a time.
const parallel = 10

// outcome is the result of a sync.
type outcome struct {
	mu          sync.Mutex
	changed     bool
	failed      bool
	stale       bool            // a write needs a newer list
	retry       time.Duration   // when to retry; 0: never
	full        map[string]bool // tables that accept no more routes
	done        map[verb]int    // successful writes
	missing     int             // Nodes that lack a route at the end
	addingSince time.Time       // when it began to create routes
	changesSeen int64           // changes of Nodes before the sync
	started     int             // Nodes whose routes it began to create
	incomplete  bool            // some routes are left to the next sync
}

// retryAfter requests another sync after a delay.
func (o *outcome) retryAfter(delay time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if delay > 0 && (o.retry == 0 || delay < o.retry) {
		o.retry = delay
	}
}

// countMissing counts a Node that lacks a route.
func (o *outcome) countMissing() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.missing++
}

// recordWrite records the result of a write.
func (o *outcome) recordWrite(v verb, table string, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	problem, ok := errors.AsType[*cloud.RouteProblem](err)
	switch {
	case err == nil:
		o.changed = true
		o.done[v]++
	case errors.Is(err, cloud.ErrStale):
		o.stale = true
	case ok && problem.TableFull:
		o.failed, o.full[table] = true, true
	default:
		o.failed = true
	}
}

func (o *outcome) isFull(table string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.full[table]
}

// sync compares the routes once and writes what differs. The error is that they could not be compared; in that case
// nothing was written.
func (c *Controller) sync(ctx context.Context, trigger string) (*outcome, error) {
	result := &outcome{full: map[string]bool{}, done: map[verb]int{}, changesSeen: c.nodeChanges.Load()}
	nodes, err := c.nodes.List(labels.Everything())
	if err != nil {
		return result, fmt.Errorf("listing nodes: %w", err)
	}
	candidates := slices.DeleteFunc(slices.Clone(nodes), c.excludes)
	var members []cloud.RouteMember
	meanwhile := func() { c.setPending(ctx, c.withoutCondition(nil), result) }
	whenSlow(func() { members, err = c.provider.Members(ctx, candidates) }, meanwhile)
	memberNodes := nodesOf(members)
	if err != nil {
		c.reportError(ctx, memberNodes, err, result)
		return result, err
	}
	cluster := cloud.PodNetwork{CIDRs: c.cidrs, Members: members}
	d := newDesired(cluster, nodes, c.shortest)
	var p plan
	var tables []cloud.RouteTable
	whenSlow(func() { p, tables, err = c.compare(ctx, cluster, d, trigger) }, meanwhile)
	if err != nil {
		c.reportError(ctx, memberNodes, err, result)
		return result, err
	}
	c.reportRestored(d, p)
	whenSlow(func() { c.replaceTables(ctx, tables, d, &p, result) }, meanwhile)
	c.state.prune(p, uidsOf(c.currentNodes()))
	c.state.setOwned(tables, p)
	c.reportUnknownMachines(ctx, members, result)
	write := func() {
		c.addRoutes(ctx, memberNodes, d, p, result)
		c.clearConditions(ctx, nodes, result)
		c.removeRoutes(ctx, p, result)
	}
	reported := uidsOf(d.withNetworks(memberNodes)) // their conditions follow from the writes below
	whenSlow(write, func() { c.setPending(ctx, c.withoutCondition(reported), result) })
	c.metrics.setRoutes(p, result)
	return result, ctx.Err()
}

func uidsOf(nodes []*corev1.Node) map[types.UID]bool {
	uids := make(map[types.UID]bool, len(nodes))
	for _, node := range nodes {
		uids[node.UID] = true
	}
	return uids
}

// compare lists the routes and plans. A cached list is sufficient to create routes; deletions and changes are planned
// with a new list.
func (c *Controller) compare(ctx context.Context, cluster cloud.PodNetwork, d desired,
	trigger string) (plan, []cloud.RouteTable, error) {
	if trigger == nodeChange {
		if p, tables, err := c.listAndPlan(ctx, cluster, d, trigger, c.maxListAge()); err != nil ||
			!p.removesOrChanges() {
			return p, tables, err
		}
	}
	return c.listAndPlan(ctx, cluster, d, trigger, 0)
}

func (c *Controller) listAndPlan(ctx context.Context, cluster cloud.PodNetwork, d desired, trigger string,
	maxAge time.Duration) (plan, []cloud.RouteTable, error) {
	view, err := c.provider.List(ctx, cluster, maxAge)
	if err != nil {
		return plan{}, nil, err
	}
	tables := view.Tables
	used := slices.ContainsFunc(tables, func(t cloud.RouteTable) bool { return t.Used })
	if needed := slices.ContainsFunc(d.routes, func(r desiredRoute) bool {
		return len(r.gateways) > 0
	}); needed && !used {
		return plan{}, nil, noTableError(view)
	}
	own := ownership{cidrs: cluster.CIDRs, addresses: d.addresses, owned: c.state.ownedRoutes(), claims: d.claims,
		others: d.others}
	p := newPlan(view, d, own)
	p.setDelays(c.delayOf)
	if trigger == nodeChange {
		return p, tables, nil
	}
	// Routes that are left behind are unmanaged without this check, so each sync checks them again.
	if own.leftBehind = c.findLeftBehind(ctx, cluster, p, d); len(own.leftBehind) > 0 {
		p = newPlan(view, d, own)
		p.setDelays(c.delayOf)
	}
	return p, tables, nil
}

// errNoTable prevents that Nodes without any table are reported as having all their routes.
var errNoTable = errors.New("the cloud shows no route table that the routes of Nodes could be in")

// noTableError is errNoTable, with a reason if there is one.
func noTableError(v cloud.RouteTables) error {
	for _, node := range slices.Sorted(maps.Keys(v.UnknownTables)) {
		return fmt.Errorf("%w, node %s for example: %s", errNoTable, node, v.UnknownTables[node])
	}
	return errNoTable
}

// defaultMaxListAge limits the age of cached lists if there is no drift period.
const defaultMaxListAge = time.Hour

// maxListAge is the age up to which a cached list is used.
func (c *Controller) maxListAge() time.Duration { return cmp.Or(max(c.period, 0), defaultMaxListAge) }

// findLeftBehind checks whether machines have the gateways of unmanaged routes. It returns the routes whose gateways
// are free according to this and an earlier check. Only routes that could have been created for members are checked: a
// route to a network of another size may lead to an appliance, or to an address that moves between machines. After an
// error nothing is deleted because of this check, and the rest of the sync continues.
func (c *Controller) findLeftBehind(ctx context.Context, cluster cloud.PodNetwork, p plan,
	d desired) map[routeKey]bool {
	possible := func(route routeKey) bool {
		return d.claims.hasSize(route.destination) && !d.others.overlap(route.destination)
	}
	routes := slices.DeleteFunc(slices.Clone(p.unmanaged), func(route routeKey) bool { return !possible(route) })
	addresses := gatewaysOf(routes)
	if len(addresses) == 0 {
		c.state.recordFree(nil, nil)
		c.reportBlocking(nil, nil)
		return nil
	}
	free, err := c.provider.FreeAddresses(ctx, cluster, addresses)
	c.reportBlocking(cluster.Members, err)
	if err != nil {
		klog.FromContext(ctx).Error(err, "It is not known which machines have the addresses that unmanaged routes "+
			"lead to; these routes do not change until the next check for drift")
		return nil
	}
	found := c.state.recordFree(routes, func(route routeKey) bool { return slices.Contains(free, route.gateway) })
	c.reportLeftBehind(cluster, found)
	return c.state.leftBehind()
}

// replaceTables writes exclusive tables that need more than one write as a whole. After that the planned writes to them
// count as made: the cloud is not listed again, because a list may not contain them yet.
func (c *Controller) replaceTables(ctx context.Context, tables []cloud.RouteTable, d desired, p *plan,
	result *outcome) {
	for _, table := range tables {
		key := routeKey{table: table.ID}
		if !table.Exclusive || !table.Used || p.writesTo(table.ID) < 2 || c.state.retryDelay(key) > 0 {
			continue
		}
		routes := d.routesFor(table)
		attempted, err := c.breakers.do(breakerKey{table: table.ID}, func() error {
			return c.provider.Replace(context.WithoutCancel(ctx), table.ID, c.cidrs, routes)
		})
		if !attempted {
			continue
		}
		c.metrics.countWrite(replace, err)
		if err != nil { // one refused route must not delay the others, so they are written one by one
			c.state.recordFailure(key, problem{})
			klog.FromContext(ctx).Error(err,
				"The routes of a table could not be replaced at once; they are written one by one", "table", table.Name)
			continue
		}
		c.state.clearFailure(key)
		result.recordWrite(replace, table.ID, nil)
		p.recordReplacement(table.ID, routes)
	}
}

// routesFor are all routes that a table should have inside the cluster's networks. Existing routes of Nodes that have
// no address now, or are not initialised, are kept.
func (d desired) routesFor(table cloud.RouteTable) []cloud.Route {
	var routes []cloud.Route
	isDesired := map[netip.Prefix]bool{}
	for _, r := range d.routes {
		isDesired[r.destination] = true
	}
	for _, f := range table.Routes {
		if d.destinations[f.Destination] && !isDesired[f.Destination] && f.Gateway.IsValid() {
			routes = append(routes, cloud.Route{Destination: f.Destination, Gateway: f.Gateway})
		}
	}
	for _, r := range d.routes {
		current := slices.IndexFunc(table.Routes, func(f cloud.ActualRoute) bool {
			return f.Destination == r.destination && f.Gateway.IsValid()
		})
		route := r.route()
		if current >= 0 && (len(r.gateways) == 0 || slices.Contains(r.gateways, table.Routes[current].Gateway)) {
			route.Gateway = table.Routes[current].Gateway
		}
		if route.Gateway.IsValid() {
			routes = append(routes, route)
		}
	}
	return routes
}

// inParallel calls a function for each element, some at a time, until ctx ends.
func inParallel[T any](ctx context.Context, all []T, do func(T)) {
	var workers sync.WaitGroup
	slots := make(chan struct{}, parallel)
	for _, one := range all {
		select {
		case <-ctx.Done():
			workers.Wait()
			return
		case slots <- struct{}{}:
		}
		workers.Go(func() {
			defer func() { <-slots }()
			do(one)
		})
	}
	workers.Wait()
}

// removeRoutes deletes routes that are not needed. A table that is not used any more keeps its routes until those in
// other tables are created. A sync that leaves additions to the next one deletes nothing.
func (c *Controller) removeRoutes(ctx context.Context, p plan, result *outcome) {
	if result.incomplete {
		return
	}
	added := !result.failed && !result.stale
	inParallel(ctx, p.removals, func(o operation) {
		if o.delay > 0 || (!o.table.Used && !added) {
			result.retryAfter(o.delay)
			return
		}
		attempted, err := c.breakers.do(breakerKeyOf(o), func() error {
			return c.provider.Delete(context.WithoutCancel(ctx), o.table.ID, o.actual)
		})
		result.recordWrite(o.verb, o.table.ID, err)
		if !attempted {
			result.retryAfter(c.breakers.delay(breakerKeyOf(o)))
			return
		}
		c.metrics.countWrite(o.verb, err)
		if err == nil {
			c.state.clearFailure(o.key())
			c.state.removeOwned(o.key())
			klog.FromContext(ctx).Info("Deleted the route of a Node that does not exist any more, or has another route",
				"destination", o.actual.Destination, "gateway", o.actual.Gateway, "table", o.table.Name)
			return
		}
		if c.isStale(err) {
			return
		}
		delay := c.state.recordFailure(o.key(), problem{})
		result.retryAfter(delay)
		klog.FromContext(ctx).Error(err, "A route that no Node needs could not be deleted; it is retried",
			"destination", o.actual.Destination, "gateway", nextHop(o.actual), "table", o.table.Name, "after", delay)
	})
}
