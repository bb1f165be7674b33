package node

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestNewcomers: what counts is when a Node was met first, and another one of its name is another one, also when nobody
// saw the first go.
func TestNewcomers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n firstSeen
		node := fresh()
		first := time.Now()
		n.met(node)
		<-time.After(time.Minute)
		if got := n.since(node); !got.Equal(first) {
			t.Errorf("met %v, want %v", got, first)
		}
		node.UID = "uid-b"
		if got := n.since(node); !got.Equal(time.Now()) {
			t.Errorf("another of its name: met %v, want now", got)
		}
		n.forget(node.Name)
		<-time.After(time.Minute)
		if got := n.since(node); !got.Equal(time.Now()) {
			t.Errorf("one that was gone: met %v, want now", got)
		}
		node.Spec.ProviderID = "ground://a"
		if got := n.since(node); !got.IsZero() || len(n.known) > 0 {
			t.Errorf("with a provider ID: met %v, and %d are remembered", got, len(n.known))
		}
	})
}
