//go:build linux

package netns

import "sync"

// eventQueue calls a function with one event after another. Its callers do not wait for that.
type eventQueue struct {
	call func(Event)
	done chan struct{}

	mu      sync.Mutex
	arrived *sync.Cond
	queue   []Event
	ended   bool
}

// newEventQueue starts a goroutine that calls the function, which may be nil.
func newEventQueue(call func(Event)) *eventQueue {
	q := &eventQueue{call: call, done: make(chan struct{})}
	q.arrived = sync.NewCond(&q.mu)
	go q.work()
	return q
}

func (q *eventQueue) add(e Event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.queue = append(q.queue, e)
	q.arrived.Signal()
}

// end returns after the call for the last event.
func (q *eventQueue) end() {
	q.mu.Lock()
	q.ended = true
	q.arrived.Signal()
	q.mu.Unlock()
	<-q.done
}

func (q *eventQueue) work() {
	defer close(q.done)
	for {
		e, more := q.next()
		if !more {
			return
		}
		if q.call != nil {
			q.call(e)
		}
	}
}

func (q *eventQueue) next() (e Event, more bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.queue) == 0 && !q.ended {
		q.arrived.Wait()
	}
	if len(q.queue) == 0 {
		return Event{}, false
	}
	e, q.queue = q.queue[0], q.queue[1:]
	return e, true
}
