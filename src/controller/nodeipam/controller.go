// Package nodeipam gives each Node the networks of its pods, spec.podCIDRs, from those of the cluster: one, or one of
// each family. It does what kube-controller-manager does with --allocate-node-cidrs, for clusters in which that one
// does not, under the same flags and event reasons, and lets a Node have a network of another size.
//
// A network is given once: what Nodes have is occupied before anything is given, from a list that is no older than the
// start; each write is made on the condition that nobody has changed the Node; a network is free again when its Node is
// gone. Networks cannot be changed once they are set, so that what is there is never touched, whoever set it.
package nodeipam

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
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

	"github.com/thalassa-cloud/thalassa-ccm/src/controller/event"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/workerpool"
)

// component is the source of the events, and the name of the queue in metrics.
const component = "node-ipam-controller"

// Reasons of events. The first two are those of kube-controller-manager.
const (
	reasonExhausted = "CIDRNotAvailable"
	reasonFailed    = "CIDRAssignmentFailed"
	reasonMask      = "InvalidNodeCIDRMask"
	reasonOverlap   = "PodCIDROverlaps"
	reasonRival     = "AnotherGivesPodCIDRs"
	reasonLarge     = "PodCIDRTooLarge"
)

// Pauses after failures: 5, 10, 20, … 300 seconds.
const (
	minRetryDelay = 5 * time.Second
	maxRetryDelay = 300 * time.Second
)

// conflictDelay is the time after which the cache usually has what somebody else has just made of a Node.
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
	// Shortest are the shortest prefixes that Nodes may ask for themselves; 0 is four bits shorter than Masks.
	Shortest Masks
	// Reserved are networks of which no part is given, such as that of Services.
	Reserved []netip.Prefix
	// Scattered begins at a random place of each network, so that two processes that run at the same time by mistake
	// seldom give the same.
	Scattered bool
	// Domain begins the names of the labels and annotations by which a Node has another mask, or is left out; "" is
	// none.
	Domain string
	// Recorder takes what the owners of Nodes are told; nil makes events of the API server.
	Recorder record.EventRecorder
}

// Controller gives Nodes the networks of their pods.
type Controller struct {
	client   kubernetes.Interface
	nodes    corelisters.NodeLister
	recorder record.EventRecorder
	queue    workqueue.TypedRateLimitingInterface[string]
	synced   cache.InformerSynced
	ledger   *ledger
	departed departed
	told     event.Filter
}

// New returns a controller that begins its work with Run. The error is that masks do not fit, or that the Nodes'
// informer has ended.
func New(o Options) (*Controller, error) {
	if err := o.Masks.Check(o.CIDRs); err != nil {
		return nil, err
	}
	c := &Controller{
		client: o.Client, nodes: o.Nodes.Lister(), recorder: o.Recorder, ledger: newLedger(o.CIDRs, o.Masks, o.Domain),
		queue: workqueue.NewTypedRateLimitingQueueWithConfig(
			workqueue.NewTypedItemExponentialFailureRateLimiter[string](minRetryDelay, maxRetryDelay),
			workqueue.TypedRateLimitingQueueConfig[string]{Name: component}),
	}
	c.ledger.shortest = o.Masks.Limit(o.Shortest, o.CIDRs)
	for _, p := range c.ledger.pools {
		for _, network := range o.Reserved {
			p.occupy(network)
		}
		if o.Scattered {
			p.scatter()
		}
	}
	registered, err := o.Nodes.Informer().AddEventHandler(c.events())
	if err != nil {
		return nil, fmt.Errorf("watching for the node IPAM controller: %w", err)
	}
	c.synced = registered.HasSynced
	return c, nil
}

// events queue Nodes that may lack something, and note what others have done.
func (c *Controller) events() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) {
			if node, ok := object.(*corev1.Node); ok {
				c.queue.Add(node.Name)
			}
		},
		UpdateFunc: func(before, after any) {
			was, ok := before.(*corev1.Node)
			is, also := after.(*corev1.Node)
			if ok && also {
				c.changed(was, is)
			}
		},
		DeleteFunc: func(object any) {
			if name := c.departed.left(object); name != "" {
				c.queue.Add(name)
			}
		},
	}
}

// changed is what follows from a Node that is not as it was.
func (c *Controller) changed(was, is *corev1.Node) {
	anew := was.UID != is.UID
	if anew { // nobody saw one go, and the other come
		c.departed.note(was)
	}
	if !anew && len(was.Spec.PodCIDRs) == 0 && !c.ledger.excludes(is) {
		if err := c.ledger.foreign(is); err != nil {
			c.tell(is, err)
		}
	}
	if anew || len(is.Spec.PodCIDRs) == 0 || len(was.Spec.PodCIDRs) == 0 {
		c.queue.Add(is.Name)
	}
}

