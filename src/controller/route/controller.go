// Package route gives the pods of each Node a route in the network of the cloud, so that no overlay network is needed.
// It stands in for the route controller of k8s.io/cloud-provider, under the same name, flags, event reasons and
// metrics, for any cloud with routes.
//
// What routes there should be is a pure function of the Nodes: each network in spec.podCIDRs leads to an address of its
// Node of the same family. One pass compares that with the routes that the cloud has, and applies the difference,
// additions before removals:
//
//	Node changes ─► queue ─► Routes.List ─► plan ─► create, change ─► conditions and events of Nodes ─► remove
//	every drift period ─┘
//
// A route is removed only if it is certainly this cluster's: see knowledge. Where nothing differs, nothing is written.
package route

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync/atomic"
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
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/optout"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/workerpool"
)

// component is the source of the events, as in k8s.io/cloud-provider.
const component = "route_controller"

// What the work is for: keys of the queue, and values of a label of the library's metric.
const (
	nodeChange = "node_change"
	periodic   = "periodic"
)

// window is for how long changes of Nodes are collected before a pass.
const window = time.Second

// Pauses after failures: 5, 10, 20, … 300 seconds.
const (
	minRetryDelay = 5 * time.Second
	maxRetryDelay = 300 * time.Second
)

// Options are what a Controller is made from.
type Options struct {
	Provider cloud.Routes
	Client   kubernetes.Interface
	Nodes    coreinformers.NodeInformer
	// CIDRs are the networks of all pods: one, or one of each family.
	CIDRs []netip.Prefix
	// Period is the time between two looks for drift; 0 leaves it to the provider.
	Period time.Duration
	// Domain begins the name of the label and annotation by which a Node takes no part, optout.Routes; "" is none.
	Domain string
	// Shortest are the shortest prefixes of networks that get a route, where those are given by an allocator:
	// nodeipam.Masks.Limit. The zero Masks are any.
	Shortest nodeipam.Masks
	// Recorder takes what the owners of Nodes are told; nil makes events of the API server.
	Recorder record.EventRecorder
}

// Controller keeps the routes to the pods of Nodes as they should be.
type Controller struct {
	provider cloud.Routes
	client   kubernetes.Interface
	nodes    corelisters.NodeLister
	cidrs    []netip.Prefix
	period   time.Duration
	domain   string
	shortest nodeipam.Masks
	recorder record.EventRecorder
	metrics  *metrics
	queue    workqueue.TypedDelayingInterface[string]
	synced   cache.InformerSynced
	memory   *memory
	gates    *gates
	// hindrance is that of the pass that is under way: there is one at a time.
	hindrance hindrance
	changes   *atomic.Int64 // of Nodes, so far: the queue does not tell what waits behind the pass that is under way
}

// New returns a controller that begins its work with Run. The error is that the Nodes' informer has ended.
func New(o Options) (*Controller, error) {
	c := &Controller{
		provider: o.Provider, client: o.Client, nodes: o.Nodes.Lister(), cidrs: o.CIDRs, period: o.Period,
		domain: o.Domain, shortest: o.Shortest, recorder: o.Recorder,
		metrics: newMetrics(), memory: newMemory(), gates: newGates(), changes: &atomic.Int64{},
		// The name is that of the library's route controller, and so are those of the queue's metrics.
		queue: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[string]{Name: "Routes"}),
	}
	if c.period <= 0 {
		c.period = o.Provider.Behaviour().DriftPeriod
	}
	registered, err := o.Nodes.Informer().AddEventHandler(c.nodeEvents())
	if err != nil {
		return nil, fmt.Errorf("watching for the route controller: %w", err)
	}
	c.synced = registered.HasSynced
	return c, nil
}

// nodeEvents queues a pass when a Node comes, goes, or is routed to in another way. What happens within a moment is one
// pass.
func (c *Controller) nodeEvents() cache.ResourceEventHandler {
	changed := func() {
		c.changes.Add(1)
		c.queue.AddAfter(nodeChange, window)
	}
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(any, bool) { changed() },
		UpdateFunc: func(before, after any) {
			was, ok := before.(*corev1.Node)
			is, also := after.(*corev1.Node)
			if ok && also && !c.same(was, is) {
				changed()
			}
		},
		DeleteFunc: func(any) { changed() },
	}
}

// same says whether nothing differs that this controller looks at, or would put back.
func (c *Controller) same(was, is *corev1.Node) bool {
	return was.UID == is.UID && was.Spec.ProviderID == is.Spec.ProviderID && c.excludes(was) == c.excludes(is) &&
		joining(was) == joining(is) && slices.Equal(podCIDRs(was), podCIDRs(is)) &&
		slices.Equal(was.Status.Addresses, is.Status.Addresses) &&
		(available(was) == available(is) || c.memory.content(is.UID, available(is)))
}

// excludes says whether the Node's owner asked that it take no part.
func (c *Controller) excludes(n *corev1.Node) bool { return optout.FromRoutes(n, c.domain) }

// Run works until ctx ends, and then until the writes under way are done.
func (c *Controller) Run(ctx context.Context) {
	defer c.queue.ShutDown()
	recorder, quiet := workerpool.Recorder(ctx, c.recorder, c.client, component)
	defer quiet()
	c.recorder = recorder
	if !cache.WaitForNamedCacheSyncWithContext(ctx, c.synced) {
		return
	}
	// without Nodes, too, there may be routes that nobody wants any more
	c.queue.Add(nodeChange)
	workerpool.Work(ctx, c.queue, 1, c.serve, c.tick) // one pass after the other
}

// tick queues a look for drift from time to time, until ctx ends.
func (c *Controller) tick(ctx context.Context) {
	if c.period <= 0 {
		<-ctx.Done()
		return
	}
	for ticker := time.NewTicker(c.period); ; {
		select {
		case <-ctx.Done():
			ticker.Stop()
			return
		case <-ticker.C:
			c.queue.Add(periodic)
		}
	}
}

// serve makes a pass, and says when the next one is due if something failed.
func (c *Controller) serve(ctx context.Context, trigger string) {
	look := pair{} // of no table and to no network: what is remembered of looks that fail
	if pause := c.memory.wait(look); pause > 0 {
		meanwhile := &outcome{retry: pause}
		c.sayWaiting(ctx, c.silent(nil), meanwhile)
		c.queue.AddAfter(trigger, meanwhile.retry)
		return
	}
	result, err := c.pass(ctx, trigger)
	if ctx.Err() != nil {
		return
	}
	c.metrics.passed(trigger, result.changed, err, result.failed)
	if err != nil {
		pause := c.memory.failed(look, notice{})
		klog.FromContext(ctx).Error(err,
			"The routes of the cloud cannot be compared with the Nodes; no routes are deleted until a retry succeeds",
			"after", pause)
		result.later(pause) // or sooner, where a Node could not even say that it waits
		c.queue.AddAfter(trigger, result.retry)
		return
	}
	c.memory.succeeded(look)
	if result.retry > 0 {
		c.queue.AddAfter(nodeChange, result.retry)
	}
}
