package route

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/event"
	"github.com/thalassa-cloud/thalassa-ccm/src/list"
	"github.com/thalassa-cloud/thalassa-ccm/src/tracing"
)

// parallel is how many writes are made at a time.
const parallel = 10

// apply makes the writes of a plan, and reports on each Node whether it has all its routes. Routes are removed after
// those that replace them are created.
func (c *Controller) apply(ctx context.Context, nodes []*corev1.Node, d desired, p plan, result *outcome) {
	c.replaceTables(ctx, p, result)
	names := d.nodes()
	affected := slices.DeleteFunc(slices.Clone(nodes), func(node *corev1.Node) bool {
		return !names[node.Name] && len(p.warnings[node.Name]) == 0 && p.unknownTables[node.Name] == ""
	})
	eachNode := func(node *corev1.Node) { c.applyNode(ctx, node, d, p, names[node.Name], result) }
	writeAll(ctx, c, c.failingLast(affected, p), eachNode, func(node *corev1.Node) []*operation {
		return p.additions[node.Name]
	})
	c.removeRoutes(ctx, slices.Clone(p.removals), result)
}

// writeAll calls a function for each element, which makes its writes. Of the writes to a table that refused the latest
// one, a single one is made first, and shows whether the table accepts writes again.
func writeAll[T any](ctx context.Context, c *Controller, all []T, do func(T), writesOf func(T) []*operation) {
	isProbe := func(o *operation) bool {
		delay, _ := c.failures.refusal(o)
		return !o.done && o.delay == 0 && delay == 0 && c.failures.refused(o)
	}
	for ctx.Err() == nil {
		at := slices.IndexFunc(all, func(one T) bool { return slices.ContainsFunc(writesOf(one), isProbe) })
		if at < 0 {
			break
		}
		do(all[at])
		all = slices.Concat(all[:at], all[at+1:])
	}
	workqueue.ParallelizeUntil(ctx, parallel, len(all), func(at int) { do(all[at]) })
}

// failingLast sorts Nodes by the order in which their routes are written. Nodes with a failed write are last: a write
// for another Node shows sooner whether the table refuses everything. The others are sorted by age, the oldest first.
// While a table refuses writes, the newest is first: a route that was never tried shows most, and a new Node does not
// wait for many failing ones.
func (c *Controller) failingLast(nodes []*corev1.Node, p plan) []*corev1.Node {
	refusing := slices.ContainsFunc(p.writes, func(o *operation) bool {
		return o.verb != remove && c.failures.refused(o)
	})
	rank := func(node *corev1.Node) int {
		additions := p.additions[node.Name]
		switch {
		case slices.ContainsFunc(additions, func(o *operation) bool { return c.failures.failed(attempt{o.key(), ""}) }):
			return 2
		case len(additions) == 0:
			return 1
		}
		return 0
	}
	ranks := map[*corev1.Node]int{}
	for _, node := range nodes {
		ranks[node] = rank(node)
	}
	return slices.SortedStableFunc(slices.Values(nodes), func(a, b *corev1.Node) int {
		age := a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
		if refusing {
			age = -age
		}
		return cmp.Or(cmp.Compare(ranks[a], ranks[b]), age)
	})
}

// applyNode creates and changes the routes of one Node. It reports the result in events, and in the condition if the
// Node has pod networks. A Node that has changed is left to the next sync.
func (c *Controller) applyNode(ctx context.Context, node *corev1.Node, d desired, p plan, hasNetworks bool,
	result *outcome) {
	current, err := c.nodes.Get(node.Name)
	if len(p.additions[node.Name]) > 0 && (err != nil || !c.sameRoutes(node, current)) {
		result.leaveNode()
		return
	}
	missing, warnings, stale := c.addMissing(ctx, node, d, p, result)
	if ctx.Err() != nil {
		return
	}
	if len(missing) > 0 || stale {
		result.countMissing()
	}
	if stale {
		return // the next sync reports the result
	}
	c.events.Record(c.recorder, node, slices.Concat(missing, warnings))
	if hasNetworks {
		c.setCondition(node, conditionFor(missing))
	}
}

// addMissing creates and changes the routes of a Node. It returns the problems because of which routes are missing, and
// warnings that do not change the condition. A Node whose network is available stays available if a route is missing in
// one table and exists in another, such as after a subnet began to use one more table: its pods are reached as well as
// before. Stale says that a write needs a newer list.
func (c *Controller) addMissing(ctx context.Context, node *corev1.Node, d desired, p plan,
	result *outcome) (missing, warnings []event.Warning, stale bool) {
	missing, warnings = slices.Clone(d.problems[node.Name]), slices.Clone(p.warnings[node.Name])
	report := func(problem event.Warning, reachable bool) {
		if reachable && conditionOf(node).status == corev1.ConditionFalse {
			warnings = append(warnings, problem)
			return
		}
		missing = append(missing, problem)
	}
	if cause := p.unknownTables[node.Name]; cause != "" {
		// the cloud may list the subnet or table later, and without a drift period nothing else starts a sync
		result.retryAfter(maxRetryDelay)
		report(problem(reasonNoTable, "%s", cause), true)
	}
	for _, one := range p.conflicts[node.Name] {
		report(one.Warning, p.correctInOther(one.table, one.route))
	}
	for _, o := range p.additions[node.Name] {
		if ctx.Err() != nil {
			return nil, nil, false
		}
		switch err := c.write(ctx, o, result); {
		case c.isStale(err):
			stale = true
		case err != nil:
			report(problemOf(o, err), p.correctInOther(o.table.ID, nodeNetwork{o.route.Destination, node.Name}))
		}
	}
	return missing, warnings, stale
}

