package soak

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// What a process may need more than in its baseline, in the same state of the cluster and the cloud.
const (
	moreGoroutines = 12 // two for each of six connections more; up to 7 were measured
	moreFiles      = 6
	moreHeap       = 2 << 20 // up to 1 MiB was measured, of 5 to 7 MiB
	// heapOfRound is added for each round since the baseline, up to mostHeap. Half of it was measured: client-go keeps
	// the last 4,096 events of each controller to find equal ones, and what is known of Services is kept for an hour.
	heapOfRound, mostHeap = 64 << 10, 16 << 20
)

// sample is what a process needs.
type sample struct {
	process                 string // its replica, and how often that was started
	round                   int
	leads                   bool
	goroutines, heap, files int
}

func (s sample) String() string {
	role := "other"
	if s.leads {
		role = "leader"
	}
	return fmt.Sprintf("%s (%s): %d goroutines, %d KiB, %d files", s.process, role, s.goroutines, s.heap>>10, s.files)
}

// baselines are what processes needed after their first undisturbed round, by process and role: a leader needs more
// than the other one.
type baselines map[string]sample

// growth is the error that a process needs more than after an earlier round, with which a repetition has to begin.
type growth struct {
	text  string
	since int
}

func (g growth) Error() string { return g.text }

// judge returns an error if a process needs more than in its baseline. The first sample of a process in a role is its
// baseline.
func (b baselines) judge(now sample) error {
	key := fmt.Sprintf("%s %t", now.process, now.leads)
	base, judged := b[key]
	if !judged {
		b[key] = now
		return nil
	}
	var errs []error
	for _, one := range []struct {
		name             string
		base, now, limit int
	}{
		{"goroutines", base.goroutines, now.goroutines, moreGoroutines},
		{"open files", base.files, now.files, moreFiles},
		{"bytes of heap", base.heap, now.heap, min(moreHeap+heapOfRound*(now.round-base.round), mostHeap)},
	} {
		if more := one.now - one.base; more > one.limit {
			errs = append(errs, growth{fmt.Sprintf("%s has %d more %s than the %d after round %d, at most %d may be",
				now.process, more, one.name, one.base, base.round, one.limit), base.round})
		}
	}
	return errors.Join(errs...)
}

// TestJudge: more of anything is found, in the same process and role.
func TestJudge(t *testing.T) {
	base := sample{process: "one, start 1", leads: true, round: 8, goroutines: 100, heap: 50 << 20, files: 20}
	for name, tt := range map[string]struct {
		change func(*sample)
		want   string
	}{
		"the same":        {func(*sample) {}, ""},
		"less":            {func(s *sample) { s.goroutines, s.heap, s.files = 1, 1, 1 }, ""},
		"all that may be": {func(s *sample) { s.goroutines += moreGoroutines; s.heap += moreHeap }, ""},
		"goroutines": {func(s *sample) { s.goroutines += moreGoroutines + 1 },
			"13 more goroutines than the 100 after round 8"},
		"memory":           {func(s *sample) { s.heap += moreHeap + 1 }, "more bytes of heap"},
		"all after rounds": {func(s *sample) { s.round, s.heap = s.round+2, s.heap+moreHeap+2*heapOfRound }, ""},
		"memory of rounds": {func(s *sample) { s.round, s.heap = s.round+2, s.heap+moreHeap+2*heapOfRound+1 },
			"more bytes of heap"},
		"memory after many rounds": {func(s *sample) { s.round, s.heap = s.round+1000, s.heap+mostHeap+1 },
			"more bytes of heap"},
		"files":              {func(s *sample) { s.files += moreFiles + 1 }, "7 more open files"},
		"another process":    {func(s *sample) { s.process, s.heap = "one, start 2", 1<<40 }, ""},
		"it leads no longer": {func(s *sample) { s.leads, s.heap = false, 1<<40 }, ""},
	} {
		b := baselines{}
		if err := b.judge(base); err != nil {
			t.Errorf("%s: the baseline: %v", name, err)
		}
		now := base
		tt.change(&now)
		err := b.judge(now)
		if (err != nil) != (tt.want != "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}
