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

// setCondition writes the condition of a Node, and retries later if it cannot be written now.
func (c *Controller) setCondition(ctx context.Context, node *corev1.Node, desired condition, result *outcome) {
	delay, err := c.syncCondition(ctx, node, desired)
	if err != nil {
		klog.FromContext(ctx).Error(err, "The condition about routes of a Node could not be written; it is retried",
			"node", node.Name)
		delay = minRetryDelay
	}
	result.retryAfter(delay)
}

// setPendingIfLater sets the pending condition of Nodes without one whose routes are not among the first that are
// created. Otherwise pods would be scheduled to them too early.
func (c *Controller) setPendingIfLater(ctx context.Context, nodes []*corev1.Node, p plan, result *outcome) {
	var adding []*corev1.Node
	for _, node := range nodes {
		if len(p.additions[node.Name]) > 0 {
			adding = append(adding, node)
		}
	}
	c.setPending(ctx, adding[min(parallel, len(adding)):], result)
}

func (c *Controller) setPending(ctx context.Context, nodes []*corev1.Node, result *outcome) {
	inParallel(ctx, nodes, func(node *corev1.Node) {
		if c.hasNoCondition(node) {
			c.setCondition(ctx, node, pendingCondition(), result)
		}
	})
}

// withNetworks are those of the Nodes whose condition is written during the sync.
func (d desired) withNetworks(nodes []*corev1.Node) []*corev1.Node {
	names := d.nodeNames()
	return slices.DeleteFunc(slices.Clone(nodes), func(node *corev1.Node) bool { return !names[node.Name] })
}

// slowAfter is how long a call to the cloud may take before Nodes without a condition get the pending one. Otherwise
// pods would be scheduled to them too early.
const slowAfter = 2 * time.Second

// whenSlow runs work, and runs meanwhile after slowAfter and again after each further slowAfter until work is done.
// Neither runs any more when it returns.
func whenSlow(work, meanwhile func()) {
	done := make(chan struct{})
	var background sync.WaitGroup
	background.Go(func() {
		tick := time.NewTicker(slowAfter)
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
	background.Wait()
}

// clearConditions clears the conditions that this controller wrote before Nodes were excluded. Otherwise no new pods
// would ever be scheduled to them. It does not change conditions of other writers, or Nodes of other clouds.
func (c *Controller) clearConditions(ctx context.Context, nodes []*corev1.Node, result *outcome) {
	for _, node := range nodes {
		if current := conditionOf(node); c.excludes(node) && current.status == corev1.ConditionTrue &&
			current.reason == noRoutesCreated {
			c.setCondition(ctx, node,
				condition{corev1.ConditionFalse, routesCreated, "No routes are made for this Node"}, result)
		}
	}
}

// hasNoCondition says whether neither the Node has a condition nor this process has written one.
func (c *Controller) hasNoCondition(node *corev1.Node) bool {
	return conditionOf(node) == condition{} && !uninitialised(node) && !c.state.hasCondition(node.UID)
}

// reportError reports an error to Nodes that wait for routes. Nodes whose condition says that they have their routes do
// not change, because a failed list does not prove the opposite.
func (c *Controller) reportError(ctx context.Context, nodes []*corev1.Node, err error, result *outcome) {
	p := problem{reasonUnknown, fmt.Sprintf("The existing routes are unknown: %v. It is retried automatically.", err)}
	affected := slices.DeleteFunc(slices.Clone(nodes), func(node *corev1.Node) bool {
		return len(podCIDRs(node)) == 0 || conditionOf(node).status == corev1.ConditionFalse
	})
	c.metrics.missing.Set(float64(len(affected)))
	for _, node := range affected {
		for _, n := range c.state.newProblems(node.UID, []problem{p}) {
			c.recorder.Event(node, corev1.EventTypeWarning, n.reason, n.message)
		}
	}
	inParallel(ctx, affected, func(node *corev1.Node) {
		if c.hasNoCondition(node) {
			c.setCondition(ctx, node, conditionFor([]problem{p}), result)
		}
	})
}

// reportLeftBehind reports routes that will be deleted although nothing proves that they are this cluster's. They have
// no Node, so the event is on the oldest Node. There is one event for each table: the API server's client drops most of
// many events on one Node.
func (c *Controller) reportLeftBehind(cluster cloud.PodNetwork, routes []routeKey) {
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

// reportRestored reports routes that existed at the latest sync and do not exist now although their Nodes need them.
// Each is reported on its Node, and many in one table, such as after it was emptied, in one event on the oldest Node.
func (c *Controller) reportRestored(d desired, p plan) {
	lost := map[string][]desiredRoute{} // by the table's name
	owned := c.state.ownedRoutes()
	for _, r := range d.routes {
		for _, o := range p.additions[r.node.Name] {
			if o.route.Destination == r.destination && o.verb == create && owned[o.key()] &&
				c.state.retryDelay(o.key()) <= 0 {
				c.metrics.drift.Inc()
				lost[o.table.Name] = append(lost[o.table.Name], r)
			}
		}
	}
	for _, table := range slices.Sorted(maps.Keys(lost)) {
		c.reportRestoredIn(table, lost[table])
	}
}

func (c *Controller) reportRestoredIn(table string, lost []desiredRoute) {
	if len(lost) <= list.Max {
		for _, r := range lost {
			c.recorder.Eventf(r.node, corev1.EventTypeWarning, reasonRestored,
				"The route to %s in route table %s was deleted by another program or user. It is created again, "+
					"because the pods of this Node need it.", r.destination, table)
		}
		return
	}
	var destinations []string
	for _, r := range lost {
		destinations = append(destinations, r.destination.String())
	}
	c.recorder.Eventf(lost[0].node, corev1.EventTypeWarning, reasonRestored, // sorted by the age of the Nodes
		"%d routes in route table %s were deleted by another program or user: to %s. They are created again, because "+
			"the pods of their Nodes need them.", len(lost), table,
		list.Short(slices.Sorted(slices.Values(destinations))))
}
