package emulator

import (
	"testing"
	"time"
)

func TestLife(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	l := life{readyAt: start.Add(10 * time.Second)}
	steps := []struct {
		after      time.Duration
		want       phase
		transition time.Duration
	}{
		{0, creating, 0}, {9 * time.Second, creating, 0}, {10 * time.Second, ready, 10 * time.Second}, {time.Hour, ready, 10 * time.Second},
	}
	for _, step := range steps {
		now := start.Add(step.after)
		if got := l.at(now); got != step.want {
			t.Errorf("after %s: %s, want %s", step.after, got, step.want)
		}
		if got := l.transition(start, now).Sub(start); got != step.transition {
			t.Errorf("after %s: last transition after %s, want %s", step.after, got, step.transition)
		}
	}
	l.remove(start.Add(time.Minute), 5*time.Second, 2*time.Second)
	for second, want := range map[int]phase{60: deleting, 64: deleting, 65: deleted, 66: deleted, 67: gone} {
		if got := l.at(start.Add(time.Duration(second) * time.Second)); got != want {
			t.Errorf("after %d s: %s, want %s", second, got, want)
		}
	}
	if got := l.transition(start, start.Add(66*time.Second)).Sub(start); got != 65*time.Second {
		t.Errorf("deleted after %s, want 65s", got)
	}
	if l.wanted() {
		t.Error("a removed object is wanted")
	}
}

func TestRemovalBeforeReady(t *testing.T) {
	start := time.Now()
	l := life{readyAt: start.Add(time.Hour)}
	l.remove(start, 0, 0)
	if got := l.at(start); got != gone {
		t.Errorf("phase %s, want gone at once", got)
	}
}