// Run works until ctx ends, and then until the writes under way are done.
func (c *Controller) Run(ctx context.Context) {
	defer c.queue.ShutDown()
	recorder, quiet := workerpool.Recorder(ctx, c.recorder, c.client, component)
	defer quiet()
	c.recorder = recorder
	if !cache.WaitForNamedCacheSyncWithContext(ctx, c.synced) || !c.takeStock(ctx) {
		return
	}
	var watching sync.WaitGroup
	watching.Go(func() { c.watch(ctx) })
	defer watching.Wait()
	workerpool.Work(ctx, c.queue, workers, func(ctx context.Context, name string) {
		c.serve(context.WithoutCancel(ctx), name)
	})
}

// takeStock occupies what all Nodes have, and frees what others had, by a list that is newer than whatever the process
// before this one has written: the cache may be older. It tries until it succeeds, and returns false if ctx ends
// before.
func (c *Controller) takeStock(ctx context.Context) bool {
	for pause := minRetryDelay; ; pause = min(2*pause, maxRetryDelay) {
		before := c.ledger.holders()
		c.departed.begin()
		nodes, err := c.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err == nil {
			c.count(nodes.Items, before)
			c.ledger.stocked()
			return true
		}
		klog.FromContext(ctx).Error(err,
			"Nodes cannot be listed, so it is not known which networks are free; it is retried", "after", pause)
		select {
		case <-ctx.Done():
			return false
		case <-time.After(pause):
		}
	}
}

// count settles what all Nodes have by a list. Those that had something before the list was asked for, and are not in
// it, are gone, also if the cache has never shown them; and so are those in it that the cache has shown as gone
// meanwhile.
func (c *Controller) count(nodes []corev1.Node, before map[string]types.UID) {
	listed := map[types.UID]bool{}
	for i := range nodes {
		listed[nodes[i].UID] = true
		c.note(&nodes[i])
	}
	gone := c.departed.end()
	for i := range nodes {
		if gone[nodes[i].UID] {
			c.released(c.ledger.forget(nodes[i].Name, []types.UID{nodes[i].UID}))
		}
	}
	for name, uid := range before {
		if !listed[uid] {
			c.released(c.ledger.forget(name, []types.UID{uid}))
		}
	}
}

// note occupies what a Node has. What was reserved for one that has nothing, when no write is under way, is free.
func (c *Controller) note(node *corev1.Node) {
	if len(node.Spec.PodCIDRs) == 0 {
		c.released(c.ledger.giveBack(node.Name))
		return
	}
	if _, err := c.ledger.settle(node); err != nil {
		c.tell(node, err)
	}
}

// serve gives a Node its networks, if it lacks them.
func (c *Controller) serve(ctx context.Context, name string) {
	c.released(c.ledger.forget(name, c.departed.take(name)))
	node, err := c.nodes.Get(name)
	if apierrors.IsNotFound(err) {
		c.told.Forget(name)
		c.queue.Forget(name)
		return
	}
	if err == nil {
		err = c.give(ctx, node)
	}
	switch {
	case err == nil:
		c.queue.Forget(name)
	case apierrors.IsConflict(err): // a kubelet, for example, was quicker: what is reserved for the Node stays so
		c.queue.AddAfter(name, conflictDelay)
	case apierrors.IsNotFound(err):
		c.released(c.ledger.giveBack(name))
		c.queue.AddRateLimited(name)
	default:
		c.tell(node, err)
		c.queue.AddRateLimited(name)
	}
}

// released lets those that wait for room look again.
func (c *Controller) released(waiting []string) {
	for _, name := range waiting {
		c.queue.Forget(name)
		c.queue.Add(name)
	}
}

// give gives a Node its networks. What another one gave it is noted.
func (c *Controller) give(ctx context.Context, node *corev1.Node) error {
	if len(node.Spec.PodCIDRs) > 0 {
		freed, err := c.ledger.settle(node)
		c.released(freed)
		if err != nil {
			c.tell(node, err)
			return nil
		}
		c.told.Forget(node.Name)
		return nil
	}
	if node.DeletionTimestamp != nil || c.ledger.excludes(node) {
		c.told.Forget(node.Name)
		return nil
	}
	networks, freed, err := c.ledger.reserve(node)
	c.released(freed)
	if errors.Is(err, errBehind) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := c.write(ctx, node, networks); err != nil {
		return err
	}
	c.ledger.given()
	c.told.Forget(node.Name)
	klog.FromContext(ctx).Info("Gave a Node the networks of its pods", "node", node.Name, "podCIDRs", networks)
	return nil
}

// tell makes an event of what stands in the way of a Node: once, and again when it lasts.
func (c *Controller) tell(node *corev1.Node, err error) {
	reason := reasonFailed
	if problem, ok := errors.AsType[*problem](err); ok {
		reason = problem.reason
	}
	for _, n := range c.told.Update(node.Name, node.UID, []event.Warning{{Reason: reason, Message: err.Error()}}) {
		c.recorder.Event(node, corev1.EventTypeWarning, n.Reason, n.Message)
	}
}

// Collectors are the controller's metrics.
func (c *Controller) Collectors() []prometheus.Collector { return c.ledger.collectors() }