func problemOf(o *operation, err error) event.Warning {
	reason := reasonFailed
	if routeProblem, ok := errors.AsType[*cloud.RouteProblem](err); ok {
		reason = cmp.Or(routeProblem.Reason, reason)
	}
	return problem(reason,
		"Could not create the route to %s via %s in route table %s: %s", o.route.Destination, o.route.Gateway,
		o.table.Name, list.Sentences(err.Error(), "It is retried automatically"))
}

// removeRoutes deletes routes that are not needed. A table that is not used any more keeps its routes until those in
// other tables are created. A sync that leaves Nodes to the next one deletes nothing.
func (c *Controller) removeRoutes(ctx context.Context, removals []*operation, result *outcome) {
	if result.incomplete {
		return
	}
	added := !result.failed && !result.stale
	removals = slices.DeleteFunc(removals, func(o *operation) bool { return !o.table.Used && !added })
	writeAll(ctx, c, removals, func(o *operation) {
		before := o.delay > 0 || o.done
		err := c.write(ctx, o, result)
		log := klog.FromContext(ctx).WithValues("destination", o.actual.Destination, "gateway", nextHop(o.actual),
			"table", o.table.Name)
		switch {
		case before || c.isStale(err):
		case err != nil:
			log.Error(err, "A route that no Node needs could not be deleted; it is retried")
		default:
			log.Info("Deleted the route of a Node that does not exist any more, or has another route")
		}
	}, func(o *operation) []*operation { return []*operation{o} })
}

// errFull says that the table refused a route earlier in this sync.
var errFull = errors.New("the cloud has just refused another route, because the quota is used up")

// write makes one write, unless it or its table has to wait after a failure. The error is why it was not made. It is
// completed even if ctx ends.
func (c *Controller) write(ctx context.Context, o *operation, result *outcome) error {
	if o.delay > 0 || o.done {
		result.retryAfter(o.delay)
		return o.err
	}
	if delay, err := c.failures.refusal(o); delay > 0 {
		result.retryAfter(delay)
		result.record(o, err)
		return err
	}
	err := c.call(context.WithoutCancel(ctx), o, result)
	result.record(o, err)
	switch {
	case err == nil:
		c.failures.clear(attempt{routeKey: o.key()})
	case !c.isStale(err):
		tracing.Fail(ctx, err)
		result.retryAfter(c.failures.add(attempt{routeKey: o.key()}, err))
	}
	return err
}

// call calls the cloud in a span.
func (c *Controller) call(ctx context.Context, o *operation, result *outcome) error {
	ctx, span := tracing.Start(ctx, "write", attribute.String("verb", string(o.verb)),
		attribute.String("kind", "route"))
	if span.IsRecording() {
		span.SetAttributes(attribute.Stringer("name", o.key().destination))
	}
	err := c.send(ctx, o, result)
	tracing.End(span, err)
	return err
}

// send calls the cloud. After a route was refused because the table is full, no other one is created in this sync.
func (c *Controller) send(ctx context.Context, o *operation, result *outcome) (err error) {
	switch {
	case o.verb == remove:
		err = c.provider.Delete(ctx, o.table.ID, o.actual)
	case o.verb == change:
		err = c.provider.Change(ctx, o.table.ID, o.actual, o.route)
	case result.isFull(o.table.ID):
		return &cloud.RouteProblem{Reason: cloud.RouteQuotaExceeded, TableFull: true, Err: errFull}
	default:
		err = c.provider.Create(ctx, o.table.ID, o.route)
	}
	c.metrics.countWrite(o.verb, err)
	c.failures.recordTable(o, err)
	return err
}

// replaceTables writes exclusive tables that need more than one write as a whole. After that the planned writes to them
// count as made: the cloud is not listed again, because a list may not contain them yet. If it fails, they are written
// one by one, because one refused route must not delay the others.
func (c *Controller) replaceTables(ctx context.Context, p plan, result *outcome) {
	tables := map[string]cloud.RouteTable{}
	for _, o := range p.writes {
		tables[o.table.ID] = o.table
	}
	for id, table := range tables {
		writes, key := p.writesTo(id), attempt{routeKey{table: id}, replace}
		delay, _ := c.failures.wait(key)
		refused, _ := c.failures.wait(attempt{routeKey{table: id}, create})
		if !table.Exclusive || !table.Used || len(writes) < 2 || delay > 0 || refused > 0 {
			continue
		}
		err := c.provider.Replace(context.WithoutCancel(ctx), id, c.cidrs, p.routesIn(id))
		c.metrics.countWrite(replace, err)
		c.failures.recordTable(&operation{verb: replace, table: table}, err)
		if err != nil {
			tracing.Fail(ctx, err)
			c.failures.add(key, err)
			klog.FromContext(ctx).Error(err,
				"The routes of a table could not be replaced at once; they are written one by one", "table", table.Name)
			continue
		}
		c.failures.clear(key)
		for _, o := range writes {
			o.done, o.delay, o.err = true, 0, nil
			result.record(o, nil)
			c.failures.clear(attempt{routeKey: o.key()})
			if o.verb != remove {
				p.addCorrect(table, nodeNetwork{o.route.Destination, o.route.Node.Name})
			}
		}
	}
}
