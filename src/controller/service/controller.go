// Package service gives Services of type LoadBalancer their load balancers, whatever the cloud. It stands in for the
// service controller of k8s.io/cloud-provider, under the same name, flags, finalizer and event reasons.
//
// One queue holds the Services that may differ from what the cloud has, the most urgent first; a worker takes one,
// computes what it should have from the nodes and endpoints as they are then, lets the provider compare, and applies
// the difference:
//
//	Service, node, EndpointSlice changes ─► queue ─► claim ─► Diff ─► Apply ─► status, conditions, events
//	      every drift period, one set of lists ─┘
//
// No worker waits for the cloud, no two work on one Service, and a Service with which nothing differs costs neither a
// call nor a write.
package service

import (
	"context"
	"fmt"
	"strings"
	"sync"
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
	"k8s.io/cloud-provider/service/helpers"
	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/priorityqueue"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/workerpool"
)

// component is the source of the events, as in k8s.io/cloud-provider.
const component = "service-controller"

// sweep is the key that stands for all Services: the nodes have changed.
const sweep = "*"

// selected is the key that stands for the Services whose node selectors mean other nodes: labels have changed.
const selected = "*selected"

// queueName is that of the service controller of k8s.io/cloud-provider, and so are the names of its metrics.
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
	Client         kubernetes.Interface
	Services       coreinformers.ServiceInformer
	Nodes          coreinformers.NodeInformer
	EndpointSlices discoveryinformers.EndpointSliceInformer
	// Recorder takes what the owners of Services are told; nil makes events of the API server.
	Recorder record.EventRecorder
}

// Controller keeps the load balancers of Services as they should be.
type Controller struct {
	keeper
	client    kubernetes.Interface
	services  corelisters.ServiceLister
	endpoints endpoints
	fleet     *fleet
	writer    writer
	queue     *priorityqueue.Queue
	memories  memories[string] // by the Service's key
	orphanage orphanage
	sweeping  sweeping
	// lookFailed says that the latest look for drift did; only the goroutine that looks uses it.
	lookFailed bool
	// synced are the caches without which no Service can be served; endpoints are needed by some only.
	synced []cache.InformerSynced
}

// New returns a controller that begins its work with Run. The error is that an informer runs already, and without what
// this one needs.
func New(o Options) (*Controller, error) {
	c := &Controller{
		keeper: keeper{provider: o.Provider, behaviour: o.Behaviour, recorder: o.Recorder, metrics: newMetrics()},
		client: o.Client, services: o.Services.Lister(),
		fleet:  &fleet{nodes: o.Nodes.Lister(), identify: o.Provider.Identify},
		writer: writer{services: o.Client.CoreV1()}, queue: priorityqueue.New(queueName, minRetryDelay, maxRetryDelay),
	}
	var err error
	if c.endpoints, err = findEndpoints(o.EndpointSlices.Informer(), c.endpointEvents()); err != nil {
		return nil, err
	}
	for _, one := range []struct {
		informer cache.SharedIndexInformer
		handler  cache.ResourceEventHandler
	}{
		{o.Services.Informer(), c.serviceEvents()},
		{o.Nodes.Informer(), c.nodeEvents()},
	} {
		registered, err := one.informer.AddEventHandler(one.handler)
		if err != nil {
			return nil, fmt.Errorf("watching for the service controller: %w", err)
		}
		c.synced = append(c.synced, registered.HasSynced)
	}
	c.metrics.observe(c)
	return c, nil
}

// Run works with so many workers until ctx ends, and then until the writes under way are done.
func (c *Controller) Run(ctx context.Context, workers int) {
	defer c.queue.ShutDown()
	recorder, quiet := workerpool.Recorder(ctx, c.recorder, c.client, component)
	defer quiet()
	c.recorder = recorder
	if !cache.WaitForNamedCacheSyncWithContext(ctx, c.synced...) {
		return
	}
	c.endpoints.await(ctx, endpointsGrace)
	if _, err := c.fleet.sweep(); err != nil { // so that the next one knows who has left
		klog.FromContext(ctx).Error(err, "Nodes cannot be listed yet")
	}
	workerpool.Work(ctx, c.queue, workers, c.serve, c.patrol, c.followEndpoints)
}

