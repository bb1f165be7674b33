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
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/nodeipam"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/workerpool"
	"github.com/thalassa-cloud/thalassa-ccm/src/event"
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
	// Domain begins the name of the label and annotation that exclude a Node, cloud.ExcludeFromRoutes; "" excludes
	// none.
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
	owned    map[routeKey]bool // this cluster's routes at the latest sync, and those that were created since
	reported map[routeKey]bool // the routes that were reported as left behind
	stale    workerpool.Stale
	pause    time.Duration // after the latest comparison; 0: it succeeded
}

// New returns a controller that begins its work with Run. The error is that the Nodes' informer has ended.
func New(o Options) (*Controller, error) {
	c := &Controller{
		provider: o.Provider, changes: o.Changes, recovered: o.Recovered, client: o.Client, nodes: o.Nodes.Lister(),
		cidrs: o.CIDRs, period: o.Period, domain: o.Domain, shortest: o.Shortest, recorder: o.Recorder,
		metrics: newMetrics(), owned: map[routeKey]bool{}, reported: map[routeKey]bool{},
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

// sameInput reports whether nothing differs that this controller reads or would write.
func (c *Controller) sameInput(was, is *corev1.Node) bool {
	return c.sameRoutes(was, is) &&
		(conditionOf(was) == conditionOf(is) || c.conditions.inSync(is.UID, conditionOf(is)))
}

// sameRoutes reports whether nothing differs that the routes of a Node follow from.
func (c *Controller) sameRoutes(was, is *corev1.Node) bool {
	return was.UID == is.UID && was.Spec.ProviderID == is.Spec.ProviderID && c.excludes(was) == c.excludes(is) &&
		cloud.Uninitialised(was) == cloud.Uninitialised(is) && slices.Equal(podCIDRs(was), podCIDRs(is)) &&
		slices.Equal(was.Status.Addresses, is.Status.Addresses)
}

// excludes reports whether the Node's owner excluded it.
func (c *Controller) excludes(n *corev1.Node) bool { return cloud.ExcludedFromRoutes(n, c.domain) }

// Run works until ctx ends, and then until the writes under way are done.
func (c *Controller) Run(ctx context.Context) {
	defer c.queue.ShutDown()
	defer c.unwritten.ShutDown()
	if !cache.WaitFor(ctx, "caches", c.synced) {
		return
	}
	c.queue.Add(nodeChange) // routes may have to be deleted even if there are no Nodes
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
	result, err := c.sync(ctx, trigger)
	if ctx.Err() != nil {
		return
	}
	c.metrics.countSync(trigger, len(result.written) > 0, err, result.failed)
	if err != nil {
		tracing.Fail(ctx, err)
		c.pause = min(max(2*c.pause, minRetryDelay), maxRetryDelay)
		klog.FromContext(ctx).Error(err,
			"The routes of the cloud cannot be compared with the Nodes; no routes are deleted until a retry succeeds",
			"after", c.pause)
		c.queue.AddAfter(trigger, c.pause)
		return
	}
	c.pause = 0
	if !result.stale {
		c.stale = 0
	} else {
		c.queue.AddAfter(cloudChange, c.stale.Next())
	}
	if result.retry > 0 {
		c.queue.AddAfter(nodeChange, result.retry)
	}
}

// isStale reports whether a write only needs a newer list.
func (c *Controller) isStale(err error) bool {
	return errors.Is(err, cloud.ErrStale) && !c.stale.TooOften()
}
