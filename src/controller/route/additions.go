package route

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// addRoutes creates and changes routes, and reports on each Node whether it has all of them.
func (c *Controller) addRoutes(ctx context.Context, nodes []*corev1.Node, d desired, p plan, result *outcome) {
	names := d.nodeNames()
	result.addingSince = time.Now()
	affected := slices.DeleteFunc(slices.Clone(nodes), func(node *corev1.Node) bool {
		return !names[node.Name] && len(p.warnings[node.Name]) == 0 && p.unknownTables[node.Name] == ""
	})
	alone, refusing := 0, c.refusesWrites(p)
	if refusing { // one write checks whether the table accepts writes again
		alone = min(1, len(affected))
	}
	affected = c.failingLast(affected, d, p, refusing)
	c.setPendingIfLater(ctx, affected, p, result) // in the order in which their routes are created
	add := func(node *corev1.Node) { c.addNodeRoutes(ctx, node, d, p, names[node.Name], result) }
	inParallel(ctx, affected[:alone], add)
	inParallel(ctx, affected[alone:], add)
	if result.incomplete {
		result.retryAfter(window)
	}
}

// addNodeRoutes creates and changes the routes of one Node. It reports the result in events, and in the condition if
// the Node has pod networks.
func (c *Controller) addNodeRoutes(ctx context.Context, node *corev1.Node, d desired, p plan, hasNetworks bool,
	result *outcome) {
	if slices.ContainsFunc(p.additions[node.Name], operation.due) && c.stopsAdding(result) {
		result.countMissing()
		return
	}
	var missing, warnings []problem
	whenSlow(func() { missing, warnings = c.addMissing(ctx, node, d, p, result) }, func() {
		if hasNetworks {
			c.setPending(ctx, []*corev1.Node{node}, result)
		}
	})
	if ctx.Err() != nil {
		return
	}
	if len(missing) > 0 {
		result.countMissing()
	}
	if slices.Contains(slices.Concat(missing, warnings), problem{reason: staleWrite}) {
		return // the next sync reports the result
	}
	for _, n := range c.state.newProblems(node.UID, slices.Concat(missing, warnings)) {
		c.recorder.Event(node, corev1.EventTypeWarning, n.reason, n.message)
	}
	if hasNetworks {
		c.setCondition(ctx, node, conditionFor(missing), result)
	}
}

// maxAddTime is how long a sync creates routes while Nodes change. After it the next sync begins, which plans the
// routes of the changed Nodes, too.
const maxAddTime = 5 * time.Second

// stopsAdding says whether the routes of one more Node are left to the next sync, which begins in a moment. The next
// sync finds the routes that this one created. Each sync creates some, also if listing takes longer than maxAddTime.
func (c *Controller) stopsAdding(o *outcome) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.started >= parallel && time.Since(o.addingSince) >= maxAddTime && c.nodeChanges.Load() != o.changesSeen {
		o.incomplete = true
	}
	if !o.incomplete {
		o.started++
	}
	return o.incomplete
}

// nodeNames are the names of the Nodes that have pod networks, whether these get routes or not.
func (d desired) nodeNames() map[string]bool {
	names := map[string]bool{}
	for _, r := range d.routes {
		names[r.node.Name] = true
	}
	for _, r := range d.oversized {
		names[r.node.Name] = true
	}
	for name := range d.problems {
		names[name] = true
	}
	return names
}

