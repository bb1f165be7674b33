package inventory

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestRecent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recent
		if r.within("a", time.Hour) {
			t.Error("something is known before anything was noted")
		}
		r.note("a", time.Minute)
		<-time.After(30 * time.Second)
		if !r.within("a", time.Minute) || r.within("a", 30*time.Second) || r.within("b", time.Minute) {
			t.Error("noted half a minute ago: within a minute only, and nothing else")
		}
		<-time.After(31 * time.Second)
		r.note("b", time.Minute)
		if len(r.at) != 1 {
			t.Errorf("%d keys are kept, want the one that is not too old", len(r.at))
		}
	})
}
