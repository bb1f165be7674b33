// Package service reconciles Services of type LoadBalancer with their load balancers, for any cloud. It replaces the
// service controller of k8s.io/cloud-provider, and has the same name, flags, finalizer and event reasons.
//
// One queue contains the Services that may differ from the cloud, the most urgent first. A worker takes a Service from
// the queue, computes its desired state from the current nodes and endpoints, requests the diff from the provider, and
// applies it:
//
//	Service, node, EndpointSlice changes ─► queue ─► phase ─► Diff ─► Apply ─► status, conditions, events
//	      every drift period, one set of lists ─┘
//
// No worker waits for the cloud, and no two workers reconcile the same Service. A Service without differences causes
// neither a call nor a write.
package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	coreinformers "k8s.io/client-go/informers/core/v1"
	discoveryinformers "k8s.io/client-go/informers/discovery/v1"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/cloud-provider/service/helpers"
	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/priorityqueue"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/workerpool"
	"github.com/thalassa-cloud/thalassa-ccm/src/tracing"
)

// allServices is the key that represents all Services, after a change of the nodes.
const allServices = "*"

// queueName is the name of the queue in k8s.io/cloud-provider, so that the metrics of the queue have the same names.
const queueName = "service"

// Pauses after failures, as in k8s.io/cloud-provider: 5, 10, 20, … 300 seconds.
const (
	minRetryDelay = 5 * time.Second
	maxRetryDelay = 300 * time.Second
)

// Options are what a Controller is made from.
type Options struct {
	Provider       cloud.LoadBalancers
	Behaviour      cloud.LoadBalancerBehaviour
	Changes        cloud.Changes  // of the cloud; may be nil
	Recovered      cloud.Recovery // of the cloud; may be nil
	Client         kubernetes.Interface
	Services       coreinformers.ServiceInformer
	Nodes          coreinformers.NodeInformer
	EndpointSlices discoveryinformers.EndpointSliceInformer
	// Identity distinguishes the objects of two clusters with the same key; may be nil.
	Identity cloud.ClusterIdentity
	// Recorder records events about Services.
	Recorder record.EventRecorder
}

// Controller reconciles Services with their load balancers.
type Controller struct {
	reconciler
	client    kubernetes.Interface
	services  corelisters.ServiceLister
	endpoints endpoints
	nodeSet   *nodeSet
	queue     *priorityqueue.Queue
	states    stateStore // by the key of the Service
	orphanSet orphanSet
	identity  cloud.ClusterIdentity
	foreign   foreignSet
	nodeSync  nodeSync
	// nodeRemoved means that a node was removed since all Services were queued.
	nodeRemoved atomic.Bool
	changes     cloud.Changes
	recovered   cloud.Recovery
	checks      workqueue.TypedDelayingInterface[string] // one after the other
	// checkFailed means that the latest check failed. Only checks use it.
	checkFailed bool
	// synced are the caches that are necessary for every Service. Endpoints are necessary for some Services only.
	synced []cache.DoneChecker
}

// New returns a controller that starts with Run. It returns an error if an informer runs already without what this
// controller needs.
func New(o Options) (*Controller, error) {
	c := &Controller{
		reconciler: reconciler{provider: o.Provider, behaviour: o.Behaviour, recorder: o.Recorder,
			metrics: newMetrics()},
		client: o.Client, services: o.Services.Lister(), identity: o.Identity,
		nodeSet: newNodeSet(o.Nodes.Lister(), o.Provider.Identify), changes: o.Changes, recovered: o.Recovered,
		queue:  priorityqueue.New(queueName, minRetryDelay, maxRetryDelay),
		checks: workqueue.NewTypedDelayingQueue[string](),
	}
	endpoints, endpointsErr := watchEndpoints(o.EndpointSlices.Informer(), c.endpointsChanged)
	services, servicesErr := workerpool.Watch(o.Services.Informer(), c.serviceChanged)
	nodes, nodesErr := workerpool.Watch(o.Nodes.Informer(), c.nodeChanged)
	if err := errors.Join(endpointsErr, servicesErr, nodesErr); err != nil {
		return nil, fmt.Errorf("starting the service controller: %w", err)
	}
	c.endpoints, c.synced = endpoints, []cache.DoneChecker{services, nodes}
	return c, nil
}

