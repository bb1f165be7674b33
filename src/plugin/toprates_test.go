package plugin

import (
	"testing"
	"time"
)

// TestRates: the first sample is the average since the start, the next ones that of the last minute. A process that
// starts again begins anew.
func TestRates(t *testing.T) {
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var r rates
	for _, step := range []struct {
		after              time.Duration
		calls, writes      float64
		started            time.Duration
		perMinute, writes1 float64
		window             time.Duration
	}{
		{10 * time.Minute, 100, 10, 0, 10, 1, 10 * time.Minute},
		{10*time.Minute + 30*time.Second, 101, 10, 0, 2, 0, 30 * time.Second},
		{11 * time.Minute, 104, 11, 0, 4, 1, time.Minute},
		{11*time.Minute + 30*time.Second, 106, 11, 0, 5, 1, time.Minute},
		{12 * time.Minute, 3, 0, 11*time.Minute + 30*time.Second, 6, 0, 30 * time.Second},
		{12*time.Minute + 30*time.Second, 4, 0, 11*time.Minute + 30*time.Second, 2, 0, 30 * time.Second},
	} {
		got := r.add(sample{at: began.Add(step.after), calls: step.calls, writes: step.writes,
			started: began.Add(step.started)})
		want := Calls{Window: step.window.Seconds(), PerMinute: step.perMinute, WritesPerMinute: step.writes1}
		if got == nil || *got != want {
			t.Errorf("after %s: got %+v, want %+v", step.after, got, want)
		}
	}
	if got := (&rates{}).add(sample{at: began, started: began}); got != nil {
		t.Errorf("at the start: got %+v, want nothing", got)
	}
}
