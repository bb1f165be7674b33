package object

import (
	"iter"
	"time"
)

// Phase is a step in the life of an object that takes time to come and go.
type Phase int

// The phases, in their order.
const (
	Creating Phase = iota
	Ready
	Deleting
	Deleted
	Gone
)

// String is the phase in the API's words.
func (p Phase) String() string {
	switch p {
	case Creating:
		return "creating"
	case Ready:
		return StatusReady
	case Deleting:
		return "deleting"
	default:
		return "deleted"
	}
}

// Life derives an object's phase from the clock, so that no goroutine has to
// move it on and virtual time works.
type Life struct {
	ReadyAt time.Time
	// removedAt is when DELETE was accepted; zero if the object was not deleted.
	removedAt     time.Time
	deletingTakes time.Duration
	lingers       time.Duration
}

// At is the phase at some time.
func (l *Life) At(now time.Time) Phase {
	switch {
	case l.removedAt.IsZero() && now.Before(l.ReadyAt):
		return Creating
	case l.removedAt.IsZero():
		return Ready
	case now.Before(l.DeletedAt()):
		return Deleting
	case now.Before(l.GoneAt()):
		return Deleted
	}
	return Gone
}

// Remove starts the deletion of the object.
func (l *Life) Remove(now time.Time, takes, lingers time.Duration) {
	l.removedAt, l.deletingTakes, l.lingers = now, takes, lingers
}

// Removal returns what Remove was called with.
func (l *Life) Removal() (at time.Time, takes, lingers time.Duration) {
	return l.removedAt, l.deletingTakes, l.lingers
}

// Active returns whether the object was not deleted.
func (l *Life) Active() bool { return l.removedAt.IsZero() }

// DeletedAt is when the deletion of the object ends.
func (l *Life) DeletedAt() time.Time { return l.removedAt.Add(l.deletingTakes) }

// GoneAt is when a deleted object is no longer listed.
func (l *Life) GoneAt() time.Time { return l.DeletedAt().Add(l.lingers) }

// Present are those objects of a collection that are not only still listed as deleted.
func Present[T Keyed](all *Collection[T], now time.Time) iter.Seq[T] {
	return func(yield func(T) bool) {
		for item := range all.All() {
			living, takesTime := any(item).(interface {
				Active() bool
				At(now time.Time) Phase
			})
			if takesTime && !living.Active() && living.At(now) >= Deleted {
				continue
			}
			if !yield(item) {
				return
			}
		}
	}
}

// Count is the number of objects that are present.
func Count[T Keyed](all *Collection[T], now time.Time) (n int) {
	for range Present(all, now) {
		n++
	}
	return n
}

// Transition is when the object entered its phase.
func (l *Life) Transition(created, now time.Time) time.Time {
	switch l.At(now) {
	case Creating:
		return created
	case Ready:
		return l.ReadyAt
	case Deleting:
		return l.removedAt
	default:
		return l.DeletedAt()
	}
}