// Run reconciles with the given number of workers until ctx ends. It returns after the current writes have finished.
func (c *Controller) Run(ctx context.Context, workers int) {
	defer c.queue.ShutDown()
	defer c.checks.ShutDown()
	if !cache.WaitFor(ctx, "caches", c.synced...) {
		return
	}
	c.endpoints.waitForSync(ctx, endpointsTimeout)
	checks := func(ctx context.Context) { workerpool.Work(ctx, c.checks, 1, c.check) }
	workerpool.Work(ctx, c.queue, workers, c.processKey, c.watchCloud, c.watchOutages, c.resyncAfterEndpoints, checks,
		func(ctx context.Context) {
			workerpool.Every(ctx, c.behaviour.DriftPeriod, func() { c.checks.Add(checkDrift) })
		})
}

// serviceChanged queues a Service that needs a load balancer or had one.
func (c *Controller) serviceChanged(before, after *corev1.Service, initial bool) {
	switch {
	case after == nil:
		if key := keyOf(before); c.states.has(key) {
			c.queue.Enqueue(key, priorityqueue.Normal, 0)
		}
	case !needsReconcile(before, after):
	case initial:
		c.queue.Enqueue(keyOf(after), priorityqueue.Relaxed, 0)
	default:
		c.queue.Enqueue(keyOf(after), priorityqueue.Normal, 0)
	}
}

// needsReconcile reports whether a change of a Service is queued; was is nil for a new one. The finalizer and the
// conditions of a Service that had neither are a change, too: its type may have changed just before this controller
// wrote them.
func needsReconcile(was, is *corev1.Service) bool {
	if was == nil || !isRelevant(was) {
		return isRelevant(is)
	}
	return !sameInput(was, is)
}

// isRelevant reports whether a Service needs a load balancer, or may have had one.
func isRelevant(service *corev1.Service) bool {
	return service.Spec.Type == corev1.ServiceTypeLoadBalancer || helpers.HasLBFinalizer(service) ||
		hasConditions(service)
}

// sameInput reports whether nothing differs that this controller reads or restores.
func sameInput(was, is *corev1.Service) bool {
	lostFinalizer := helpers.HasLBFinalizer(was) && !helpers.HasLBFinalizer(is)
	return cloud.SameDesired(was, is) && was.DeletionTimestamp.Equal(is.DeletionTimestamp) && !lostFinalizer &&
		helpers.LoadBalancerStatusEqual(&was.Status.LoadBalancer, &is.Status.LoadBalancer)
}

// nodeChanged queues all Services once if the targets change, and the Services whose selectors match other nodes if
// labels change.
func (c *Controller) nodeChanged(before, after *corev1.Node, initial bool) {
	if initial {
		return
	}
	// If a node is not ready any more, targets may change at the next comparison: health checks do not send to it.
	if before == nil || after == nil || cloud.Ready(before) != cloud.Ready(after) {
		c.nodeSet.invalidate()
	}
	if differs, removed := nodeDiffers(before, after); differs {
		c.nodeSet.invalidate()
		if removed {
			if machine, _ := c.provider.Identify(before); machine != "" {
				c.nodeRemoved.Store(true)
			}
		}
		_, window := urgency(removed)
		c.queue.Enqueue(allServices, priorityqueue.Urgent, window)
	}
	for key, removed := range c.nodeSet.reselected(before, after) {
		priority, window := urgency(removed)
		c.nodeSync.start([]string{key})
		c.queue.Enqueue(key, priority, window)
	}
}

