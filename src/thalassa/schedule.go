package thalassa

import (
	"sync"
	"time"
)

const (
	// firstLook is how soon after a creation or deletion the lists are read.
	firstLook = time.Second
	// longestInterval is the longest time between two looks.
	longestInterval = 5 * time.Second
	// growth: the interval between two looks is longer than firstLook by this part of the time since the beginning.
	growth = 5
	// settled is a time after which the intervals do not grow any more.
	settled = time.Minute
)

// schedule determines when the lists are read while the cloud creates or deletes load balancers. All Services have the
// same times, so that one list answers for all of them, however many there are.
type schedule struct {
	interval time.Duration // between two looks of a Service, as configured; 0: the intervals grow

	mu    sync.Mutex
	began time.Time // when the creations and deletions began that the present intervals are for
}

// begin is called after a creation or deletion of a load balancer. It makes the intervals short again, unless they are
// still short because of another one.
func (s *schedule) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.began) >= longestInterval {
		s.began = time.Now()
	}
}

// look returns how old a list may be now, and the time until the next look.
func (s *schedule) look() (maxAge, next time.Duration) {
	if s.interval > 0 {
		return s.interval / 2, s.interval
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.began.IsZero() { // the process before created or deleted it, or somebody else did
		s.began = time.Now()
	}
	return lookAfter(time.Since(s.began))
}

// lookAfter is look, some time after the beginning. A list may be half an interval older than the look: the lists of a
// slow cloud are shared, too.
func lookAfter(since time.Duration) (maxAge, next time.Duration) {
	if since > settled {
		since = settled + (since-settled)%longestInterval
	}
	look, before, interval := time.Duration(0), longestInterval, firstLook
	for look+interval <= since {
		look, before = look+interval, interval
		interval = min(firstLook+look/growth, longestInterval)
	}
	return since - look + before/2, look + interval - since
}
