package inventory

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestTTLSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTTLSet(time.Minute)
		if r.has("a") {
			t.Error("something is known before anything was noted")
		}
		r.add("a")
		<-time.After(time.Minute)
		if !r.has("a") || r.has("b") {
			t.Error("noted a minute ago: only that, and still")
		}
		<-time.After(time.Second)
		if r.has("a") {
			t.Error("known for longer than the lifetime")
		}
		r.add("a")
		if at, known := r.addedAt("a"); !known || time.Since(at) != 0 {
			t.Errorf("noted again at %v, known %v; want now", at, known)
		}
		r.remove("a")
		if r.has("a") {
			t.Error("known although it was forgotten")
		}
		r.add("b")
		if len(r.added) != 1 {
			t.Errorf("%d keys are kept, want the one that is not too old", len(r.added))
		}
	})
}
