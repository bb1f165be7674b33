package inventory

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestTTLCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTTLCache[int](time.Minute)
		want := func(key string, value int, known bool) {
			t.Helper()
			if got, found := c.get(key); got != value || found != known {
				t.Errorf("%s: got %d, %v; want %d, %v", key, got, found, value, known)
			}
		}
		want("a", 0, false)
		c.put("a", 1)
		<-time.After(time.Minute - 1)
		want("a", 1, true)
		want("b", 0, false)
		<-time.After(1)
		want("a", 0, false)
		c.put("a", 2)
		<-time.After(time.Minute - 1)
		c.put("a", 3) // from now on again for a minute
		<-time.After(time.Minute - 1)
		want("a", 3, true)
		c.remove("a")
		want("a", 0, false)
		c.put("a", 4)
		<-time.After(time.Minute)
		c.put("b", 5)
		if len(c.entries) != 1 {
			t.Errorf("%d entries are kept, want the one that has not expired", len(c.entries))
		}
	})
}
