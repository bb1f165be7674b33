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

// addReadyNodes adds the nodes on which the slice has an endpoint that is ready and not terminating. The name of the
// node is "" for an endpoint that names none.
func addReadyNodes(nodes map[string]bool, slice *discoveryv1.EndpointSlice) {
	for _, endpoint := range slice.Endpoints {
		// "nil should be interpreted as true". An endpoint that is terminating is ready only if the Service has
		// publishNotReadyAddresses (discovery/v1, EndpointConditions).
		ready := endpoint.Conditions.Ready == nil || *endpoint.Conditions.Ready
		terminating := endpoint.Conditions.Terminating != nil && *endpoint.Conditions.Terminating
		if ready && !terminating {
			nodes[ptr.Deref(endpoint.NodeName, "")] = true
		}
	}
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

// readyNodesOf returns the nodes on which a Service has a ready endpoint, with "" if a ready endpoint names none.
func readyNodesOf(endpoints cache.Indexer, key string) (map[string]bool, error) {
	found, err := endpoints.ByIndex(serviceIndex, key)
	if err != nil {
		return nil, fmt.Errorf("looking for the endpoints of Service %s: %w", key, err)
	}
	nodes := map[string]bool{}
	for _, object := range found {
		if slice, ok := object.(*discoveryv1.EndpointSlice); ok {
			addReadyNodes(nodes, slice)
		}
	}
	return nodes, nil
}

// endpointsDiffer reports whether a change of a slice changes the set of nodes with ready endpoints, and whether a node
// was removed from it. Before or after may be nil.
func endpointsDiffer(before, after *discoveryv1.EndpointSlice) (differs, removed bool) {
	was, is := map[string]bool{}, map[string]bool{}
	if before != nil {
		addReadyNodes(was, before)
	}
	if after != nil {
		addReadyNodes(is, after)
	}
	removed = anyRemoved(slices.Sorted(maps.Keys(was)), slices.Sorted(maps.Keys(is)))
	return removed || len(was) != len(is), removed
}
