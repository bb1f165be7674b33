package priorityqueue

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestQueueHandsOutTheMostUrgentFirst, and equals in the order in which they came.
func TestQueueHandsOutTheMostUrgentFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New("test", time.Second, time.Minute)
		defer q.ShutDown()
		q.Enqueue("drift", Relaxed, 0)
		q.Enqueue("changed", Normal, 0)
		q.Enqueue("later", Urgent, time.Second)
		q.Enqueue("lost", Urgent, 0)
		q.Enqueue("also drift", Relaxed, 0)
		q.Enqueue("also drift", Urgent, 0) // it became urgent while it waited
		q.Enqueue("lost", Relaxed, 0)      // and this did not become less so
		q.Add("plain")
		var order []string
		for range 6 {
			key, _ := q.Get()
			q.Done(key)
			order = append(order, key)
			if len(order) == 5 {
				<-time.After(2 * time.Second)
				synctest.Wait()
			}
		}
		if got, want := strings.Join(order, ", "), "lost, also drift, changed, plain, drift, later"; got != want {
			t.Errorf("order: %s; want %s", got, want)
		}
		if q.Len() != 0 || len(q.order.wanted) != 0 {
			t.Errorf("%d left, %v kept", q.Len(), q.order.wanted)
		}
	})
}

// TestQueueGivesNoKeyTwice at a time: what is added while somebody works on it comes afterwards, as urgent as it has
// become.
func TestQueueGivesNoKeyTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New("test", time.Second, time.Minute)
		defer q.ShutDown()
		q.Enqueue("web", Relaxed, 0)
		first, _ := q.Get()
		q.Enqueue("other", Normal, 0)
		q.Enqueue("web", Urgent, 0)
		if q.Len() != 1 {
			t.Errorf("%d in the queue while one is worked on, want the other", q.Len())
		}
		q.Done(first)
		if next, _ := q.Get(); next != "web" {
			t.Errorf("next is %s, want web", next)
		}
	})
}

// TestRetryKeepsThePriority: what failed comes again as urgent as it was, after a pause that grows, or a longer one.
func TestRetryKeepsThePriority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New("test", time.Second, time.Minute)
		defer q.ShutDown()
		for _, pause := range []time.Duration{time.Second, 10 * time.Second} {
			q.Enqueue("lost", Urgent, 0)
			key, _ := q.Get()
			q.Retry(key, pause/time.Second/10*10*time.Second)
			q.Done(key)
			<-time.After(pause - time.Millisecond)
			if synctest.Wait(); q.Len() != 0 {
				t.Errorf("it came again before %s", pause)
			}
			q.Enqueue("changed", Normal, 0)
			<-time.After(2 * time.Millisecond)
			synctest.Wait()
			if next, _ := q.Get(); next != "lost" {
				t.Errorf("after %s came %s first", pause, next)
			}
			q.Done("lost")
			other, _ := q.Get()
			q.Done(other)
		}
	})
}

// TestFailuresDuringAPause: what changes and fails during a pause does not make the next one longer.
func TestFailuresDuringAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New("test", time.Second, time.Hour)
		defer q.ShutDown()
		fail := func() {
			key, _ := q.Get()
			q.Retry(key, 0)
			q.Done(key)
		}
		for _, pause := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
			q.Enqueue("web", Normal, 0)
			fail()
			for range 10 {
				q.Enqueue("web", Normal, 0)
				fail()
			}
			<-time.After(pause - time.Millisecond)
			if synctest.Wait(); q.Len() != 0 {
				t.Errorf("it came again before %s", pause)
			}
			<-time.After(time.Millisecond)
			if synctest.Wait(); q.Len() != 1 {
				t.Errorf("it did not come again after %s", pause)
			}
		}
		q.Get()
		q.Forget("web")
		q.Done("web")
		if len(q.order.pauses) > 0 {
			t.Errorf("pauses of what has succeeded are kept: %v", q.order.pauses)
		}
	})
}

// TestFailuresDuringALongPause: a pause is as long as its minimum, and what fails during it does not make the next one
// longer.
func TestFailuresDuringALongPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New("test", time.Second, time.Hour)
		defer q.ShutDown()
		fail := func(minimum time.Duration) {
			q.Enqueue("web", Normal, 0)
			key, _ := q.Get()
			q.Retry(key, minimum)
			q.Done(key)
		}
		fail(time.Minute)
		for range 10 {
			<-time.After(5 * time.Second)
			fail(0)
		}
		<-time.After(9 * time.Second)
		if synctest.Wait(); q.Len() != 0 {
			t.Error("it came again before the minimum")
		}
		<-time.After(time.Second)
		if synctest.Wait(); q.Len() != 1 {
			t.Error("it did not come again after the minimum")
		}
		fail(0)
		<-time.After(2 * time.Second)
		if synctest.Wait(); q.Len() != 1 {
			t.Error("the second pause is longer than two seconds")
		}
	})
}

// TestNothingStarves: while urgent keys come all the time, the others get a turn.
func TestNothingStarves(t *testing.T) {
	q := New("test", time.Second, time.Minute)
	defer q.ShutDown()
	for _, key := range []string{"changed", "b", "c"} {
		q.Enqueue(key, Normal, 0)
	}
	q.Enqueue("resync", Relaxed, 0)
	seen := map[string]int{}
	for turn := 1; turn <= turnOfRelaxed; turn++ {
		q.Enqueue(string(rune('A'+turn)), Urgent, 0)
		key, _ := q.Get()
		q.Done(key)
		seen[key] = turn
	}
	if seen["changed"] != turnOfNormal || seen["resync"] != turnOfRelaxed {
		t.Errorf("turns: %d and %d, want %d and %d", seen["changed"], seen["resync"], turnOfNormal, turnOfRelaxed)
	}
}

// TestRetryNow: the pauses of what failed end, and only those.
func TestRetryNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New("test", time.Minute, time.Hour)
		defer q.ShutDown()
		for _, key := range []string{"failed", "waiting", "succeeded"} {
			q.Enqueue(key, Urgent, 0)
			q.Get()
		}
		q.Retry("failed", 0)
		q.Again("waiting", time.Minute)
		for _, key := range []string{"failed", "waiting", "succeeded"} {
			q.Done(key)
		}
		q.RetryNow()
		q.Enqueue("changed", Normal, 0)
		if first, _ := q.Get(); first != "failed" || q.Len() != 1 {
			t.Errorf("%q comes first, want what failed, with its priority; %d others", first, q.Len())
		}
		q.Done("failed")
		q.RetryNow() // it did not fail again
		if q.Len() != 1 {
			t.Errorf("%d in the queue, want only what changed", q.Len())
		}
	})
}