// addMissing creates and changes the routes of a Node. It returns the problems because of which routes are missing, and
// warnings that do not change the condition. A Node whose network is available stays available if a route is missing in
// one table and exists in another, such as after a subnet began to use one more table: its pods are reached as well as
// before.
func (c *Controller) addMissing(ctx context.Context, node *corev1.Node, d desired, p plan,
	result *outcome) (missing, warnings []problem) {
	missing, warnings = slices.Clone(d.problems[node.Name]), slices.Clone(p.warnings[node.Name])
	report := func(cause problem, table string, destination netip.Prefix) {
		if conditionOf(node).status == corev1.ConditionFalse && p.correctInOther(table, destination) {
			warnings = append(warnings, cause)
			return
		}
		missing = append(missing, cause)
	}
	if cause := p.unknownTables[node.Name]; cause != "" {
		// the cloud may list the subnet or table later, and without a drift period nothing else starts a sync
		result.retryAfter(maxRetryDelay)
		unknown := problem{reasonNoTable, cause}
		if conditionOf(node).status == corev1.ConditionFalse {
			warnings = append(warnings, unknown)
		} else {
			missing = append(missing, unknown)
		}
	}
	for _, one := range p.conflicts[node.Name] {
		if one.inNoTable {
			missing = append(missing, one.problem)
			continue
		}
		report(one.problem, one.table, one.destination)
	}
	for _, o := range p.additions[node.Name] {
		if ctx.Err() != nil {
			return nil, nil
		}
		if cause, failed := c.writeAddition(ctx, o, result); failed {
			report(cause, o.table.ID, o.route.Destination)
		}
	}
	return missing, warnings
}

// writeAddition makes one creation or change, unless it has to wait after a failure. The problem is why there is no
// route. The write is completed even if ctx ends.
func (c *Controller) writeAddition(ctx context.Context, o operation, result *outcome) (p problem, failed bool) {
	if o.delay > 0 {
		result.retryAfter(o.delay)
		return o.problem, true
	}
	key := o.key()
	attempted, err := c.breakers.do(breakerKeyOf(o), func() error {
		switch {
		case o.verb == change:
			return c.provider.Change(context.WithoutCancel(ctx), o.table.ID, o.actual, o.route)
		case result.isFull(o.table.ID):
			return &cloud.RouteProblem{Reason: cloud.RouteQuotaExceeded, TableFull: true, Err: errFull}
		}
		return c.provider.Create(context.WithoutCancel(ctx), o.table.ID, o.route)
	})
	result.recordWrite(o.verb, o.table.ID, err)
	if !attempted {
		result.retryAfter(c.breakers.delay(breakerKeyOf(o)))
		return problemOf(o, err), true
	}
	if !errors.Is(err, errFull) {
		c.metrics.countWrite(o.verb, err)
	}
	if c.isStale(err) {
		return problem{reason: staleWrite}, true
	}
	if err == nil {
		c.state.clearFailure(key)
		c.state.addOwned(key)
		return problem{}, false
	}
	p = problemOf(o, err)
	result.retryAfter(c.state.recordFailure(key, p))
	return p, true
}

// After a write that returned cloud.ErrStale, the routes are compared with a newer list after staleDelay, which doubles
// each time. After maxStale times in a row, it is a failure.
const (
	staleDelay = 200 * time.Millisecond
	maxStale   = 8
)

// isStale says whether a write only needs a newer list.
func (c *Controller) isStale(err error) bool {
	return errors.Is(err, cloud.ErrStale) && c.staleSyncs < maxStale
}

// retryStale queues the next sync if a write needs a newer list.
func (c *Controller) retryStale(stale bool) {
	if !stale {
		c.staleSyncs = 0
		return
	}
	c.queue.AddAfter(cloudChange, staleDelay<<min(c.staleSyncs, maxStale))
	c.staleSyncs++
}

// staleWrite is the reason of what is no problem to report: a route is missing until the next sync.
const staleWrite = "Stale"

// errFull says that the table refused a route earlier in this sync.
var errFull = errors.New("the cloud has just refused another route, because the quota is used up")

func problemOf(o operation, err error) problem {
	reason := reasonFailed
	if routeProblem, ok := errors.AsType[*cloud.RouteProblem](err); ok {
		reason = cmp.Or(routeProblem.Reason, reason)
	}
	return problem{reason,
		fmt.Sprintf("Could not create the route to %s via %s in route table %s: %v. It is retried automatically.",
			o.route.Destination, o.route.Gateway, o.table.Name, err)}
}
