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
)

// endpointsGrace is how long the work waits for EndpointSlices: for as long as it takes to list very many, when the
// cache is not warm. Without them all Services are served but for the targets of some.
const endpointsGrace = 10 * time.Second

// byService is the index of EndpointSlices by the Service they belong to.
const byService = "service"

// indexers finds the EndpointSlices of a Service by its key.
func indexers() cache.Indexers {
	return cache.Indexers{byService: func(object any) ([]string, error) {
		if slice, ok := object.(*discoveryv1.EndpointSlice); ok {
			return []string{serviceKeyOf(slice)}, nil
		}
		return nil, nil
	}}
}

// serviceKeyOf is the key of the Service that an EndpointSlice belongs to, "" when it belongs to none.
func serviceKeyOf(slice *discoveryv1.EndpointSlice) string {
	name := slice.Labels[discoveryv1.LabelServiceName]
	if name == "" {
		return ""
	}
	return slice.Namespace + "/" + name
}

// Slim takes out of an EndpointSlice what nobody here reads, before it is kept: a large cluster has many endpoints. It
// changes and returns the object, and is a transformation of client-go's informers.
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

// readyNodes adds the nodes on which the slice has an endpoint that is ready and not about to end.
func readyNodes(nodes map[string]bool, slice *discoveryv1.EndpointSlice) {
	for _, endpoint := range slice.Endpoints {
		// "nil should be interpreted as true", and ready is never true of an endpoint that terminates, but of one of a
		// Service with publishNotReadyAddresses (discovery/v1, EndpointConditions).
		ready := endpoint.Conditions.Ready == nil || *endpoint.Conditions.Ready
		ending := endpoint.Conditions.Terminating != nil && *endpoint.Conditions.Terminating
		if ready && !ending && endpoint.NodeName != nil {
			nodes[*endpoint.NodeName] = true
		}
	}
}

// endpoints are the EndpointSlices of all Services, as far as they can be read.
type endpoints struct {
	index cache.Indexer
	// known says whether they have been read.
	known cache.InformerSynced
}

// findEndpoints has EndpointSlices indexed, and changes of them told. The error is that the informer runs already, or
// has ended.
func findEndpoints(informer cache.SharedIndexInformer, tell cache.ResourceEventHandler) (endpoints, error) {
	if err := informer.AddIndexers(indexers()); err != nil {
		return endpoints{}, fmt.Errorf("preparing to find the endpoints of Services: %w", err)
	}
	registered, err := informer.AddEventHandler(tell)
	if err != nil {
		return endpoints{}, fmt.Errorf("watching the endpoints of Services: %w", err)
	}
	return endpoints{index: informer.GetIndexer(), known: registered.HasSynced}, nil
}

// await waits until they have been read, but no longer than limit.
func (e endpoints) await(ctx context.Context, limit time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cache.WaitForCacheSync(ctx.Done(), e.known)
}

// errUnread is what a process lacks that cannot read endpoints. The error of the API server is in the log already, and
// in /readyz.
var errUnread = errors.New("EndpointSlices cannot be read")

// followEndpoints says what is not done while EndpointSlices cannot be read, and has it done when they can.
func (c *Controller) followEndpoints(ctx context.Context) {
	if c.endpoints.known() {
		return
	}
	klog.FromContext(ctx).Error(errUnread,
		"Load balancers of Services whose externalTrafficPolicy is Local keep the nodes that they have; "+
			"everything else goes on. Permit list and watch of endpointslices in the API group discovery.k8s.io, as "+
			"the "+
			"chart of this version does")
	if !cache.WaitForCacheSync(ctx.Done(), c.endpoints.known) {
		return
	}
	klog.FromContext(ctx).Info("EndpointSlices have been read")
	c.lookAt(slices.DeleteFunc(c.memories.keys(), func(key string) bool { return !c.local(key) }), false)
}

// readyNodesOf are the nodes on which a Service has an endpoint that is ready.
func readyNodesOf(endpoints cache.Indexer, key string) (map[string]bool, error) {
	found, err := endpoints.ByIndex(byService, key)
	if err != nil {
		return nil, fmt.Errorf("looking for the endpoints of Service %s: %w", key, err)
	}
	nodes := map[string]bool{}
	for _, object := range found {
		if slice, ok := object.(*discoveryv1.EndpointSlice); ok {
			readyNodes(nodes, slice)
		}
	}
	return nodes, nil
}

// endpointsDiffer says whether other nodes have ready endpoints after a change of a slice, and whether one has none any
// more. Either may be nil.
func endpointsDiffer(before, after *discoveryv1.EndpointSlice) (differs, leaves bool) {
	was, is := map[string]bool{}, map[string]bool{}
	if before != nil {
		readyNodes(was, before)
	}
	if after != nil {
		readyNodes(is, after)
	}
	leaves = lost(slices.Sorted(maps.Keys(was)), slices.Sorted(maps.Keys(is)))
	return leaves || len(was) != len(is), leaves
}
