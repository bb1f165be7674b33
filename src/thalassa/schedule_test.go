package thalassa

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// TestLooksBecomeRarer, up to the longest interval, and at each moment it is known how old a list may be.
func TestLooksBecomeRarer(t *testing.T) {
	var before, at time.Duration
	for at < 10*time.Minute {
		maxAge, next := lookAfter(at)
		switch {
		case next < min(before, longestInterval) || next > longestInterval || next < firstLook:
			t.Fatalf("after %s, the next look follows in %s, and this one %s after the one before", at, next, before)
		case at > 0 && maxAge != before/2:
			t.Fatalf("after %s, a list may be %s old, want %s", at, maxAge, before/2)
		}
		half := next / 2
		if age, left := lookAfter(at + half); age != maxAge+half || left != next-half {
			t.Fatalf("%s after the look, a list may be %s old, and the next look follows in %s", half, age, left)
		}
		before, at = next, at+next
	}
	if before != longestInterval {
		t.Errorf("in the end, %s are between two looks", before)
	}
}

// TestLooksBeginAgain with a creation or deletion, but not with each of many.
func TestLooksBeginAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &schedule{}
		next := func() time.Duration {
			_, next := s.look()
			return next
		}
		<-time.After(time.Hour)
		if got := next(); got != firstLook {
			t.Errorf("of what a process finds: %s", got)
		}
		<-time.After(time.Hour)
		s.begin()
		if got := next(); got != firstLook {
			t.Errorf("after a creation: %s", got)
		}
		<-time.After(longestInterval - time.Second)
		long := next()
		if s.begin(); next() != long {
			t.Errorf("after the next creation of the batch: %s, want %s", next(), long)
		}
		fixed := &schedule{interval: 7 * time.Second}
		fixed.begin()
		if maxAge, next := fixed.look(); next != 7*time.Second || maxAge != next/2 {
			t.Errorf("as configured: %s, and lists of %s", next, maxAge)
		}
	})
}

// batchSize and batchDelay are those of the budgets of a batch.
const (
	batchSize  = 20
	batchDelay = 5 * time.Second
)

// TestBudgetOfABatch: Services that are made or deleted at once share their lists, and none waits long for one.
func TestBudgetOfABatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		delays := emulator.Delays{LoadbalancerCreate: batchDelay, LoadbalancerDelete: batchDelay}
		small := newPopulatedCluster(newLab(t, emulator.Config{Delays: delays}), 10)
		defer small.run(manyWorkers)()
		<-time.After(time.Minute)
		small.forget()
		small.order(batchSize, 2)
		small.batch("create", small.lateness("POST /v1/loadbalancers", small.addressless))
		<-time.After(time.Minute) // nothing that was read is new
		small.forget()
		small.deleteAll()
		small.batch("delete", small.lateness("DELETE /v1/loadbalancers/{id}", small.protected))
	})
}

// batch checks what a batch has cost.
func (t *servicesCluster) batch(work string, late []time.Duration) {
	t.Helper()
	calls, writes := t.counted()
	t.Logf("%s: late by %v; calls %v", work, late, t.emulator.Counters())
	t.within("batch-"+work+"-seconds", late[len(late)/2].Seconds())
	t.within("batch-"+work+"-lists", float64(calls-writes))
}

// lateness returns how long after the cloud has ended what each write began the number of Services that wait becomes
// smaller, sorted.
func (t *servicesCluster) lateness(write string, waiting func() int) (late []time.Duration) {
	t.Helper()
	const step, most = 10 * time.Millisecond, 2 * time.Minute
	var ended []time.Time
	for began := time.Now(); len(ended) < batchSize && time.Since(began) < most; {
		<-time.After(step)
		for batchSize-waiting() > len(ended) {
			ended = append(ended, time.Now())
		}
	}
	var done []time.Time
	for _, one := range t.emulator.Writes() {
		if one.Operation == write {
			done = append(done, one.Time.Add(batchDelay))
		}
	}
	if len(done) != batchSize || len(ended) != batchSize {
		t.Fatalf("%d writes %s, and %d Services ended: %v", len(done), write, len(ended), t.reported.seen())
	}
	for i, end := range ended {
		late = append(late, end.Sub(done[i]))
	}
	slices.Sort(late)
	return late
}
