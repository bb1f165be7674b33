// Package route creates a route to the pods of each Node in the network of the cloud, so that no overlay network is
// needed. It replaces the route controller of k8s.io/cloud-provider, with the same name, flags, event reasons and
// metrics, for any cloud with routes.
//
// The desired routes are a pure function of the Nodes: each network in spec.podCIDRs has a route to an address of its
// Node of the same IP family. A sync compares them with the actual routes in the cloud, and writes the difference,
// additions before removals:
//
//	Node changes ─► queue ─► Routes.List ─► plan ─► create, change ─► conditions and events of Nodes ─► delete
//	every drift period ─┘
//
// A route is deleted only if it is certainly this cluster's: see ownership. Without a difference nothing is written.
package route

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/event"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/nodeipam"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/optout"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/workerpool"
	"github.com/thalassa-cloud/thalassa-ccm/src/tracing"
)

// Triggers of a sync: keys of the queue, and values of a label of the library's metric.
const (
	nodeChange  = "node_change"
	cloudChange = "cloud_change"
	periodic    = "periodic"
)

// window is how long changes of Nodes are collected before a sync.
const window = time.Second

// cloudWindow is how long reports of the cloud are collected before a sync.
const cloudWindow = 200 * time.Millisecond

// Options are what a Controller is made from.
type Options struct {
	Provider cloud.Routes
	Changes  cloud.Changes // of the cloud; may be nil
	// Recovered is that of the cloud; may be nil.
	Recovered cloud.Recovery
	Client    kubernetes.Interface
	Nodes     coreinformers.NodeInformer
	// CIDRs are the networks of all pods: one, or one of each family.
	CIDRs []netip.Prefix
	// Period is the time between two checks for drift; 0 is the period of the provider.
	Period time.Duration
	// Domain begins the name of the label and annotation that exclude a Node, optout.Routes; "" excludes none.
	Domain string
	// Shortest are the shortest prefixes of networks that get a route, nodeipam.Masks.Limit, if an allocator allocates
	// them. The zero Masks permit any.
	Shortest nodeipam.Masks
	// Recorder records events about Nodes.
	Recorder record.EventRecorder
}

// Controller keeps the routes to the pods of Nodes in sync.
type Controller struct {
	provider  cloud.Routes
	changes   cloud.Changes
	recovered cloud.Recovery
	client    kubernetes.Interface
	nodes     corelisters.NodeLister
	cidrs     []netip.Prefix
	period    time.Duration
	domain    string
	shortest  nodeipam.Masks
	recorder  record.EventRecorder
	metrics   *metrics
	queue     workqueue.TypedDelayingInterface[string]
	synced    cache.DoneChecker
	// unwritten are the names of Nodes whose condition may have to be written.
	unwritten  workqueue.TypedDelayingInterface[string]
	conditions conditions
	failures   failures
	events     event.Filter

	// The rest is a record of earlier syncs, of which there is one at a time. After a restart it is empty: then fewer
	// routes are deleted, and events are repeated.
	owned    map[routeKey]bool    // this cluster's routes at the latest sync, and those that were created since
	free     checks[routeKey]     // the routes whose gateways no machine has
	blocking checks[blockingNode] // the Nodes because of which routes that were left behind are not deleted
	stale    workerpool.Stale
	// unchecked means that the latest check for routes that were left behind failed, pause is the time until the next
	// one: see followUp.
	unchecked bool
	pause     time.Duration
}

// New returns a controller that begins its work with Run. The error is that the Nodes' informer has ended.
func New(o Options) (*Controller, error) {
	c := &Controller{
		provider: o.Provider, changes: o.Changes, recovered: o.Recovered, client: o.Client, nodes: o.Nodes.Lister(),
		cidrs: o.CIDRs, period: o.Period, domain: o.Domain, shortest: o.Shortest, recorder: o.Recorder,
		metrics: newMetrics(), owned: map[routeKey]bool{},
		// The name of the queue, which its metrics contain, is that of the library's route controller.
		queue: workqueue.NewTypedDelayingQueueWithConfig(
			workqueue.TypedDelayingQueueConfig[string]{Name: "Routes"}),
		unwritten: workqueue.NewTypedDelayingQueue[string](),
	}
	if c.period <= 0 {
		c.period = o.Provider.Behaviour().DriftPeriod
	}
	var err error
	c.synced, err = workerpool.Watch(o.Nodes.Informer(), c.nodeChanged)
	return c, err
}

