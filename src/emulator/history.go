package emulator

import (
	"slices"
	"strings"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
)

// history is the store as it was, oldest first: a copy for every change, as long
// as stale answers are wanted. It begins when the first rule for them is added,
// or with the emulator when label filters lag.
type history []snapshot

// snapshot is the state of the store since some time.
type snapshot struct {
	since time.Time
	state *store
}

// remember records the state of the store, which is locked, after a change.
func (e *Emulator) remember(now time.Time) {
	reach := max(e.faults.Longest(fault.Stale), e.delays.LabelFilters)
	if reach == 0 {
		e.store.past = nil
		return
	}
	e.store.past = e.store.past.with(snapshot{now, e.store.copy()}, now.Add(-reach))
}

// with is the history with its newest state and without what nobody asks for
// any more: states that others replaced before the oldest time of interest, or
// at once. The first state stays as long as times before it are of interest.
func (h history) with(newest snapshot, oldest time.Time) history {
	var next history
	for i, past := range h {
		end := newest.since
		if i+1 < len(h) {
			end = h[i+1].since
		}
		if end.After(oldest) && (i == 0 || end.After(past.since)) {
			next = append(next, past)
		}
	}
	return append(next, newest)
}

// at is the state at some time, or the oldest known, and the time it is for.
func (h history) at(when time.Time) (snapshot, time.Time) {
	for _, past := range slices.Backward(h) {
		if !past.since.After(when) {
			return past, when
		}
	}
	return h[0], h[0].since
}

// lag is how far behind a call's answer is: an injected fault says so, or the
// call is for a list with a label filter and those are late. What is listed
// inside an object, such as its listeners, is not searched, and is up to date.
func (rt route) lag(c *call, met fault.Effect) time.Duration {
	var by time.Duration
	if met.Kind == fault.Stale {
		by = met.Delay
	}
	if len(c.filter.labels) > 0 && !writes(c.Request) && !strings.Contains(rt.operation, "{") {
		by = max(by, rt.emulator.delays.LabelFilters)
	}
	return by
}

// goBack makes a read see the cloud as it was.
func (e *Emulator) goBack(c *call, by time.Duration) {
	if len(e.store.past) == 0 || c.org == nil {
		return
	}
	then, when := e.store.past.at(c.now.Add(-by))
	if org, found := then.state.organisations.exact(c.org.Identity); found {
		c.org, c.now = org, when
	}
}

// deferred is a deletion that was answered and waits to take effect.
type deferred struct {
	at  time.Time
	run func()
}

// deleteLater answers a deletion as if it had happened, and lets it happen later.
// Whether it is possible is tried on a copy; when it no longer is by then, it
// silently fails, as in a cloud that works through a queue.
func (e *Emulator) deleteLater(c *call, remove handler, lag time.Duration) (reply, error) {
	rehearsal := *c
	if c.org != nil {
		rehearsal.org, _ = e.store.copy().organisations.exact(c.org.Identity)
	}
	answer, err := e.handle(&rehearsal, remove)
	if err != nil {
		return reply{}, err
	}
	due, home := c.now.Add(lag), c.org
	e.store.wait(deferred{due, func() {
		c.now, c.org, c.machines = due, home, nil
		if _, err := e.handle(c, remove); err != nil {
			e.log.Info("a late deletion failed", "path", c.URL.Path, "error", err)
		}
	}})
	return answer, nil
}

// wait queues a deletion behind those that are due earlier or at the same time.
func (s *store) wait(d deferred) {
	i := len(s.deferred)
	for i > 0 && s.deferred[i-1].at.After(d.at) {
		i--
	}
	s.deferred = append(s.deferred[:i:i], append([]deferred{d}, s.deferred[i:]...)...)
}

// settle lets happen what was due by now, one moment after the other: late
// deletions, and the end of objects on their way out. The store is locked.
func (e *Emulator) settle(now time.Time) {
	s := e.store
	for {
		at, found := s.nextDue(now)
		if !found {
			return
		}
		for len(s.deferred) > 0 && !s.deferred[0].at.After(at) {
			next := s.deferred[0]
			s.deferred = s.deferred[1:]
			next.run()
		}
		for org := range s.spaces() {
			org.sweep(at)
		}
		e.remember(at)
	}
}

// nextDue is when something happens next by itself, not later than now.
func (s *store) nextDue(now time.Time) (at time.Time, found bool) {
	at = now
	consider := func(when time.Time) {
		if !when.After(at) {
			at, found = when, true
		}
	}
	for _, d := range s.deferred[:min(1, len(s.deferred))] {
		consider(d.at)
	}
	for org := range s.spaces() {
		for _, l := range org.leaving {
			consider(l.life.goneAt())
		}
	}
	return at, found
}

// nextDeferred is when the next late deletion takes effect.
func (s *store) nextDeferred() (at time.Time, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.deferred) == 0 {
		return time.Time{}, false
	}
	return s.deferred[0].at, true
}
