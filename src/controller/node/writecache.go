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

// of is the newer of what the cache has and what was written.
func (l *writeCache) of(cached *corev1.Node) *corev1.Node {
	l.mu.Lock()
	defer l.mu.Unlock()
	written, exists := l.nodes[cached.Name]
	if !exists {
		return cached
	}
	older, err := resourceversion.CompareResourceVersion(cached.ResourceVersion, written.ResourceVersion)
	if err != nil || older >= 0 || cached.UID != written.UID {
		delete(l.nodes, cached.Name)
		return cached
	}
	return written
}

func (l *writeCache) wrote(node *corev1.Node) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.nodes == nil {
		l.nodes = map[string]*corev1.Node{}
	}
	l.nodes[node.Name] = node
}

func (l *writeCache) forget(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.nodes, name)
}
