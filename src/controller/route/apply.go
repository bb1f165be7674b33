package route

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/event"
	"github.com/thalassa-cloud/thalassa-ccm/src/tracing"
)

// parallel is how many writes are made at a time.
const parallel = 10

// apply makes the writes of a plan, and reports on each Node whether it has all its routes. Routes are removed after
// those that replace them are created.
func (c *Controller) apply(ctx context.Context, nodes []*corev1.Node, d desired, p plan, result *outcome) {
	names := d.nodes()
	affected := slices.DeleteFunc(slices.Clone(nodes), func(node *corev1.Node) bool {
		return !names[node.Name] && len(p.warnings[node.Name]) == 0 && p.unknownTables[node.Name] == ""
	})
	// Nodes whose writes were tried least are first: they show sooner whether a table refuses everything, and a new
	// Node does not wait for many failing ones.
	slices.SortFunc(affected, func(a, b *corev1.Node) int {
		return cmp.Or(cmp.Compare(triesOf(p.additions[a.Name]...), triesOf(p.additions[b.Name]...)), older(a, b))
	})
	failed := result.countFailed(p.writes)
	forEach(ctx, affected, failed, func(node *corev1.Node) { c.applyNode(ctx, node, d, p, names[node.Name], result) })
	c.removeRoutes(ctx, slices.Clone(p.removals), failed, result)
}

// forEach calls a function for each element. After a failed write, the first one is alone: if its writes are refused
// again, the others are not tried.
func forEach[T any](ctx context.Context, all []T, failed bool, do func(T)) {
	if failed && len(all) > 0 {
		do(all[0])
		all = all[1:]
	}
	workqueue.ParallelizeUntil(ctx, parallel, len(all), func(at int) { do(all[at]) })
}

// triesOf is how often writes failed that are part of this sync, so that those without any are last.
func triesOf(operations ...*operation) int {
	most := -1
	for _, o := range operations {
		if o.delay == 0 {
			most = max(most, o.failed.tries)
		}
	}
	if most < 0 {
		return math.MaxInt
	}
	return most
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
		o.table.Name, event.Sentences(err.Error(), "It is retried automatically"))
}

// removeRoutes deletes routes that are not needed. A table that is not used any more keeps its routes until those in
// other tables are created. A sync that leaves Nodes to the next one deletes nothing.
func (c *Controller) removeRoutes(ctx context.Context, removals []*operation, failed bool, result *outcome) {
	if result.incomplete {
		return
	}
	added := !result.failed && !result.stale
	removals = slices.DeleteFunc(removals, func(o *operation) bool { return !o.table.Used && !added })
	slices.SortStableFunc(removals, func(a, b *operation) int { return cmp.Compare(triesOf(a), triesOf(b)) })
	forEach(ctx, removals, failed, func(o *operation) {
		err := c.write(ctx, o, result)
		log := klog.FromContext(ctx).WithValues("destination", o.actual.Destination, "gateway", nextHop(o.actual),
			"table", o.table.Name)
		switch {
		case o.delay > 0 || c.isStale(err):
		case err != nil:
			log.Error(err, "A route that no Node needs could not be deleted; it is retried")
		default:
			log.Info("Deleted the route of a Node that does not exist any more, or has another route")
		}
	})
}

// write makes one write, unless it has to wait after a failure, or its table refused others in this sync. The error is
// why it was not made. It is completed even if ctx ends.
func (c *Controller) write(ctx context.Context, o *operation, result *outcome) error {
	if o.delay > 0 {
		result.retryAfter(o.delay)
		return o.failed.err
	}
	err, tries := result.refusal(o), 0
	if err != nil {
		err = cmp.Or(o.failed.err, err) // its own one, because an event with another message would be sent again
	} else {
		err, tries = c.call(context.WithoutCancel(ctx), o), 1
	}
	result.record(o, err)
	switch {
	case err == nil:
		c.failures.clear(o.key())
	case !c.isStale(err):
		tracing.Fail(ctx, err)
		result.retryAfter(c.failures.add(o.key(), err, tries))
	}
	return err
}

// call calls the cloud in a span.
func (c *Controller) call(ctx context.Context, o *operation) (err error) {
	ctx, span := tracing.Start(ctx, "write", attribute.String("verb", string(o.verb)),
		attribute.String("kind", "route"))
	if span.IsRecording() {
		span.SetAttributes(attribute.Stringer("name", o.key().destination))
	}
	switch o.verb {
	case create:
		err = c.provider.Create(ctx, o.table.ID, o.route)
	case change:
		err = c.provider.Change(ctx, o.table.ID, o.actual, o.route)
	case remove:
		err = c.provider.Delete(ctx, o.table.ID, o.actual)
	}
	c.metrics.countWrite(o.verb, err)
	tracing.End(span, err)
	return err
}