// nodeChanged queues a sync when a Node is added or deleted, or changes in a way that matters to its routes. Changes
// within a moment are one sync.
func (c *Controller) nodeChanged(was, is *corev1.Node, _ bool) {
	if was != nil && is != nil && c.sameInput(was, is) {
		return
	}
	c.queue.AddAfter(nodeChange, window)
	if is != nil {
		c.unwritten.AddAfter(is.Name, pendingAfter)
	}
}

// sameInput says whether nothing differs that this controller reads or would write.
func (c *Controller) sameInput(was, is *corev1.Node) bool {
	return c.sameRoutes(was, is) &&
		(conditionOf(was) == conditionOf(is) || c.conditions.inSync(is.UID, conditionOf(is)))
}

// sameRoutes says whether nothing differs that the routes of a Node follow from.
func (c *Controller) sameRoutes(was, is *corev1.Node) bool {
	return was.UID == is.UID && was.Spec.ProviderID == is.Spec.ProviderID && c.excludes(was) == c.excludes(is) &&
		cloud.Uninitialised(was) == cloud.Uninitialised(is) && slices.Equal(podCIDRs(was), podCIDRs(is)) &&
		slices.Equal(was.Status.Addresses, is.Status.Addresses)
}

// excludes says whether the Node's owner excluded it.
func (c *Controller) excludes(n *corev1.Node) bool { return optout.FromRoutes(n, c.domain) }

// Run works until ctx ends, and then until the writes under way are done.
func (c *Controller) Run(ctx context.Context) {
	defer c.queue.ShutDown()
	defer c.unwritten.ShutDown()
	if !cache.WaitFor(ctx, "caches", c.synced) {
		return
	}
	start := nodeChange // routes may have to be deleted even if there are no Nodes
	if c.period <= 0 {
		start = cloudChange // no periodic check finds the routes of Nodes that were deleted before
	}
	c.queue.Add(start)
	// one sync after the other
	workerpool.Work(ctx, c.queue, 1, c.reconcile, c.watchCloud, c.watchOutages, func(ctx context.Context) {
		workerpool.Every(ctx, c.period, func() { c.queue.Add(periodic) })
	}, func(ctx context.Context) {
		workerpool.Work(ctx, c.unwritten, parallel, c.writeCondition)
	})
}

// watchCloud queues a check for drift when the cloud reports that routes or machines have changed, until ctx ends.
func (c *Controller) watchCloud(ctx context.Context) {
	c.changes.Watch(ctx, func(change cloud.Change) {
		if change.All || change.Routes || change.Node != "" {
			c.queue.AddAfter(cloudChange, cloudWindow)
		}
	})
}

// watchOutages tries again what failed when an outage of the cloud has ended, until ctx ends.
func (c *Controller) watchOutages(ctx context.Context) {
	c.recovered.Watch(ctx, func() {
		c.failures.retryNow()
		c.queue.Add(cloudChange)
	})
}

// reconcile runs a sync, and queues the next one if something failed.
func (c *Controller) reconcile(ctx context.Context, trigger string) {
	comparison := attempt{}
	if delay, _ := c.failures.wait(comparison); delay > 0 {
		c.queue.AddAfter(trigger, delay)
		return
	}
	result, err := c.sync(ctx, trigger)
	if ctx.Err() != nil {
		return
	}
	c.metrics.countSync(trigger, len(result.written) > 0, err, result.failed)
	if err != nil {
		tracing.Fail(ctx, err)
		delay := c.failures.add(comparison, err)
		klog.FromContext(ctx).Error(err,
			"The routes of the cloud cannot be compared with the Nodes; no routes are deleted until a retry succeeds",
			"after", delay)
		c.queue.AddAfter(trigger, delay)
		return
	}
	c.failures.clear(comparison)
	if !result.stale {
		c.stale = 0
	} else {
		c.queue.AddAfter(cloudChange, c.stale.Next())
	}
	if result.retry > 0 {
		c.queue.AddAfter(nodeChange, result.retry)
	}
	if c.period <= 0 && trigger != nodeChange {
		c.followUp()
	}
}

// followUp queues another check for routes that were left behind, if there are some or if it is not known. It is for
// clouds without a check for drift. The pause doubles, because the cloud may refuse to delete a route for ever.
func (c *Controller) followUp() {
	if len(c.free) == 0 && !c.unchecked {
		c.pause = 0
		return
	}
	c.pause = min(max(2*c.pause, minFreeTime), maxFollowUp)
	c.queue.AddAfter(cloudChange, c.pause)
}

// isStale says whether a write only needs a newer list.
func (c *Controller) isStale(err error) bool {
	return errors.Is(err, cloud.ErrStale) && !c.stale.TooOften()
}
