// Package nodeipam allocates the networks of pods, spec.podCIDRs, to Nodes from those of the cluster: one, or one of
// each IP family. It does what kube-controller-manager does with --allocate-node-cidrs, for clusters in which that
// option is not set, with the same flags and event reasons. A Node can have a network of another size.
//
// A network is allocated once. Before the first allocation, the networks of all Nodes are recorded from a list that is
// not older than the start of the process. A write succeeds only if no other client has changed the Node. A network is
// released when its Node is deleted. Networks are immutable once they are set, so existing ones are never changed.
package nodeipam

import (
	"cmp"
	"context"
	"errors"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/controller/workerpool"
	"github.com/thalassa-cloud/thalassa-ccm/src/event"
	"github.com/thalassa-cloud/thalassa-ccm/src/tracing"
)

// queueName is the name of the queue in metrics.
const queueName = "node-ipam-controller"

// Reasons of events. The first two are those of kube-controller-manager.
const (
	reasonExhausted = "CIDRNotAvailable"
	reasonFailed    = "CIDRAssignmentFailed"
	reasonMask      = "InvalidNodeCIDRMask"
	reasonOverlap   = "PodCIDROverlaps"
	reasonCompeting = "AnotherGivesPodCIDRs"
	reasonLarge     = "PodCIDRTooLarge"
)

// Delays after failures: 5, 10, 20, … 300 seconds.
const (
	minRetryDelay = 5 * time.Second
	maxRetryDelay = 300 * time.Second
)

// conflictDelay is the time after which the cache usually contains what another client wrote.
const conflictDelay = time.Second

// workers is how many Nodes are written at a time.
const workers = 10

// Options are what a Controller is made from.
type Options struct {
	Client kubernetes.Interface
	Nodes  coreinformers.NodeInformer
	// CIDRs are the networks of all pods: one, or one of each family. Nodes get theirs in this order.
	CIDRs []netip.Prefix
	Masks Masks
	// Shortest are the shortest prefixes that Nodes may request for themselves; 0 is four bits shorter than Masks.
	Shortest Masks
	// Reserved are networks of which no part is allocated, such as that of Services.
	Reserved []netip.Prefix
	// RandomStart begins at a random place of each network, so that two processes that run at the same time by mistake
	// seldom allocate the same networks.
	RandomStart bool
	// Domain begins the names of the labels and annotations that set a Node's mask or exclude a Node; "" is none.
	Domain string
	// Recorder records events about Nodes.
	Recorder record.EventRecorder
}

// Controller allocates the networks of pods to Nodes.
type Controller struct {
	client    kubernetes.Interface
	nodes     corelisters.NodeLister
	recorder  record.EventRecorder
	queue     workqueue.TypedRateLimitingInterface[string]
	synced    cache.DoneChecker
	allocator *allocator
	warnings  event.Filter
}

// New returns a controller that begins its work with Run. The error is that the masks do not fit, or that the Nodes'
// informer has ended.
func New(o Options) (*Controller, error) {
	if err := o.Masks.Check(o.CIDRs); err != nil {
		return nil, err
	}
	c := &Controller{
		client: o.Client, nodes: o.Nodes.Lister(), recorder: o.Recorder,
		allocator: newAllocator(o.CIDRs, o.Masks, o.Domain),
		queue: workqueue.NewTypedRateLimitingQueueWithConfig(
			workqueue.NewTypedItemExponentialFailureRateLimiter[string](minRetryDelay, maxRetryDelay),
			workqueue.TypedRateLimitingQueueConfig[string]{Name: queueName}),
	}
	c.allocator.shortest, c.allocator.released = o.Masks.Limit(o.Shortest, o.CIDRs), c.enqueueOthers
	for _, p := range c.allocator.pools {
		for _, network := range o.Reserved {
			p.occupy(network)
		}
		if o.RandomStart {
			p.randomiseStart()
		}
	}
	var err error
	c.synced, err = workerpool.Watch(o.Nodes.Informer(), c.nodeChanged)
	return c, err
}

// nodeChanged queues a Node that may need networks, records what other programs allocated, and releases the networks of
// a deleted Node. It is not sufficient that the cache contains no Node of a name: the API server may contain one that
// registered later.
func (c *Controller) nodeChanged(was, is *corev1.Node, _ bool) {
	changed := was == nil || is == nil || was.UID != is.UID
	if changed && was != nil { // otherwise the watch missed that it was deleted and created again
		c.allocator.removeNode(was.Name, was.UID)
	}
	if !changed && len(was.Spec.PodCIDRs) == 0 && !c.allocator.excludes(is) {
		if err := c.allocator.checkCompeting(is); err != nil {
			c.warn(is, err)
		}
	}
	if changed || len(is.Spec.PodCIDRs) == 0 || len(was.Spec.PodCIDRs) == 0 {
		c.queue.Add(cmp.Or(is, was).Name) // which removes the state of a deleted one
	}
}