// serviceEvents queues Services that want, or had, a load balancer.
func (c *Controller) serviceEvents() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(object any, initial bool) {
			service, ok := object.(*corev1.Service)
			switch {
			case !ok || !mayMatter(service):
			case initial:
				c.queue.Enqueue(keyOf(service), priorityqueue.Relaxed, 0)
			default:
				c.queue.Enqueue(keyOf(service), priorityqueue.Normal, 0)
			}
		},
		UpdateFunc: func(before, after any) {
			was, ok := before.(*corev1.Service)
			is, also := after.(*corev1.Service)
			if ok && also && (mayMatter(was) || mayMatter(is)) && !sameForUs(was, is) {
				c.queue.Enqueue(keyOf(is), priorityqueue.Normal, 0)
			}
		},
		DeleteFunc: func(object any) {
			if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(object); err == nil && c.memories.has(key) {
				c.queue.Enqueue(key, priorityqueue.Normal, 0)
			}
		},
	}
}

// mayMatter says whether a Service wants a load balancer, or may have had one.
func mayMatter(service *corev1.Service) bool {
	return service.Spec.Type == corev1.ServiceTypeLoadBalancer || helpers.HasLBFinalizer(service) ||
		hasConditions(service)
}

// sameForUs says whether nothing differs that this controller looks at, or would put back.
func sameForUs(was, is *corev1.Service) bool {
	lostFinalizer := helpers.HasLBFinalizer(was) && !helpers.HasLBFinalizer(is)
	return cloud.SameDesired(was, is) && was.DeletionTimestamp.Equal(is.DeletionTimestamp) && !lostFinalizer &&
		helpers.LoadBalancerStatusEqual(&was.Status.LoadBalancer, &is.Status.LoadBalancer)
}

// nodeEvents queues all Services, once, when the targets change, and those whose selectors mean other nodes, when
// labels do.
func (c *Controller) nodeEvents() cache.ResourceEventHandler {
	within := func(leaves bool) time.Duration {
		if leaves {
			return leaveWindow
		}
		return joinWindow
	}
	changed := func(before, after *corev1.Node) {
		if before == nil || after == nil {
			c.fleet.changed()
		}
		if differs, leaves := difference(before, after); differs {
			c.fleet.changed()
			c.queue.Enqueue(sweep, priorityqueue.Urgent, within(leaves))
		}
		if differs, leaves := c.fleet.relabelled(before, after); differs {
			c.queue.Enqueue(selected, priorityqueue.Urgent, within(leaves))
		}
	}
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(object any, initial bool) {
			if node, ok := object.(*corev1.Node); ok && !initial {
				changed(nil, node)
			}
		},
		UpdateFunc: func(before, after any) {
			was, ok := before.(*corev1.Node)
			is, also := after.(*corev1.Node)
			if ok && also {
				changed(was, is)
			}
		},
		DeleteFunc: func(object any) {
			if node, ok := deleted[*corev1.Node](object); ok {
				changed(node, nil)
			}
		},
	}
}

// endpointEvents queues the Service whose externalTrafficPolicy is Local when its endpoints are on other nodes.
func (c *Controller) endpointEvents() cache.ResourceEventHandler {
	changed := func(before, after, of *discoveryv1.EndpointSlice) {
		key := serviceKeyOf(of)
		if !c.local(key) {
			return
		}
		switch differs, leaves := endpointsDiffer(before, after); {
		case leaves:
			c.queue.Enqueue(key, priorityqueue.Urgent, leaveWindow)
		case differs:
			c.queue.Enqueue(key, priorityqueue.Normal, joinWindow)
		}
	}
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(object any, initial bool) {
			if slice, ok := object.(*discoveryv1.EndpointSlice); ok && !initial {
				changed(nil, slice, slice)
			}
		},
		UpdateFunc: func(before, after any) {
			was, ok := before.(*discoveryv1.EndpointSlice)
			is, also := after.(*discoveryv1.EndpointSlice)
			switch {
			case !ok || !also:
			case serviceKeyOf(was) != serviceKeyOf(is): // it was given to another Service
				changed(was, nil, was)
				changed(nil, is, is)
			default:
				changed(was, is, is)
			}
		},
		DeleteFunc: func(object any) {
			if slice, ok := deleted[*discoveryv1.EndpointSlice](object); ok {
				changed(slice, nil, slice)
			}
		},
	}
}

