package nodeipam

import (
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// departed are the Nodes that the cache has shown as gone, until their networks are free. That the cache has no Node of
// a name is not enough: the one that is there may have registered after what the cache shows. The zero value is ready
// to use.
type departed struct {
	mu    sync.Mutex
	nodes map[string][]types.UID // by name
	// since are those that went since a list was asked for, in which they may be; nil when there is none.
	since map[types.UID]bool
}

// left notes an object that the cache has shown as gone, and returns the Node's name; "" if it is none.
func (d *departed) left(object any) (name string) {
	if last, unseen := object.(cache.DeletedFinalStateUnknown); unseen {
		object = last.Obj
	}
	node, ok := object.(*corev1.Node)
	if !ok {
		return ""
	}
	d.note(node)
	return node.Name
}

// note notes a Node that is gone.
func (d *departed) note(node *corev1.Node) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.nodes == nil {
		d.nodes = map[string][]types.UID{}
	}
	if !slices.Contains(d.nodes[node.Name], node.UID) {
		d.nodes[node.Name] = append(d.nodes[node.Name], node.UID)
	}
	if d.since != nil {
		d.since[node.UID] = true
	}
}

// begin remembers who goes from now on, until end.
func (d *departed) begin() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.since = map[types.UID]bool{}
}

// end returns who went since begin, taken or not.
func (d *departed) end() map[types.UID]bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	since := d.since
	d.since = nil
	return since
}

// take returns the Nodes of that name that are gone, and forgets them.
func (d *departed) take(name string) []types.UID {
	d.mu.Lock()
	defer d.mu.Unlock()
	gone := d.nodes[name]
	delete(d.nodes, name)
	return gone
}
