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

// additions gives Nodes the routes they lack, and says on each how it is.
func (c *Controller) additions(ctx context.Context, nodes []*corev1.Node, d demand, p plan, result *outcome) {
	wanting := d.wanting()
	result.adding = time.Now()
	concerned := slices.DeleteFunc(slices.Clone(nodes), func(node *corev1.Node) bool {
		return !wanting[node.Name] && len(p.warnings[node.Name]) == 0 && p.unserved[node.Name] == ""
	})
	ahead, refusing := 0, c.refusing(p)
	if refusing { // so that it is certain which Node finds out whether that is over
		ahead = min(1, len(concerned))
	}
	concerned = c.luckyFirst(concerned, d, p, refusing)
	c.markWaiting(ctx, concerned, p, result) // in the order in which they are served
	serve := func(node *corev1.Node) { c.serveNode(ctx, node, d, p, wanting[node.Name], result) }
	inParallel(ctx, concerned[:ahead], serve)
	inParallel(ctx, concerned[ahead:], serve)
	if result.cut {
		result.later(window)
	}
}

// serveNode gives one Node the routes it lacks, and says on it how it is, if it wants any.
func (c *Controller) serveNode(ctx context.Context, node *corev1.Node, d demand, p plan, wanting bool,
	result *outcome) {
	if slices.ContainsFunc(p.additions[node.Name], operation.due) && c.leaves(result) {
		result.lacks()
		return
	}
	var lacking, warnings []notice
	whenSlow(func() { lacking, warnings = c.lacks(ctx, node, d, p, result) }, func() {
		if wanting {
			c.sayWaiting(ctx, []*corev1.Node{node}, result)
		}
	})
	if ctx.Err() != nil {
		return
	}
	if len(lacking) > 0 {
		result.lacks()
	}
	for _, n := range c.memory.news(node.UID, slices.Concat(lacking, warnings)) {
		c.recorder.Event(node, corev1.EventTypeWarning, n.reason, n.message)
	}
	if wanting {
		c.say(ctx, node, stateOf(lacking), result)
	}
}

// haste is how long a pass goes on making routes while Nodes change: what they need is in the next one.
const haste = 5 * time.Second

// leaves says whether the routes of one more Node are left to the next pass, which begins in a moment. Nothing is lost
// by that: what was made is known. Each pass makes some, however long its look took.
func (c *Controller) leaves(o *outcome) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.started >= parallel && time.Since(o.adding) >= haste && c.changes.Load() != o.seen {
		o.cut = true
	}
	if !o.cut {
		o.started++
	}
	return o.cut
}

// wanting are the names of Nodes that have networks of pods, as far as they are to be told about them.
func (d demand) wanting() map[string]bool {
	names := map[string]bool{}
	for _, w := range d.wants {
		names[w.node.Name] = true
	}
	for _, w := range d.oversized {
		names[w.node.Name] = true
	}
	for name := range d.notices {
		names[name] = true
	}
	return names
}

// lacks makes the routes of a Node, and says which it has not got then, and what else its owner should know. A Node
// that is available stays so when a table cannot be filled and another one has the same route, as when a subnet comes
// to use one more table: its pods are reached as well as before.
func (c *Controller) lacks(ctx context.Context, node *corev1.Node, d demand, p plan,
	result *outcome) (lacking, warnings []notice) {
	lacking, warnings = slices.Clone(d.notices[node.Name]), slices.Clone(p.warnings[node.Name])
	note := func(why notice, table string, destination netip.Prefix) {
		if available(node).status == corev1.ConditionFalse && p.elsewhere(table, destination) {
			warnings = append(warnings, why)
			return
		}
		lacking = append(lacking, why)
	}
	if why := p.unserved[node.Name]; why != "" {
		// the cloud may show its subnet or table later, and nothing else brings a look where nobody looks for drift
		result.later(maxRetryDelay)
		unserved := notice{reasonNoTable, why}
		if available(node).status == corev1.ConditionFalse {
			warnings = append(warnings, unserved)
		} else {
			lacking = append(lacking, unserved)
		}
	}
	for _, one := range p.conflicts[node.Name] {
		if one.nowhere {
			lacking = append(lacking, one.notice)
			continue
		}
		note(one.notice, one.table, one.destination)
	}
	for _, o := range p.additions[node.Name] {
		if ctx.Err() != nil {
			return nil, nil
		}
		if why, failed := c.addition(ctx, o, result); failed {
			note(why, o.table.ID, o.route.Destination)
		}
	}
	return lacking, warnings
}

// addition makes one creation or change, unless it failed a moment ago. The notice is why there is no route. What has
// begun is finished, also when the process is told to end.
func (c *Controller) addition(ctx context.Context, o operation, result *outcome) (why notice, failed bool) {
	if o.rest > 0 {
		result.later(o.rest)
		return o.why, true
	}
	key := o.key()
	tried, err := c.gates.pass(doorOf(o), func() error {
		switch {
		case o.verb == change:
			return c.provider.Change(context.WithoutCancel(ctx), o.table.ID, o.found, o.route)
		case result.isFull(o.table.ID):
			return &cloud.RouteProblem{Reason: cloud.RouteQuotaExceeded, TableFull: true, Err: errFull}
		}
		return c.provider.Create(context.WithoutCancel(ctx), o.table.ID, o.route)
	})
	result.wrote(o.verb, o.table.ID, err)
	if !tried {
		result.later(c.gates.rest(doorOf(o)))
		return noticeOf(o, err), true
	}
	if !errors.Is(err, errFull) {
		c.metrics.wrote(o.verb, err)
	}
	if err == nil {
		c.memory.succeeded(key)
		c.memory.own(key)
		return notice{}, false
	}
	why = noticeOf(o, err)
	result.later(c.memory.failed(key, why))
	return why, true
}

// errFull says that the table refused a route a moment ago.
var errFull = errors.New("the cloud has just refused another route, because the quota is used up")

func noticeOf(o operation, err error) notice {
	reason := reasonFailed
	if problem, told := errors.AsType[*cloud.RouteProblem](err); told {
		reason = cmp.Or(problem.Reason, reason)
	}
	return notice{reason,
		fmt.Sprintf("Could not create the route to %s via %s in route table %s: %v. It is retried automatically.",
			o.route.Destination, o.route.Gateway, o.table.Name, err)}
}
