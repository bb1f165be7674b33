package nodeipam

import (
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// removedNodes are the Nodes that the cache has reported as deleted, until their networks are released. It is not
// sufficient that the cache contains no Node of a name: the API server may contain one that registered later. The zero
// value is ready to use.
type removedNodes struct {
	mu    sync.Mutex
	nodes map[string][]types.UID // by name
	// duringList are the Nodes that were deleted since a list was requested, which may contain them; nil without a
	// list.
	duringList map[types.UID]bool
}

// observe records an object that the cache has reported as deleted, and returns the Node's name; "" if it is not a
// Node.
func (r *removedNodes) observe(object any) (name string) {
	if last, isTombstone := object.(cache.DeletedFinalStateUnknown); isTombstone {
		object = last.Obj
	}
	node, ok := object.(*corev1.Node)
	if !ok {
		return ""
	}
	r.add(node)
	return node.Name
}

// add records a Node that was deleted.
func (r *removedNodes) add(node *corev1.Node) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.nodes == nil {
		r.nodes = map[string][]types.UID{}
	}
	if !slices.Contains(r.nodes[node.Name], node.UID) {
		r.nodes[node.Name] = append(r.nodes[node.Name], node.UID)
	}
	if r.duringList != nil {
		r.duringList[node.UID] = true
	}
}

// beginList records Nodes that are deleted from now on, until endList.
func (r *removedNodes) beginList() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.duringList = map[types.UID]bool{}
}

// endList returns the Nodes that were deleted since beginList, also those that take has returned.
func (r *removedNodes) endList() map[types.UID]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	since := r.duringList
	r.duringList = nil
	return since
}

// take returns the deleted Nodes of that name, and removes them.
func (r *removedNodes) take(name string) []types.UID {
	r.mu.Lock()
	defer r.mu.Unlock()
	gone := r.nodes[name]
	delete(r.nodes, name)
	return gone
}
