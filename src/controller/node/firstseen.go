package node

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// firstSeen contains when this process first saw each Node without a provider ID: an earlier list of the cloud may
// contain another machine of the same name. The zero value is ready to use.
type firstSeen struct {
	known sync.Map // types.UID -> time.Time
}

// since is when the Node was first seen; now if it was not, and the zero Time if its provider ID identifies the
// machine.
func (f *firstSeen) since(node *corev1.Node) time.Time {
	if node.Spec.ProviderID != "" {
		f.forget(node)
		return time.Time{}
	}
	seen, _ := f.known.LoadOrStore(node.UID, time.Now())
	at, _ := seen.(time.Time)
	return at
}

func (f *firstSeen) forget(node *corev1.Node) { f.known.Delete(node.UID) }
