package node

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestFirstSeen: the time when a Node was first seen counts, and another Node of its name has another time, even if the
// deletion of the first one was missed.
func TestFirstSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f firstSeen
		node := fresh()
		first := time.Now()
		f.since(node)
		<-time.After(time.Minute)
		if got := f.since(node); !got.Equal(first) {
			t.Errorf("met %v, want %v", got, first)
		}
		node.UID = "uid-b"
		if got := f.since(node); !got.Equal(time.Now()) {
			t.Errorf("another of its name: met %v, want now", got)
		}
		f.forget(node)
		<-time.After(time.Minute)
		if got := f.since(node); !got.Equal(time.Now()) {
			t.Errorf("one that was gone: met %v, want now", got)
		}
		node.Spec.ProviderID = "ground://a"
		if got := f.since(node); !got.IsZero() {
			t.Errorf("with a provider ID: met %v", got)
		}
		if _, known := f.known.Load(node.UID); known {
			t.Error("with a provider ID it is remembered")
		}
	})
}
