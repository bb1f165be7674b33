package route

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/event"
)

// sync compares the routes once and writes what differs. The error is that they could not be compared; in that case
// nothing was written.
func (c *Controller) sync(ctx context.Context, trigger string) (*outcome, error) {
	result := &outcome{tables: map[tableVerb]*refusal{}, done: map[verb]int{}}
	nodes, err := c.nodes.List(labels.Everything())
	if err != nil {
		return result, fmt.Errorf("listing nodes: %w", err)
	}
	members, err := c.provider.Members(ctx, slices.DeleteFunc(slices.Clone(nodes), c.excludes))
	memberNodes := nodesOf(members)
	if err != nil {
		c.reportError(memberNodes, err)
		return result, err
	}
	cluster := cloud.PodNetwork{CIDRs: c.cidrs, Members: members}
	d := newDesired(cluster, nodes, c.shortest)
	p, tables, err := c.compare(ctx, cluster, d, trigger)
	if err != nil {
		c.reportError(memberNodes, err)
		return result, err
	}
	c.reportRestored(p)
	c.reportLeftBehind(memberNodes, d, p)
	c.prune(p)
	c.setOwned(tables, p)
	retryUnknownMachines(members, result)
	c.apply(ctx, memberNodes, d, p, result)
	c.clearConditions(nodes)
	c.updateOwned(result)
	c.metrics.setRoutes(p, result)
	return result, ctx.Err()
}

// compare lists the routes and plans. A cached list is sufficient to create routes; deletions and changes are planned
// with a new list.
func (c *Controller) compare(ctx context.Context, cluster cloud.PodNetwork, d desired,
	trigger string) (plan, []cloud.RouteTable, error) {
	if trigger == nodeChange {
		if p, tables, err := c.listAndPlan(ctx, cluster, d, c.maxListAge()); err != nil ||
			!slices.ContainsFunc(p.writes, (*operation).changesRoute) {
			return p, tables, err
		}
	}
	return c.listAndPlan(ctx, cluster, d, 0)
}

func (c *Controller) listAndPlan(ctx context.Context, cluster cloud.PodNetwork, d desired,
	maxAge time.Duration) (plan, []cloud.RouteTable, error) {
	view, err := c.provider.List(ctx, cluster, maxAge)
	if err != nil {
		return plan{}, nil, err
	}
	used := slices.ContainsFunc(view.Tables, func(t cloud.RouteTable) bool { return t.Used })
	if needed := slices.ContainsFunc(d.routes, func(r desiredRoute) bool {
		return len(r.gateways) > 0 && !r.oversized
	}); needed && !used {
		return plan{}, nil, noTableError(view)
	}
	p := newPlan(view, ownership{cidrs: cluster.CIDRs, desired: d, owned: c.owned})
	for _, o := range p.writes {
		o.failed = c.failures.get(o.key())
		o.delay = o.failed.wait()
	}
	return p, view.Tables, nil
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

// prune removes records about writes that are not planned any more, and about Nodes that do not exist any more.
func (c *Controller) prune(p plan) {
	planned, alive := map[routeKey]bool{}, map[types.UID]bool{}
	for _, o := range p.writes {
		planned[o.key()] = true
	}
	nodes, err := c.nodes.List(labels.Everything())
	if err != nil { // a cache does not fail
		return
	}
	for _, node := range nodes {
		alive[node.UID] = true
	}
	c.failures.retain(planned)
	c.events.Retain(func(uid types.UID) bool { return alive[uid] })
	c.conditions.retain(alive)
}

// setOwned records this cluster's routes before the writes. Routes whose removal fails, and those in tables that were
// not listed, are still owned.
func (c *Controller) setOwned(tables []cloud.RouteTable, p plan) {
	before := c.owned
	c.owned = maps.Clone(p.owned)
	for route := range before {
		if !slices.ContainsFunc(tables, func(t cloud.RouteTable) bool { return t.ID == route.table }) {
			c.owned[route] = true
		}
	}
	for _, o := range p.removals {
		c.owned[o.key()] = true
	}
}

// updateOwned records the routes that were created, and removes those that were deleted: another program may create the
// same one later.
func (c *Controller) updateOwned(result *outcome) {
	for _, o := range result.written {
		if c.owned[o.key()] = true; o.verb == remove {
			delete(c.owned, o.key())
		}
	}
}

// retryUnknownMachines requests another sync if the cloud does not show the machines of Nodes, so that the gateways of
// their routes are not known. The cloud usually shows a machine a moment later, so the delay grows with the age of the
// Node.
func retryUnknownMachines(members []cloud.RouteMember, result *outcome) {
	for _, member := range members {
		if !member.Known && !cloud.Uninitialised(member.Node) && len(podCIDRs(member.Node)) > 0 {
			age := time.Since(member.Node.CreationTimestamp.Time)
			result.retryAfter(min(max(age, minRetryDelay), maxRetryDelay))
		}
	}
}

// reportError reports an error to Nodes that wait for routes. Nodes whose condition says that they have their routes do
// not change, because a failed list does not prove the opposite.
func (c *Controller) reportError(nodes []*corev1.Node, err error) {
	missing := 0
	for _, node := range nodes {
		if len(podCIDRs(node)) == 0 || conditionOf(node).status == corev1.ConditionFalse {
			continue
		}
		missing++
		c.events.Record(c.recorder, node, []event.Warning{problem(reasonUnknown, textUnknown,
			event.Sentences(err.Error(), "It is retried automatically"))})
	}
	c.metrics.missing.Set(float64(missing))
}

// reportRestored reports routes that existed at the latest sync and do not exist now although their Nodes need them.
// Each is reported on its Node, and many in one table, such as after it was emptied, in one event on the oldest Node.
func (c *Controller) reportRestored(p plan) {
	lost := map[string][]cloud.Route{} // by the table's name, sorted by the age of the Nodes
	for _, o := range p.writes {
		if o.verb == create && c.owned[o.key()] {
			c.metrics.drift.Inc()
			lost[o.table.Name] = append(lost[o.table.Name], o.route)
		}
	}
	for _, table := range slices.Sorted(maps.Keys(lost)) {
		c.reportRestoredIn(table, lost[table])
	}
}

func (c *Controller) reportRestoredIn(table string, lost []cloud.Route) {
	if len(lost) <= event.MaxNames {
		for _, r := range lost {
			c.recorder.Eventf(r.Node, corev1.EventTypeWarning, reasonRestored, textRestored, r.Destination, table)
		}
		return
	}
	c.recorder.Eventf(lost[0].Node, corev1.EventTypeWarning, reasonRestored, textManyRestored, len(lost), table,
		shortList(lost, func(r cloud.Route) string {
			return r.Destination.String()
		}))
}

// shortList writes a list for an event, sorted.
func shortList[T any](all []T, text func(T) string) string {
	texts := make([]string, 0, len(all))
	for _, one := range all {
		texts = append(texts, text(one))
	}
	return event.Names(slices.Sorted(slices.Values(texts)))
}
