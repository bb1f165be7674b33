package route

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/list"
)

// say settles the condition of a Node, now or later.
func (c *Controller) say(ctx context.Context, node *corev1.Node, wanted state, result *outcome) {
	wait, err := c.settle(ctx, node, wanted)
	if err != nil {
		klog.FromContext(ctx).Error(err, "The condition about routes of a Node could not be written; it is retried",
			"node", node.Name)
		wait = minRetryDelay
	}
	result.later(wait)
}

// markWaiting lets Nodes that say nothing yet, and whose routes are not made at once, say that they have none: pods
// would come too early.
func (c *Controller) markWaiting(ctx context.Context, nodes []*corev1.Node, p plan, result *outcome) {
	var lacking []*corev1.Node
	for _, node := range nodes {
		if len(p.additions[node.Name]) > 0 {
			lacking = append(lacking, node)
		}
	}
	c.sayWaiting(ctx, lacking[min(parallel, len(lacking)):], result)
}

func (c *Controller) sayWaiting(ctx context.Context, nodes []*corev1.Node, result *outcome) {
	inParallel(ctx, nodes, func(node *corev1.Node) {
		if c.saysNothing(node) {
			c.say(ctx, node, waiting(), result)
		}
	})
}

// waiting are those of the nodes that are told how it is at the end of a pass.
func (d demand) waiting(nodes []*corev1.Node) []*corev1.Node {
	wanting := d.wanting()
	return slices.DeleteFunc(slices.Clone(nodes), func(node *corev1.Node) bool { return !wanting[node.Name] })
}

// slow is how long a look or a creation may take before Nodes that say nothing say that they wait: pods would come too
// early.
const slow = 2 * time.Second

// whenSlow does something else if work is not done after a while, and again and again until it is. Both are done when
// it returns.
func whenSlow(work, meanwhile func()) {
	done := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		tick := time.NewTicker(slow)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				meanwhile()
			}
		}
	})
	work()
	close(done)
	watch.Wait()
}

// release takes back what this controller said of Nodes before their owners asked that they take no part: new pods
// would be kept away for ever. What others say of them, and of Nodes of other clouds, is theirs.
func (c *Controller) release(ctx context.Context, nodes []*corev1.Node, result *outcome) {
	for _, node := range nodes {
		if s := available(node); c.excludes(node) && s.status == corev1.ConditionTrue && s.reason == noRoutesCreated {
			c.say(ctx, node, state{corev1.ConditionFalse, routesCreated, "No routes are made for this Node"}, result)
		}
	}
}

// saysNothing says whether neither the Node nor this process has said anything about its routes.
func (c *Controller) saysNothing(node *corev1.Node) bool {
	return available(node) == state{} && !joining(node) && !c.memory.hasWish(node.UID)
}

// tellUnknown says on Nodes that wait for routes why nothing happens. A look that failed is no reason to say of others
// that they have none.
func (c *Controller) tellUnknown(ctx context.Context, nodes []*corev1.Node, err error, result *outcome) {
	why := notice{reasonUnknown, fmt.Sprintf("The existing routes are unknown: %v. It is retried automatically.", err)}
	concerned := slices.DeleteFunc(slices.Clone(nodes), func(node *corev1.Node) bool {
		return len(podCIDRs(node)) == 0 || available(node).status == corev1.ConditionFalse
	})
	c.metrics.lacking.Set(float64(len(concerned)))
	for _, node := range concerned {
		for _, n := range c.memory.news(node.UID, []notice{why}) {
			c.recorder.Event(node, corev1.EventTypeWarning, n.reason, n.message)
		}
	}
	inParallel(ctx, concerned, func(node *corev1.Node) {
		if c.saysNothing(node) {
			c.say(ctx, node, stateOf([]notice{why}), result)
		}
	})
}

// tellLeftBehind says which routes are going to be removed although nobody knows for certain whose they are. As they
// have no Node, the oldest one is where people look. It is one event for each table: of many on one Node, most would be
// dropped.
func (c *Controller) tellLeftBehind(cluster cloud.PodNetwork, routes []pair) {
	if len(cluster.Members) == 0 {
		return
	}
	oldest := slices.MinFunc(nodesOf(cluster.Members), older)
	left := map[string][]string{}
	for _, one := range routes {
		left[one.table] = append(left[one.table], fmt.Sprintf("%s by %s", one.destination, one.gateway))
	}
	for _, table := range slices.Sorted(maps.Keys(left)) {
		c.recorder.Eventf(oldest, corev1.EventTypeWarning, reasonLeftBehind,
			"Route table %s has %d routes to addresses that no machine has: %s. They may belong to Nodes that were "+
				"deleted, and are deleted at the next check. To keep a route, let it lead to a machine, or to a "+
				"network outside of --cluster-cidr.",
			table, len(left[table]), list.Short(slices.Sorted(slices.Values(left[table]))))
	}
}

// tellRestored says which routes were there at the latest pass, and are not now, although their Nodes want them: each
// on its Node, but those of many Nodes at once, as of a table that was emptied, on the oldest of them.
func (c *Controller) tellRestored(d demand, p plan) {
	lost := map[string][]want{} // by the table's name
	known := c.memory.known()
	for _, w := range d.wants {
		for _, o := range p.additions[w.node.Name] {
			if o.route.Destination == w.destination && o.verb == create && known[o.key()] &&
				c.memory.wait(o.key()) <= 0 {
				c.metrics.drift.Inc()
				lost[o.table.Name] = append(lost[o.table.Name], w)
			}
		}
	}
	for _, table := range slices.Sorted(maps.Keys(lost)) {
		c.tellRestoredIn(table, lost[table])
	}
}

func (c *Controller) tellRestoredIn(table string, lost []want) {
	if len(lost) <= list.Max {
		for _, w := range lost {
			c.recorder.Eventf(w.node, corev1.EventTypeWarning, reasonRestored,
				"The route to %s in route table %s was deleted by another program or user. It is created again, "+
					"because the pods of this Node need it.", w.destination, table)
		}
		return
	}
	var destinations []string
	for _, w := range lost {
		destinations = append(destinations, w.destination.String())
	}
	c.recorder.Eventf(lost[0].node, corev1.EventTypeWarning, reasonRestored, // wants are those of older Nodes first
		"%d routes in route table %s were deleted by another program or user: to %s. They are created again, because "+
			"the pods of their Nodes need them.", len(lost), table,
		list.Short(slices.Sorted(slices.Values(destinations))))
}
