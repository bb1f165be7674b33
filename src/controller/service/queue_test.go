package service

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestQueueHandsOutTheMostUrgentFirst, and equals in the order in which they came.
func TestQueueHandsOutTheMostUrgentFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		defer q.ShutDown()
		q.add("drift", relaxed, 0)
		q.add("changed", normal, 0)
		q.add("later", urgent, time.Second)
		q.add("lost", urgent, 0)
		q.add("also drift", relaxed, 0)
		q.add("also drift", urgent, 0) // it became urgent while it waited
		q.add("lost", relaxed, 0)      // and this did not become less so
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
			t.Errorf("%d left, %v remembered", q.Len(), q.order.wanted)
		}
	})
}

// TestQueueGivesNoKeyTwice at a time: what is added while somebody works on it comes afterwards, as urgent as it has become.
func TestQueueGivesNoKeyTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		defer q.ShutDown()
		q.add("web", relaxed, 0)
		first, _ := q.Get()
		q.add("other", normal, 0)
		q.add("web", urgent, 0)
		if q.Len() != 1 {
			t.Errorf("%d in the queue while one is worked on, want the other", q.Len())
		}
		q.Done(first)
		if next, _ := q.Get(); next != "web" {
			t.Errorf("next is %s, want web", next)
		}
	})
}
