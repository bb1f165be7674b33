// Package node initialises Nodes and keeps their provider ID, addresses, labels and taints in sync with their machines,
// for any cloud.
//
// The desired state of a Node is a pure function of its machine. The difference is written as one patch or two; without
// a difference nothing is written.
package node

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/priorityqueue"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/workerpool"
	"github.com/thalassa-cloud/thalassa-ccm/src/event"
)

// queueName is that of the node controller of k8s.io/cloud-provider, so the queue's metrics have the same labels.
const queueName = "Nodes"

// Delays before a Node is reconciled again after a failure.
const (
	minRetryDelay = time.Second
	maxRetryDelay = time.Minute
	// conflictDelay is the time after which the cache usually contains what another client wrote.
	conflictDelay = 100 * time.Millisecond
)

// maxWritten is how many Nodes may be written before the informer shows the first of them.
const maxWritten = 10000

// Options are what a Controller is made from.
type Options struct {
	Provider  cloud.Machines
	Behaviour cloud.MachineBehaviour
	Changes   cloud.Changes  // of the cloud; may be nil
	Recovered cloud.Recovery // of the cloud; may be nil
	Client    kubernetes.Interface
	Nodes     coreinformers.NodeInformer
	// Period is the time between two resyncs of all Nodes.
	Period time.Duration
	// Workers is how many Nodes are initialised or changed at a time, ResyncWorkers how many a resync compares at a
	// time.
	Workers, ResyncWorkers int
	// Recorder records events about Nodes.
	Recorder record.EventRecorder
}

// Controller initialises Nodes, and keeps them in sync with their machines:
//
//	Node changes ─► queue ─► Machines.Find ─► diff ─► one patch, or two ─► events
//	every period, all Nodes ─► Machines.Find ─► diff ─► those that differ to the queue
//
// A Node that is in sync causes no write, and no call while the provider's list is new enough.
type Controller struct {
	provider      cloud.Machines
	behaviour     cloud.MachineBehaviour
	changes       cloud.Changes
	recovered     cloud.Recovery
	client        kubernetes.Interface
	nodes         corelisters.NodeLister
	synced        cache.DoneChecker
	period        time.Duration
	workers       int
	resyncWorkers int
	recorder      record.EventRecorder
	metrics       *metrics
	queue         *priorityqueue.Queue
	writer        writer
	claims        claims
	written       cache.MutationCache // Nodes as this controller wrote them, until the informer shows the write
	firstSeen     firstSeen
	warnings      event.Filter
}

// New returns a controller that begins its work with Run. The error is that it can do nothing with these options.
func New(o Options) (*Controller, error) {
	if o.Period <= 0 || o.Workers < 1 || o.ResyncWorkers < 1 {
		return nil, errors.New("keeping Nodes as they should be: --node-status-update-frequency, " +
			"--concurrent-node-syncs and --concurrent-node-status-updates must be more than nothing")
	}
	c := &Controller{
		provider: o.Provider, behaviour: o.Behaviour, changes: o.Changes, recovered: o.Recovered,
		client: o.Client, nodes: o.Nodes.Lister(),
		period: o.Period, workers: o.Workers, resyncWorkers: o.ResyncWorkers, recorder: o.Recorder,
	}
	c.metrics = newMetrics(c)
	c.writer = writer{nodes: o.Client.CoreV1(), written: c.metrics.patched}
	c.queue = priorityqueue.New(queueName, minRetryDelay, maxRetryDelay)
	c.written = cache.NewIntegerResourceVersionMutationCacheWithOptions(klog.Background(),
		o.Nodes.Informer().GetStore(), cache.MutationCacheOptions{MaxCacheSize: maxWritten})
	c.claims = claims{nodes: o.Nodes.Informer().GetIndexer(), pending: map[string]string{}}
	err := o.Nodes.Informer().AddIndexers(indexers())
	if err == nil {
		c.synced, err = workerpool.Watch(o.Nodes.Informer(), c.nodeChanged)
	}
	return c, err
}

// enqueue adds a Node to the queue. A Node that is not initialised is urgent, because nothing is scheduled to it.
func (c *Controller) enqueue(node *corev1.Node) {
	p := priorityqueue.Normal
	if cloud.Uninitialised(node) {
		p = priorityqueue.Urgent
	}
	c.queue.Enqueue(node.Name, p, 0)
}

