//go:build linux

package netns

import "sync"

// news hands events on, one after another, without making anybody wait.
type news struct {
	tell func(Event)
	done chan struct{}

	mu      sync.Mutex
	arrived *sync.Cond
	queue   []Event
	ended   bool
}

// spread begins to hand events on.
func spread(tell func(Event)) *news {
	n := &news{tell: tell, done: make(chan struct{})}
	n.arrived = sync.NewCond(&n.mu)
	go n.work()
	return n
}

func (n *news) add(e Event) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.queue = append(n.queue, e)
	n.arrived.Signal()
}

// end returns when everything has been handed on.
func (n *news) end() {
	n.mu.Lock()
	n.ended = true
	n.arrived.Signal()
	n.mu.Unlock()
	<-n.done
}

func (n *news) work() {
	defer close(n.done)
	for {
		e, more := n.next()
		if !more {
			return
		}
		if n.tell != nil {
			n.tell(e)
		}
	}
}

func (n *news) next() (e Event, more bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for len(n.queue) == 0 && !n.ended {
		n.arrived.Wait()
	}
	if len(n.queue) == 0 {
		return Event{}, false
	}
	e, n.queue = n.queue[0], n.queue[1:]
	return e, true
}
