package state

import (
	"testing"
	"time"
)

// A history must not grow beyond what somebody may ask for.
func TestHistoryForgets(t *testing.T) {
	start := time.Now()
	second := func(n int) time.Time { return start.Add(time.Duration(n) * time.Second) }
	var h history
	for n := range 20 {
		// Two changes at the same time: the later one counts.
		h = h.With(Snapshot{second(n), &Store{}}, second(n-5))
		h = h.With(Snapshot{second(n), &Store{changed: map[string]*Organisation{"last": nil}}}, second(n-5))
	}
	if len(h) != 6 {
		t.Errorf("%d states are kept, want those of 5 seconds and the newest", len(h))
	}
	for n, want := range map[int]int{25: 25, 19: 19, 16: 16, 3: 14} {
		found, when := h.At(second(n))
		if !when.Equal(second(want)) || found.Since.After(when) || len(found.State.changed) == 0 {
			t.Errorf("at %ds: a state since %s for %s, want one for %ds", n, found.Since.Sub(start), when.Sub(start),
				want)
		}
	}
}
