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

// parallel is how many routes are written at a time.
const parallel = 10

// outcome is how a pass ended.
type outcome struct {
	mu      sync.Mutex
	changed bool
	failed  bool
	retry   time.Duration   // when something is to be tried again; 0: never
	full    map[string]bool // tables that take no more routes
	done    map[verb]int    // writes that succeeded
	lacking int             // Nodes that lack a route at the end
	adding  time.Time       // when it began to make routes
	seen    int64           // changes of Nodes that came before it
	started int             // Nodes whose routes it began to make
	cut     bool            // some routes are left to the next pass
}

// later asks for another pass after a pause.
func (o *outcome) later(pause time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if pause > 0 && (o.retry == 0 || pause < o.retry) {
		o.retry = pause
	}
}

// lacks notes a Node that lacks a route.
func (o *outcome) lacks() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lacking++
}

// wrote notes how a write ended.
func (o *outcome) wrote(v verb, table string, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	problem, told := errors.AsType[*cloud.RouteProblem](err)
	switch {
	case err == nil:
		o.changed = true
		o.done[v]++
	case told && problem.TableFull:
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

// pass compares once and writes what differs. The error is that it could not be compared: nothing was written then.
func (c *Controller) pass(ctx context.Context, trigger string) (*outcome, error) {
	result := &outcome{full: map[string]bool{}, done: map[verb]int{}, seen: c.changes.Load()}
	nodes, err := c.nodes.List(labels.Everything())
	if err != nil {
		return result, fmt.Errorf("listing nodes: %w", err)
	}
	candidates := slices.DeleteFunc(slices.Clone(nodes), c.excludes)
	var members []cloud.RouteMember
	meanwhile := func() { c.sayWaiting(ctx, c.silent(nil), result) }
	whenSlow(func() { members, err = c.provider.Members(ctx, candidates) }, meanwhile)
	concerned := nodesOf(members)
	if err != nil {
		c.tellUnknown(ctx, concerned, err, result)
		return result, err
	}
	cluster := cloud.PodNetwork{CIDRs: c.cidrs, Members: members}
	d := demandOf(cluster, nodes, c.shortest)
	var p plan
	var tables []cloud.RouteTable
	whenSlow(func() { p, tables, err = c.compare(ctx, cluster, d, trigger) }, meanwhile)
	if err != nil {
		c.tellUnknown(ctx, concerned, err, result)
		return result, err
	}
	c.tellRestored(d, p)
	whenSlow(func() { c.replaceAll(ctx, tables, d, &p, result) }, meanwhile)
	c.memory.forget(p, uidsOf(c.present()))
	c.memory.keep(tables, p)
	c.tellUnrecognised(ctx, members, result)
	write := func() {
		c.additions(ctx, concerned, d, p, result)
		c.release(ctx, nodes, result)
		c.removals(ctx, p, result)
	}
	own := uidsOf(d.waiting(concerned)) // what these say follows from what is written now
	whenSlow(write, func() { c.sayWaiting(ctx, c.silent(own), result) })
	c.metrics.left(p, result)
	return result, ctx.Err()
}

func uidsOf(nodes []*corev1.Node) map[types.UID]bool {
	uids := make(map[types.UID]bool, len(nodes))
	for _, node := range nodes {
		uids[node.UID] = true
	}
	return uids
}

// compare looks at the cloud and plans. What is known from before is enough to add to it; whatever takes something away
// is planned by a new look.
func (c *Controller) compare(ctx context.Context, cluster cloud.PodNetwork, d demand,
	trigger string) (plan, []cloud.RouteTable, error) {
	if trigger != periodic {
		if p, tables, err := c.look(ctx, cluster, d, trigger, c.lookPeriod()); err != nil || !p.removesOrChanges() {
			return p, tables, err
		}
	}
	return c.look(ctx, cluster, d, trigger, 0)
}

func (c *Controller) look(ctx context.Context, cluster cloud.PodNetwork, d demand, trigger string,
	age time.Duration) (plan, []cloud.RouteTable, error) {
	view, err := c.provider.List(ctx, cluster, age)
	if err != nil {
		return plan{}, nil, err
	}
	tables := view.Tables
	served := slices.ContainsFunc(tables, func(t cloud.RouteTable) bool { return t.Used })
	if wanted := slices.ContainsFunc(d.wants, func(w want) bool { return len(w.gateways) > 0 }); wanted && !served {
		return plan{}, nil, noTable(view)
	}
	k := knowledge{cidrs: cluster.CIDRs, addresses: d.addresses, owned: c.memory.known(), claims: d.claims,
		others: d.others}
	p := planOf(view, d, k)
	p.postpone(c.resting)
	if trigger != periodic {
		return p, tables, nil
	}
	// Whatever is this cluster's only because nobody is where it leads to is a stranger without that, and asked about
	// each time.
	if k.vacant = c.doubt(ctx, cluster, p, d); len(k.vacant) > 0 {
		p = planOf(view, d, k)
		p.postpone(c.resting)
	}
	return p, tables, nil
}

// errNoTable keeps Nodes from being told that they have all their routes.
var errNoTable = errors.New("the cloud shows no route table that the routes of Nodes could be in")

// noTable is errNoTable, with what is known of the reason.
func noTable(v cloud.RouteTables) error {
	for _, node := range slices.Sorted(maps.Keys(v.UnknownTables)) {
		return fmt.Errorf("%w, node %s for example: %s", errNoTable, node, v.UnknownTables[node])
	}
	return errNoTable
}

// maxAge bounds the age of what Nodes are compared with when nobody looks for drift.
const maxAge = time.Hour

// lookPeriod is the time after which what was seen counts no more.
func (c *Controller) lookPeriod() time.Duration { return cmp.Or(max(c.period, 0), maxAge) }

// doubt asks whether somebody is where strangers' routes lead to, and returns those that lead to nobody by this and an
// earlier look. Only routes that members could have left are doubted, by their size and place: a larger one leads to an
// appliance, or to an address that moves. No answer is none: nothing is removed because of it, and everything else goes
// on.
func (c *Controller) doubt(ctx context.Context, cluster cloud.PodNetwork, p plan, d demand) map[pair]bool {
	left := func(s pair) bool { return d.claims.alike(s.destination) && !d.others.overlap(s.destination) }
	doubted := slices.DeleteFunc(slices.Clone(p.strangers), func(s pair) bool { return !left(s) })
	addresses := gatewaysOf(doubted)
	if len(addresses) == 0 {
		c.memory.noteVacant(nil, nil)
		c.tellUnlisted(nil, nil)
		return nil
	}
	vacant, err := c.provider.FreeAddresses(ctx, cluster, addresses)
	c.tellUnlisted(cluster.Members, err)
	if err != nil {
		klog.FromContext(ctx).Error(err, "It is not known which machines have the addresses that unmanaged routes "+
			"lead to; these routes do not change until the next check for drift")
		return nil
	}
	found := c.memory.noteVacant(doubted, func(s pair) bool { return slices.Contains(vacant, s.gateway) })
	c.tellLeftBehind(cluster, found)
	return c.memory.abandoned()
}

// replaceAll writes exclusive tables that need more than one write as a whole. What was planned for them is done then:
// a list that is behind shows none of it, and is not asked.
func (c *Controller) replaceAll(ctx context.Context, tables []cloud.RouteTable, d demand, p *plan, result *outcome) {
	for _, table := range tables {
		key := pair{table: table.ID}
		if !table.Exclusive || !table.Used || p.writes(table.ID) < 2 || c.memory.wait(key) > 0 {
			continue
		}
		routes := d.routes(table)
		tried, err := c.gates.pass(door{table: table.ID}, func() error {
			return c.provider.Replace(context.WithoutCancel(ctx), table.ID, c.cidrs, routes)
		})
		if !tried {
			continue
		}
		c.metrics.wrote(replace, err)
		if err != nil { // one route that is refused must not hold up the others, so they are written one by one
			c.memory.failed(key, notice{})
			klog.FromContext(ctx).Error(err,
				"The routes of a table could not be replaced at once; they are written one by one", "table", table.Name)
			continue
		}
		c.memory.succeeded(key)
		result.wrote(replace, table.ID, nil)
		p.replaced(table.ID, routes)
	}
}

// routes are all that a table should have inside the cluster's networks. Where a Node has no address now, or is only
// joining, what is there stays.
func (d demand) routes(table cloud.RouteTable) []cloud.Route {
	var routes []cloud.Route
	served := map[netip.Prefix]bool{}
	for _, w := range d.wants {
		served[w.destination] = true
	}
	for _, f := range table.Routes {
		if d.destinations[f.Destination] && !served[f.Destination] && f.Gateway.IsValid() {
			routes = append(routes, cloud.Route{Destination: f.Destination, Gateway: f.Gateway})
		}
	}
	for _, w := range d.wants {
		present := slices.IndexFunc(table.Routes, func(f cloud.ActualRoute) bool {
			return f.Destination == w.destination && f.Gateway.IsValid()
		})
		route := w.route()
		if present >= 0 && (len(w.gateways) == 0 || slices.Contains(w.gateways, table.Routes[present].Gateway)) {
			route.Gateway = table.Routes[present].Gateway
		}
		if route.Gateway.IsValid() {
			routes = append(routes, route)
		}
	}
	return routes
}

// inParallel does something with each, some at a time, until ctx ends.
func inParallel[T any](ctx context.Context, all []T, do func(T)) {
	var crew sync.WaitGroup
	turns := make(chan struct{}, parallel)
	for _, one := range all {
		select {
		case <-ctx.Done():
			crew.Wait()
			return
		case turns <- struct{}{}:
		}
		crew.Go(func() {
			defer func() { <-turns }()
			do(one)
		})
	}
	crew.Wait()
}

// removals takes away what nobody wants. A table that is not used any more keeps its routes until those that replace
// them are there. A pass that has left additions to the next one leaves that all removals, too.
func (c *Controller) removals(ctx context.Context, p plan, result *outcome) {
	if result.cut {
		return
	}
	added := !result.failed
	inParallel(ctx, p.removals, func(o operation) {
		if o.rest > 0 || (!o.table.Used && !added) {
			result.later(o.rest)
			return
		}
		tried, err := c.gates.pass(doorOf(o), func() error {
			return c.provider.Delete(context.WithoutCancel(ctx), o.table.ID, o.found)
		})
		result.wrote(o.verb, o.table.ID, err)
		if !tried {
			result.later(c.gates.rest(doorOf(o)))
			return
		}
		c.metrics.wrote(o.verb, err)
		if err == nil {
			c.memory.succeeded(o.key())
			c.memory.disown(o.key())
			klog.FromContext(ctx).Info("Deleted the route of a Node that does not exist any more, or has another route",
				"destination", o.found.Destination, "gateway", o.found.Gateway, "table", o.table.Name)
			return
		}
		pause := c.memory.failed(o.key(), notice{})
		result.later(pause)
		klog.FromContext(ctx).Error(err, "A route that no Node needs could not be deleted; it is retried",
			"destination", o.found.Destination, "gateway", target(o.found), "table", o.table.Name, "after", pause)
	})
}