// local says whether the Service of that key sends traffic only to nodes with an endpoint.
func (c *Controller) local(key string) bool {
	namespace, name, err := cache.SplitMetaNamespaceKey(key)
	if err != nil || name == "" {
		return false
	}
	service, err := c.services.Services(namespace).Get(name)
	return err == nil && service.Spec.Type == corev1.ServiceTypeLoadBalancer &&
		helpers.RequestsOnlyLocalTraffic(service)
}

// deleted is the last known state of an object that is not there any more.
func deleted[T any](object any) (T, bool) {
	if late, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = late.Obj
	}
	last, ok := object.(T)
	return last, ok
}

func keyOf(service *corev1.Service) string { return service.Namespace + "/" + service.Name }

// serve does the work for a key, and says when it is to be looked at again.
func (c *Controller) serve(ctx context.Context, key string) {
	switch key {
	case sweep:
		c.sweep()
		return
	case selected:
		c.lookAt(c.fleet.reselected())
		return
	}
	began := time.Now()
	err := c.lookInto(ctx, key)
	c.metrics.reconciled(time.Since(began), resultOf(err))
	c.sweeping.done(key, c.metrics.nodeLatency)
	switch after, asked := retryAfter(err); {
	case err == nil:
		c.queue.Forget(key)
	case asked && isWait(err):
		klog.FromContext(ctx).V(2).Info("The Service is synced again later", "service", key, "after", after, "reason",
			err.Error())
		c.queue.Forget(key)
		c.queue.Again(key, after)
	default:
		klog.FromContext(ctx).Error(err, "Syncing a Service failed; it is retried", "service", key)
		c.queue.Retry(key, after)
	}
}

// lookInto does the work for the key of a Service, or of an orphan.
func (c *Controller) lookInto(ctx context.Context, key string) error {
	if uid, orphaned := strings.CutPrefix(key, orphanPrefix); orphaned {
		return c.removeOrphan(ctx, types.UID(uid))
	}
	return c.reconcile(ctx, key)
}

// sweep queues all Services, because the nodes have changed.
func (c *Controller) sweep() {
	leaves, err := c.fleet.sweep()
	if err != nil { // a cache does not fail
		return
	}
	c.lookAt(c.memories.keys(), leaves)
}

// lookAt queues Services because nodes have changed.
func (c *Controller) lookAt(keys []string, leaves bool) {
	p := priorityqueue.Normal
	if leaves {
		p = priorityqueue.Urgent
	}
	c.sweeping.begin(keys)
	for _, key := range keys {
		c.queue.Enqueue(key, p, 0)
	}
}

// sweeping measures how long it takes until all Services know of a change of nodes.
type sweeping struct {
	mu    sync.Mutex
	began time.Time
	left  map[string]bool
}

// begin is when the Services are queued. One sweep that overtakes another goes on with its time.
func (s *sweeping) begin(keys []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.left) == 0 {
		s.began, s.left = time.Now(), map[string]bool{}
	}
	for _, key := range keys {
		s.left[key] = true
	}
}

// done is when a Service has been looked at.
func (s *sweeping) done(key string, latency prometheus.Observer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.left[key] {
		return
	}
	if delete(s.left, key); len(s.left) == 0 {
		latency.Observe(time.Since(s.began).Seconds())
	}
}
