// Package event passes what happens in the emulator to those who watch it. While nobody watches, an event costs one
// read of a variable.
package event

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
)

// buffered is how many events wait for one watcher. Those beyond are dropped, and counted.
const buffered = 1000

// Call is a request to the API that ended. It never holds a body, a header or a token.
type Call struct {
	Time   time.Time `json:"time"`
	Method string    `json:"method"`
	// Path is the request's path, without its query.
	Path string `json:"path"`
	// Operation is a method and a path pattern, e.g. "PUT /v1/loadbalancers/{id}".
	Operation string `json:"operation"`
	// Subject is who sent the request, as in the log of writes.
	Subject string `json:"subject,omitempty"`
	// Status is what the client got; 0 if its connection was dropped.
	Status  int     `json:"status"`
	Seconds float64 `json:"seconds"`
	// Fault is the kind of fault that the request met, if any.
	Fault fault.Kind `json:"fault,omitempty"`
}

// Event is a call or, without one, a change.
type Event struct {
	Call *Call
	// Revision is how many changes there were.
	Revision uint64
}

// Hub passes events to its watchers. Its zero value is ready to use.
type Hub struct {
	revision, watched atomic.Int64

	mu       sync.Mutex
	watchers map[*watcher]bool
	// ended is closed by Close.
	ended  chan struct{}
	closed bool
}

// watcher is one who watches.
type watcher struct {
	events  chan Event
	dropped atomic.Int64
	ended   <-chan struct{}
}

// Revision is how many changes there were.
func (h *Hub) Revision() uint64 { return uint64(h.revision.Load()) }

// Changed says that the cloud has changed, or may have.
func (h *Hub) Changed() {
	h.publish(Event{Revision: uint64(h.revision.Add(1))})
}

type key struct{} // of the *Call that is being answered

// Begin adds a description of the call to its context if somebody watches; else the call is nil.
func (h *Hub) Begin(ctx context.Context) (context.Context, *Call) {
	if h.watched.Load() == 0 {
		return ctx, nil
	}
	call := &Call{Time: time.Now()}
	return context.WithValue(ctx, key{}, call), call
}

// Of is the description of the call that a context belongs to. Without a watcher, it is one that nobody reads.
func Of(ctx context.Context) *Call {
	if call, found := ctx.Value(key{}).(*Call); found {
		return call
	}
	return &Call{}
}

// End passes a call that ended; nil is ignored.
func (h *Hub) End(call *Call) {
	if call == nil {
		return
	}
	call.Seconds = time.Since(call.Time).Seconds()
	h.publish(Event{Call: call})
}

// publish never waits for a watcher.
func (h *Hub) publish(e Event) {
	if h.watched.Load() == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.watchers {
		select {
		case w.events <- e:
		default:
			w.dropped.Add(1)
		}
	}
}

// watch adds a watcher until stop is called.
func (h *Hub) watch() (w *watcher, stop func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.prepare()
	w = &watcher{events: make(chan Event, buffered), ended: h.ended}
	h.watchers[w] = true
	h.watched.Add(1)
	return w, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.watchers, w)
		h.watched.Add(-1)
	}
}

// prepare makes what the zero value lacks. The caller holds mu.
func (h *Hub) prepare() {
	if h.ended == nil {
		h.ended, h.watchers = make(chan struct{}), map[*watcher]bool{}
	}
}

// Close ends all streams of events. Those that begin later end at once.
func (h *Hub) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.prepare()
	if !h.closed {
		h.closed = true
		close(h.ended)
	}
}
