package object

import (
	"testing"
	"time"
)

func TestLife(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	l := Life{ReadyAt: start.Add(10 * time.Second)}
	steps := []struct {
		after      time.Duration
		want       Phase
		transition time.Duration
	}{
		{0, Creating, 0}, {9 * time.Second, Creating, 0}, {10 * time.Second, Ready, 10 * time.Second},
		{time.Hour, Ready, 10 * time.Second},
	}
	for _, step := range steps {
		now := start.Add(step.after)
		if got := l.At(now); got != step.want {
			t.Errorf("after %s: %s, want %s", step.after, got, step.want)
		}
		if got := l.Transition(start, now).Sub(start); got != step.transition {
			t.Errorf("after %s: last transition after %s, want %s", step.after, got, step.transition)
		}
	}
	l.Remove(start.Add(time.Minute), 5*time.Second, 2*time.Second)
	for second, want := range map[int]Phase{60: Deleting, 64: Deleting, 65: Deleted, 66: Deleted, 67: Gone} {
		if got := l.At(start.Add(time.Duration(second) * time.Second)); got != want {
			t.Errorf("after %d s: %s, want %s", second, got, want)
		}
	}
	if got := l.Transition(start, start.Add(66*time.Second)).Sub(start); got != 65*time.Second {
		t.Errorf("deleted after %s, want 65s", got)
	}
	if l.Active() {
		t.Error("a removed object is wanted")
	}
}

func TestRemovalBeforeReady(t *testing.T) {
	start := time.Now()
	l := Life{ReadyAt: start.Add(time.Hour)}
	l.Remove(start, 0, 0)
	if got := l.At(start); got != Gone {
		t.Errorf("phase %s, want gone at once", got)
	}
}
