package state

import (
	"slices"
	"time"
)

// history is the store as it was, oldest first: a copy for every change, as long
// as stale answers are wanted. It begins when the first rule for them is added,
// or with the emulator when label filters lag.
type history []Snapshot

// Snapshot is the state of the store since some time.
type Snapshot struct {
	Since time.Time
	State *Store
}

// With is the history with its newest state and without what no request needs
// any more: states that others replaced before the oldest time of interest, or
// at once. The first state stays as long as times before it are of interest.
func (h history) With(newest Snapshot, oldest time.Time) history {
	var next history
	for i, past := range h {
		end := newest.Since
		if i+1 < len(h) {
			end = h[i+1].Since
		}
		if end.After(oldest) && (i == 0 || end.After(past.Since)) {
			next = append(next, past)
		}
	}
	return append(next, newest)
}

// At is the state at some time, or the oldest known, and the time it is for.
func (h history) At(when time.Time) (Snapshot, time.Time) {
	for _, past := range slices.Backward(h) {
		if !past.Since.After(when) {
			return past, when
		}
	}
	return h[0], h[0].Since
}

// Deferred is a deletion that was answered and waits to take effect.
type Deferred struct {
	At  time.Time
	Run func()
}

// Wait queues a deletion behind those that are due earlier or at the same time.
func (s *Store) Wait(d Deferred) {
	i := len(s.Deferred)
	for i > 0 && s.Deferred[i-1].At.After(d.At) {
		i--
	}
	s.Deferred = append(s.Deferred[:i:i], append([]Deferred{d}, s.Deferred[i:]...)...)
}

// NextDue is when something happens next by itself, not later than now.
func (s *Store) NextDue(now time.Time) (at time.Time, found bool) {
	at = now
	consider := func(when time.Time) {
		if !when.After(at) {
			at, found = when, true
		}
	}
	for _, d := range s.Deferred[:min(1, len(s.Deferred))] {
		consider(d.At)
	}
	for org := range s.Spaces() {
		for _, l := range org.leaving {
			consider(l.next())
		}
		for p := range org.SnapshotPolicies.All() {
			if due, scheduled := p.Due(); scheduled {
				consider(due)
			}
		}
	}
	return at, found
}

// NextDeferred is when the next late deletion takes effect.
func (s *Store) NextDeferred() (at time.Time, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.Deferred) == 0 {
		return time.Time{}, false
	}
	return s.Deferred[0].At, true
}

// responseCache are the nested descriptions of objects (a VPC inside each of its
// machines), made once per answer: views share them, and the encoder copies what
// it has written before. They live while one reading request holds the store, so
// that they cannot outlive a change. What is shared must not be modified.
type responseCache map[any]any

// ShareViews makes descriptions shared until the returned function is called. Only a
// request that changes nothing may do so.
func (s *Store) ShareViews() (stop func()) {
	s.views = responseCache{}
	return func() { s.views = nil }
}

// cached finds the shared description of an object.
func cached[T any](s *Store, of any) (view *T, found bool) {
	if s.views == nil {
		return nil, false
	}
	view, found = s.views[of].(*T)
	return view, found
}

// cache shares the description of an object.
func cache[T any](s *Store, of any, view *T) *T {
	if s.views != nil {
		s.views[of] = view
	}
	return view
}