// nodeChanged queues a Node that may not be in sync.
func (c *Controller) nodeChanged(was, is *corev1.Node, _ bool) {
	if was != nil && (is == nil || was.UID != is.UID) {
		c.firstSeen.forget(was)
	}
	switch {
	case is == nil:
		c.claims.release(was.Name)
		c.queue.Add(was.Name) // which removes its state
		return
	case was != nil && sameInput(was, is):
		return
	case was == nil || is.Spec.ProviderID != "" || was.UID != is.UID:
		c.claims.release(is.Name)
	}
	c.firstSeen.since(is)
	c.enqueue(is)
}

// sameInput reports whether nothing differs that this controller reads or writes.
func sameInput(was, is *corev1.Node) bool {
	return was.UID == is.UID && was.Spec.ProviderID == is.Spec.ProviderID && maps.Equal(was.Labels, is.Labels) &&
		maps.Equal(was.Annotations, is.Annotations) &&
		slices.EqualFunc(was.Spec.Taints, is.Spec.Taints, func(a, b corev1.Taint) bool {
			return a.MatchTaint(&b) && a.Value == b.Value
		}) &&
		slices.Equal(was.Status.Addresses, is.Status.Addresses)
}

// Run works until ctx ends, and then until the writes under way are done.
func (c *Controller) Run(ctx context.Context) {
	defer c.queue.ShutDown()
	if !cache.WaitFor(ctx, "caches", c.synced) {
		return
	}
	workerpool.Work(ctx, c.queue, c.workers, c.reconcile, c.watchCloud, c.watchOutages, func(ctx context.Context) {
		workerpool.Every(ctx, c.period, func() { c.resync(ctx) })
	})
}

// watchCloud queues the Nodes whose machines the cloud reports as changed, until ctx ends.
func (c *Controller) watchCloud(ctx context.Context) {
	c.changes.Watch(ctx, func(change cloud.Change) {
		node, err := c.nodes.Get(change.Node) // there may be no such Node
		changed := []*corev1.Node{node}
		if change.All {
			changed, err = c.nodes.List(labels.Everything())
		}
		if err == nil {
			for _, node := range changed {
				c.enqueue(node)
			}
		}
	})
}

// watchOutages tries again what failed when an outage of the cloud has ended, until ctx ends.
func (c *Controller) watchOutages(ctx context.Context) {
	c.recovered.Watch(ctx, c.queue.RetryNow)
}

// resync compares all initialised Nodes with their machines, and queues those that differ or have new warnings. It ends
// early if the cloud does not answer.
func (c *Controller) resync(ctx context.Context) {
	nodes, err := c.nodes.List(labels.Everything())
	if err != nil { // a cache does not fail
		klog.FromContext(ctx).Error(err, "Nodes cannot be listed")
		return
	}
	answered, stop := context.WithCancel(ctx)
	defer stop()
	workqueue.ParallelizeUntil(answered, c.resyncWorkers, len(nodes), func(at int) {
		node := c.node(nodes[at].Name)
		if node == nil || cloud.Uninitialised(node) || c.foreign(node) {
			return // the former are in the queue
		}
		d, err := c.difference(ctx, node)
		if err == nil && d.none() && c.warnings.Known(node.Name, warningsOf(node, d.problems)) {
			return
		}
		if problem, ok := errors.AsType[*cloud.MachineProblem](err); ok && ofCloud(problem) {
			stop()
			return
		}
		c.enqueue(node)
	})
	if answered.Err() == nil {
		c.metrics.latest.SetToCurrentTime()
	}
}

// node is the newer one of the Node in the cache and the Node that was written: otherwise the same would be written
// again. It is nil if there is none.
func (c *Controller) node(name string) *corev1.Node {
	object, exists, err := c.written.GetByKey(name)
	if node, ok := object.(*corev1.Node); ok && exists && err == nil {
		return node
	}
	return nil
}

// Collectors are the controller's metrics.
func (c *Controller) Collectors() []prometheus.Collector { return c.metrics.all() }
