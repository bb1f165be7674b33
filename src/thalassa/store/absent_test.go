package store

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestLookup: that something is not there takes a list of its own, unless that is known; what was found in between is
// no longer known to be missing.
func TestLookup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{}
		k := s.kind()
		look := func(reference string, maxAge time.Duration, found bool, lists int) {
			t.Helper()
			before := s.lists
			_, got, err := k.LookUpOne(t.Context(), "object", reference, []string{reference, "key/" + reference},
				maxAge)
			if err != nil || got != found || s.lists-before != lists {
				t.Errorf("%q: found %v, error %v, %d lists; want %v and %d", reference, got, err, s.lists-before, found,
					lists)
			}
		}
		look("1", time.Hour, false, 1)
		look("1", time.Hour, false, 0)
		look("1", Fresh, false, 1)
		<-time.After(time.Minute)
		s.set(object{"1", "a", "x"}, object{"2", "", "y"})
		look("1", time.Second, true, 1)
		look("a", time.Hour, true, 0)
		look("", time.Hour, false, 0) // although there is an object without a key
		look("key/a", time.Hour, false, 0)
		s.set()
		<-time.After(time.Minute)
		if err := k.Refresh(t.Context(), Fresh); err != nil { // for somebody else
			t.Fatal(err)
		}
		look("1", time.Hour, false, 1) // it was there in between
		look("1", time.Hour, false, 0)
		<-time.After(2 * time.Minute)
		look("1", time.Minute, false, 1) // and none has shown it since
	})
}
