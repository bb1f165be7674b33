package node

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// firstSeen contains when this process first saw each Node without a provider ID: an earlier list of the cloud may
// contain another machine of the same name. The zero value is ready to use.
type firstSeen struct {
	mu    sync.Mutex
	known map[string]firstSeenNode
}

// firstSeenNode identifies a Node, and not another one of its name.
type firstSeenNode struct {
	uid types.UID
	at  time.Time
}

// add records a Node that the watch shows.
func (f *firstSeen) add(node *corev1.Node) { f.since(node) }

// since is when the Node was first seen; now if it was not, and the zero Time if its provider ID identifies the
// machine.
func (f *firstSeen) since(node *corev1.Node) time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	if node.Spec.ProviderID != "" {
		delete(f.known, node.Name)
		return time.Time{}
	}
	one, exists := f.known[node.Name]
	if !exists || one.uid != node.UID {
		one = firstSeenNode{node.UID, time.Now()}
		if f.known == nil {
			f.known = map[string]firstSeenNode{}
		}
		f.known[node.Name] = one
	}
	return one.at
}

func (f *firstSeen) forget(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.known, name)
}
