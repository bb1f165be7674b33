package node

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// firstSeen contains when this process first saw each Node without a provider ID: what the cloud showed before may be
// another machine of the same name. The zero value is ready to use.
type firstSeen struct {
	mu    sync.Mutex
	known map[string]sighting
}

// sighting is a Node of that identity, and not another one of its name.
type sighting struct {
	uid types.UID
	at  time.Time
}

// met notes a Node as the watch shows it.
func (n *firstSeen) met(node *corev1.Node) { n.since(node) }

// since is when the Node was met first; now if it was not, and no time at all if its provider ID says what machine it
// is.
func (n *firstSeen) since(node *corev1.Node) time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	if node.Spec.ProviderID != "" {
		delete(n.known, node.Name)
		return time.Time{}
	}
	one, exists := n.known[node.Name]
	if !exists || one.uid != node.UID {
		one = sighting{node.UID, time.Now()}
		if n.known == nil {
			n.known = map[string]sighting{}
		}
		n.known[node.Name] = one
	}
	return one.at
}

func (n *firstSeen) forget(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.known, name)
}