// Run works until ctx ends, and then until the writes under way are done.
func (c *Controller) Run(ctx context.Context) {
	defer c.queue.ShutDown()
	if !cache.WaitFor(ctx, "caches", c.synced) || !c.initialSync(ctx) {
		return
	}
	workerpool.Work(ctx, c.queue, workers, func(ctx context.Context, name string) {
		c.reconcile(context.WithoutCancel(ctx), name)
	}, func(ctx context.Context) {
		workerpool.Every(ctx, checkPeriod, func() { c.check(ctx) })
	})
}

// initialSync records the networks of all Nodes and releases those of deleted ones. It uses a new list: the cache may
// be older than the writes of the process before this one. It retries until it succeeds, and returns false if ctx ends
// before.
func (c *Controller) initialSync(ctx context.Context) bool {
	for delay := minRetryDelay; ; delay = min(2*delay, maxRetryDelay) {
		before := c.allocator.nodeUIDs()
		nodes, err := c.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err == nil {
			c.syncAll(nodes.Items, before)
			c.allocator.setSynced()
			return true
		}
		klog.FromContext(ctx).Error(err,
			"Nodes cannot be listed, so it is not known which networks are free; it is retried", "after", delay)
		select {
		case <-ctx.Done():
			return false
		case <-time.After(delay):
		}
	}
}

// syncAll records the networks of all Nodes in a list. Nodes that had an allocation before the list was requested and
// are not in it were deleted, even if the cache never contained them.
func (c *Controller) syncAll(nodes []corev1.Node, before map[string]types.UID) {
	listed := map[types.UID]bool{}
	for i := range nodes {
		listed[nodes[i].UID] = true
		c.syncNode(&nodes[i])
	}
	for name, uid := range before {
		if !listed[uid] {
			c.allocator.removeNode(name, uid)
		}
	}
}

// syncNode records the networks of a Node. Networks that are reserved for a Node without any are released, because no
// write is under way.
func (c *Controller) syncNode(node *corev1.Node) {
	if len(node.Spec.PodCIDRs) == 0 {
		c.allocator.releaseUnwritten(node.Name)
		return
	}
	if err := c.allocator.recordNode(node); err != nil {
		c.warn(node, err)
	}
}

// reconcile allocates networks to a Node that has none.
func (c *Controller) reconcile(ctx context.Context, name string) {
	node, err := c.nodes.Get(name)
	if apierrors.IsNotFound(err) {
		c.warnings.Forget(name)
		c.queue.Forget(name)
		return
	}
	if err == nil {
		err = c.allocate(ctx, node)
	}
	switch {
	case err == nil:
		c.queue.Forget(name)
	case apierrors.IsConflict(err): // another client, such as the kubelet, wrote the Node; its networks stay reserved
		c.queue.AddAfter(name, conflictDelay)
	case apierrors.IsNotFound(err):
		c.allocator.releaseUnwritten(name)
		c.queue.AddRateLimited(name)
	default:
		tracing.Fail(ctx, err)
		c.warn(node, err)
		c.queue.AddRateLimited(name)
	}
}

// allocate writes the networks of a Node, or records those that it has.
func (c *Controller) allocate(ctx context.Context, node *corev1.Node) error {
	if len(node.Spec.PodCIDRs) > 0 {
		if err := c.allocator.recordNode(node); err != nil {
			c.warn(node, err)
			return nil
		}
		c.warnings.Forget(node.Name)
		return nil
	}
	if node.DeletionTimestamp != nil || c.allocator.excludes(node) {
		c.warnings.Forget(node.Name)
		return nil
	}
	networks, err := c.allocator.reserve(node)
	if errors.Is(err, errStaleCache) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := c.write(ctx, node, networks); err != nil {
		return err
	}
	c.allocator.countAllocation()
	c.warnings.Forget(node.Name)
	klog.FromContext(ctx).Info("Gave a Node the networks of its pods", "node", node.Name, "podCIDRs", networks)
	return nil
}

// warn records an event about what is wrong with a Node. It is repeated if the problem lasts.
func (c *Controller) warn(node *corev1.Node, err error) {
	reason := reasonFailed
	if problem, ok := errors.AsType[*problem](err); ok {
		reason = problem.reason
	}
	c.warnings.Record(c.recorder, node, []event.Warning{{Reason: reason, Message: err.Error()}})
}

// Collectors are the controller's metrics.
func (c *Controller) Collectors() []prometheus.Collector { return c.allocator.collectors() }
