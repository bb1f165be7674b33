package service

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"github.com/thalassa-cloud/thalassa-ccm/src/controller/workerpool"
)

// endpointsTimeout is the longest time that the start is delayed until EndpointSlices are listed: enough to list very
// many if the cache is empty. Without EndpointSlices, only the targets of Services with the policy Local are not known.
const endpointsTimeout = 10 * time.Second

// serviceIndex is the index of EndpointSlices by their Service.
const serviceIndex = "service"

// indexers returns the index with which the EndpointSlices of a Service are found by its key.
func indexers() cache.Indexers {
	return cache.Indexers{serviceIndex: func(object any) ([]string, error) {
		if slice, ok := object.(*discoveryv1.EndpointSlice); ok {
			return []string{serviceKeyOf(slice)}, nil
		}
		return nil, nil
	}}
}

// serviceKeyOf returns the key of the Service that an EndpointSlice belongs to, or "" if it belongs to none.
func serviceKeyOf(slice *discoveryv1.EndpointSlice) string {
	name := slice.Labels[discoveryv1.LabelServiceName]
	if name == "" {
		return ""
	}
	return slice.Namespace + "/" + name
}

// Slim removes the fields of an EndpointSlice that are not used here before it is cached, because a large cluster has
// many endpoints. It changes and returns the object. It is a transform function for client-go's informers.
func Slim(object any) (any, error) {
	slice, ok := object.(*discoveryv1.EndpointSlice)
	if !ok {
		return object, nil
	}
	slice.ManagedFields, slice.Annotations, slice.Ports = nil, nil, nil
	for i, endpoint := range slice.Endpoints {
		slice.Endpoints[i] = discoveryv1.Endpoint{NodeName: endpoint.NodeName, Conditions: endpoint.Conditions}
	}
	return slice, nil
}

// endpointNodes are the nodes that have endpoints of a Service, by name; "" if an endpoint names none.
type endpointNodes struct {
	ready map[string]bool // those with an endpoint that is ready and not terminating
	// draining are those without such an endpoint, and with one that serves and is terminating: kube-proxy sends
	// traffic to it.
	draining map[string]bool
}

// nodesOf returns the nodes that have endpoints in slices, which may be nil.
func nodesOf(all ...*discoveryv1.EndpointSlice) endpointNodes {
	nodes := endpointNodes{ready: map[string]bool{}, draining: map[string]bool{}}
	for _, slice := range all {
		if slice == nil {
			continue
		}
		for _, endpoint := range slice.Endpoints {
			nodes.add(ptr.Deref(endpoint.NodeName, ""), endpoint.Conditions)
		}
	}
	maps.DeleteFunc(nodes.draining, func(name string, _ bool) bool { return nodes.ready[name] })
	return nodes
}

// add adds the node of an endpoint.
func (n endpointNodes) add(name string, conditions discoveryv1.EndpointConditions) {
	// "nil should be interpreted as true". An endpoint that is terminating is ready only if the Service has
	// publishNotReadyAddresses (discovery/v1, EndpointConditions).
	terminating := ptr.Deref(conditions.Terminating, false)
	if ptr.Deref(conditions.Ready, true) && !terminating {
		n.ready[name] = true
	}
	if ptr.Deref(conditions.Serving, true) && terminating {
		n.draining[name] = true
	}
}

// leaves reports whether a node has no more endpoint that serves.
func (n endpointNodes) leaves(after endpointNodes) bool {
	for _, nodes := range []map[string]bool{n.ready, n.draining} {
		for name := range nodes {
			if !after.ready[name] && !after.draining[name] {
				return true
			}
		}
	}
	return false
}

// endpoints are the EndpointSlices of all Services.
type endpoints struct {
	index cache.Indexer
	// synced reports whether they have been listed.
	synced cache.DoneChecker
}

// watchEndpoints adds the index and the event handler to the informer. It returns an error if the informer already runs
// or has stopped.
func watchEndpoints(informer cache.SharedIndexInformer,
	changed func(before, after *discoveryv1.EndpointSlice, initial bool)) (endpoints, error) {
	if err := informer.AddIndexers(indexers()); err != nil {
		return endpoints{}, fmt.Errorf("preparing to find the endpoints of Services: %w", err)
	}
	synced, err := workerpool.Watch(informer, changed)
	return endpoints{index: informer.GetIndexer(), synced: synced}, err
}

// waitForSync waits until EndpointSlices are listed, but not longer than limit.
func (e endpoints) waitForSync(ctx context.Context, limit time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cache.WaitFor(ctx, "EndpointSlices", e.synced)
}

// errEndpointsNotRead is the error of a process that cannot read EndpointSlices. The log and /readyz already contain
// the error of the API server.
var errEndpointsNotRead = errors.New("EndpointSlices cannot be read")

// resyncAfterEndpoints logs the consequences while EndpointSlices cannot be read, and queues the Services that need
// them as soon as they are listed.
func (c *Controller) resyncAfterEndpoints(ctx context.Context) {
	if cache.IsDone(c.endpoints.synced) {
		return
	}
	klog.FromContext(ctx).Error(errEndpointsNotRead,
		"Load balancers of Services whose externalTrafficPolicy is Local keep the nodes that they have; "+
			"everything else goes on. Permit list and watch of endpointslices in the API group discovery.k8s.io, as "+
			"the chart of this version does")
	if !cache.WaitFor(ctx, "EndpointSlices", c.endpoints.synced) {
		return
	}
	klog.FromContext(ctx).Info("EndpointSlices have been read")
	c.enqueueAll(slices.DeleteFunc(c.states.keys(), func(key string) bool { return !c.isLocal(key) }), false)
}

// endpointNodesOf returns the nodes that have endpoints of a Service.
func endpointNodesOf(endpoints cache.Indexer, key string) (endpointNodes, error) {
	found, err := endpoints.ByIndex(serviceIndex, key)
	if err != nil {
		return endpointNodes{}, fmt.Errorf("looking for the endpoints of Service %s: %w", key, err)
	}
	var all []*discoveryv1.EndpointSlice
	for _, object := range found {
		if slice, ok := object.(*discoveryv1.EndpointSlice); ok {
			all = append(all, slice)
		}
	}
	return nodesOf(all...), nil
}

// endpointsDiffer reports whether a change of a slice changes the nodes with endpoints, and whether a node has no more
// endpoint that serves. Before or after may be nil.
func endpointsDiffer(before, after *discoveryv1.EndpointSlice) (differs, removed bool) {
	was, is := nodesOf(before), nodesOf(after)
	differs = !maps.Equal(was.ready, is.ready) || !maps.Equal(was.draining, is.draining)
	return differs, was.leaves(is)
}