// urgency returns how soon a change of targets is written, after the time in which further changes are collected.
func urgency(removed bool) (priorityqueue.Priority, time.Duration) {
	if removed {
		return priorityqueue.Urgent, removeWindow
	}
	return priorityqueue.Normal, addWindow
}

// endpointsChanged queues a Service whose externalTrafficPolicy is Local if other nodes have its endpoints.
func (c *Controller) endpointsChanged(before, after *discoveryv1.EndpointSlice, initial bool) {
	key := serviceKeyOf(cmp.Or(after, before))
	switch {
	case initial:
		return
	case before != nil && after != nil && serviceKeyOf(before) != key: // it belongs to another Service now
		c.endpointsChanged(before, nil, false)
		before = nil
	}
	if differs, removed := endpointsDiffer(before, after); differs && c.isLocal(key) {
		priority, window := urgency(removed)
		c.queue.Enqueue(key, priority, window)
	}
}

// isLocal reports whether the Service with the key sends traffic only to nodes with an endpoint.
func (c *Controller) isLocal(key string) bool {
	service, err := c.current(key)
	return err == nil && service != nil && service.Spec.Type == corev1.ServiceTypeLoadBalancer &&
		helpers.RequestsOnlyLocalTraffic(service)
}

func keyOf(service *corev1.Service) string { return service.Namespace + "/" + service.Name }

// processKey reconciles the objects of a key, and queues the key again if necessary.
func (c *Controller) processKey(ctx context.Context, key string) {
	if key == allServices {
		c.enqueueAll(c.states.keys(), c.nodeRemoved.Swap(false))
		return
	}
	started := time.Now()
	err := c.syncKey(ctx, key)
	tracing.Observe(ctx, c.metrics.duration.WithLabelValues(resultOf(err)), time.Since(started).Seconds())
	c.nodeSync.done(key, c.metrics.nodeLatency)
	switch reason := cloud.ReasonOf(err); {
	case err == nil:
		c.queue.Forget(key)
	case reason.Waits():
		klog.FromContext(ctx).V(2).Info("The Service is synced again later", "service", key, "after", reason.Until,
			"reason", err.Error())
		c.queue.Forget(key)
		c.queue.Again(key, reason.Until)
	default:
		tracing.Fail(ctx, err)
		klog.FromContext(ctx).Error(err, "Syncing a Service failed; it is retried", "service", key)
		until := reason.Until
		if reason.Lasts() { // of a deletion: nothing else would queue it again
			until = 0
		}
		c.queue.Retry(key, until)
	}
}

// syncKey reconciles the Service or deletes the orphan of the key.
func (c *Controller) syncKey(ctx context.Context, key string) error {
	if uid, orphaned := strings.CutPrefix(key, orphanPrefix); orphaned {
		return c.removeOrphan(ctx, types.UID(uid))
	}
	return c.reconcile(ctx, key)
}

// enqueueAll queues the Services after a change of nodes. If a node was removed, they are urgent.
func (c *Controller) enqueueAll(keys []string, removed bool) {
	p, _ := urgency(removed)
	c.nodeSync.start(keys)
	for _, key := range keys {
		c.queue.Enqueue(key, p, 0)
	}
}

// nodeSync measures the time from a change of nodes until all Services are reconciled.
type nodeSync struct {
	mu      sync.Mutex
	started time.Time
	pending map[string]bool
}

// start adds Services that were queued. If others are still pending, the time continues from the earlier change.
func (s *nodeSync) start(keys []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.pending) == 0 {
		s.started, s.pending = time.Now(), map[string]bool{}
	}
	for _, key := range keys {
		s.pending[key] = true
	}
}

// done removes a Service that was reconciled. After the last one it observes the latency.
func (s *nodeSync) done(key string, latency prometheus.Observer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.pending[key] {
		return
	}
	if delete(s.pending, key); len(s.pending) == 0 {
		latency.Observe(time.Since(s.started).Seconds())
	}
}
