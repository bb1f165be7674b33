package store

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestTTLCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewTTLCache[int](time.Minute)
		want := func(key string, value int, known bool) {
			t.Helper()
			if got, found := c.Get(key); got != value || found != known {
				t.Errorf("%s: got %d, %v; want %d, %v", key, got, found, value, known)
			}
		}
		want("a", 0, false)
		c.Put("a", 1)
		<-time.After(time.Minute - 1)
		want("a", 1, true)
		want("b", 0, false)
		<-time.After(1)
		want("a", 0, false)
		c.Put("a", 2)
		<-time.After(time.Minute - 1)
		c.Put("a", 3) // from now on again for a minute
		<-time.After(time.Minute - 1)
		want("a", 3, true)
		c.Remove("a")
		want("a", 0, false)
		c.Put("a", 4)
		<-time.After(time.Minute)
		c.Put("b", 5)
		if len(c.entries) != 1 {
			t.Errorf("%d entries are kept, want the one that has not expired", len(c.entries))
		}
	})
}
