package load

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Attempt is a new connection with its echo, or a stream that could not be opened.
type Attempt struct {
	Began, Ended time.Time
	// Target is who answered; empty when it failed before an answer.
	Target string
	// Err is why it failed; nil when it did not.
	Err error
}

// Stream is a connection that stays open.
type Stream struct {
	// Target is who is at the other end.
	Target string
	Began  time.Time
	// Ended is when it broke, and Err why. A stream that is open, or that Stop closed, has neither.
	Ended time.Time
	Err   error
	// Echoes counts the bytes that came back.
	Echoes int
}

// Alive says that the stream has not broken.
func (s Stream) Alive() bool { return s.Err == nil }

// Report is what became of connections: the attempts in the order in which they ended, the streams in that in which
// they began.
type Report struct {
	Attempts []Attempt
	Streams  []Stream
}

// Since is the part of the report about attempts that began, and streams that were open, at or after a time.
func (r Report) Since(begin time.Time) Report {
	return Report{
		Attempts: slices.DeleteFunc(slices.Clone(r.Attempts), func(a Attempt) bool { return a.Began.Before(begin) }),
		Streams: slices.DeleteFunc(slices.Clone(r.Streams), func(s Stream) bool {
			return !s.Alive() && s.Ended.Before(begin)
		}),
	}
}

// Failures are the attempts that failed, in the order in which they ended.
func (r Report) Failures() []Attempt {
	return slices.DeleteFunc(slices.Clone(r.Attempts), func(a Attempt) bool { return a.Err == nil })
}

// Targets counts the attempts that succeeded, by who answered.
func (r Report) Targets() map[string]int {
	counts := map[string]int{}
	for _, a := range r.Attempts {
		if a.Err == nil {
			counts[a.Target]++
		}
	}
	return counts
}

// Pace is how many attempts began in a second, from the first to the last.
func (r Report) Pace() float64 {
	if len(r.Attempts) < 2 {
		return 0
	}
	order := func(a, b Attempt) int { return a.Began.Compare(b.Began) }
	first, last := slices.MinFunc(r.Attempts, order), slices.MaxFunc(r.Attempts, order)
	return float64(len(r.Attempts)-1) / last.Began.Sub(first.Began).Seconds()
}

// maxListed is how many failures a report's text names.
const maxListed = 5

// String is the report for people: the numbers, and the first failures with their times.
func (r Report) String() string {
	var text strings.Builder
	failures := r.Failures()
	broken := slices.DeleteFunc(slices.Clone(r.Streams), Stream.Alive)
	fmt.Fprintf(&text, "%d connections, %.0f a second, %d failed; %d streams, %d broke; by target %v",
		len(r.Attempts), r.Pace(), len(failures), len(r.Streams), len(broken), r.Targets())
	for _, a := range failures[:min(len(failures), maxListed)] {
		fmt.Fprintf(&text, "\n%s", a)
	}
	for _, s := range broken[:min(len(broken), maxListed)] {
		fmt.Fprintf(&text, "\n%s", s)
	}
	return text.String()
}

// clock is the format of times: those of one test differ in nothing else.
const clock = "15:04:05.000"

// String says when the connection was open, to whom, and why it failed.
func (a Attempt) String() string {
	result := "succeeded"
	if a.Err != nil {
		result = a.Err.Error()
	}
	return fmt.Sprintf("%s to %s, target %q: %s", a.Began.Format(clock), a.Ended.Format(clock), a.Target, result)
}

// String says what became of the stream.
func (s Stream) String() string {
	if s.Alive() {
		return fmt.Sprintf("stream to %q from %s, %d echoes, alive", s.Target, s.Began.Format(clock), s.Echoes)
	}
	return fmt.Sprintf("stream to %q from %s, %d echoes, broke at %s: %v", s.Target, s.Began.Format(clock),
		s.Echoes, s.Ended.Format(clock), s.Err)
}
