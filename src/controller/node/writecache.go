package node

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// writeCache contains Nodes as this controller wrote them, until the informer shows the write. Otherwise it would write
// the same again. The zero value is ready to use.
type writeCache struct {
	mu    sync.Mutex
	nodes map[string]*corev1.Node
}

// of is the newer one of the Node in the cache and the Node that was written.
func (w *writeCache) of(cached *corev1.Node) *corev1.Node {
	w.mu.Lock()
	defer w.mu.Unlock()
	written, exists := w.nodes[cached.Name]
	if !exists {
		return cached
	}
	older, err := resourceversion.CompareResourceVersion(cached.ResourceVersion, written.ResourceVersion)
	if err != nil || older >= 0 || cached.UID != written.UID {
		delete(w.nodes, cached.Name)
		return cached
	}
	return written
}

func (w *writeCache) wrote(node *corev1.Node) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.nodes == nil {
		w.nodes = map[string]*corev1.Node{}
	}
	w.nodes[node.Name] = node
}

func (w *writeCache) forget(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.nodes, name)
}
