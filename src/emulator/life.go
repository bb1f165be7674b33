package emulator

import "time"

// phase is a step in the life of an object that takes time to come and go.
type phase int

const (
	creating phase = iota
	ready
	deleting
	deleted
	gone
)

// String is the phase in the API's words.
func (p phase) String() string {
	switch p {
	case creating:
		return "creating"
	case ready:
		return statusReady
	case deleting:
		return "deleting"
	default:
		return "deleted"
	}
}

// life derives an object's phase from the clock, so that no goroutine has to
// move it on and virtual time works.
type life struct {
	readyAt time.Time
	// removedAt is when DELETE was accepted; zero while the object is wanted.
	removedAt     time.Time
	deletingTakes time.Duration
	lingers       time.Duration
}

func (l *life) at(now time.Time) phase {
	switch {
	case l.removedAt.IsZero() && now.Before(l.readyAt):
		return creating
	case l.removedAt.IsZero():
		return ready
	case now.Before(l.removedAt.Add(l.deletingTakes)):
		return deleting
	case now.Before(l.goneAt()):
		return deleted
	}
	return gone
}

func (l *life) remove(now time.Time, takes, lingers time.Duration) {
	l.removedAt, l.deletingTakes, l.lingers = now, takes, lingers
}

func (l *life) wanted() bool { return l.removedAt.IsZero() }

func (l *life) goneAt() time.Time {
	return l.removedAt.Add(l.deletingTakes + l.lingers)
}

// transition is when the object entered its phase.
func (l *life) transition(created, now time.Time) time.Time {
	switch l.at(now) {
	case creating:
		return created
	case ready:
		return l.readyAt
	case deleting:
		return l.removedAt
	default:
		return l.removedAt.Add(l.deletingTakes)
	}
}
