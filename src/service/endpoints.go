package service

import (
	"fmt"
	"maps"
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/client-go/tools/cache"
)

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

// Slim takes out of an EndpointSlice what nobody here reads, before it is kept: a large cluster has many endpoints. It changes and
// returns the object, and is a transformation of client-go's informers.
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
		// "nil should be interpreted as true", and ready is never true of an endpoint that terminates, but of one of a Service with
		// publishNotReadyAddresses (discovery/v1, EndpointConditions).
		ready := endpoint.Conditions.Ready == nil || *endpoint.Conditions.Ready
		ending := endpoint.Conditions.Terminating != nil && *endpoint.Conditions.Terminating
		if ready && !ending && endpoint.NodeName != nil {
			nodes[*endpoint.NodeName] = true
		}
	}
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

// endpointsDiffer says whether other nodes have ready endpoints after a change of a slice, and whether one has none any more. Either
// may be nil.
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
