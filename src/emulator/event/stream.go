package event

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// stalled is how long a watcher may leave its connection full before it is closed.
const stalled = 5 * time.Second

// ServeHTTP streams what happens as Server-Sent Events until the client leaves or Close is called: call and change, as
// they happen, and dropped, with how many events the stream lacks because the client was too slow.
func (h *Hub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	watching, stop := h.watch()
	defer stop()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	// The deadlines of this stream must not hold for another request.
	w.Header().Set("Connection", "close")
	out := stream{w, http.NewResponseController(w)}
	// The revision at the beginning: nothing is missed between it and the first event.
	for err := out.send(Event{Revision: h.Revision()}); err == nil; {
		select {
		case <-r.Context().Done():
			return
		case <-watching.ended:
			return
		case next := <-watching.events:
			err = out.drain(watching, next)
		}
	}
}

// stream is the connection of a watcher.
type stream struct {
	http.ResponseWriter
	control *http.ResponseController
}

// drain sends an event and all that wait behind it.
func (s stream) drain(w *watcher, next Event) error {
	err := s.write(next)
	for waiting := len(w.events); waiting > 0 && err == nil; waiting-- {
		err = s.write(<-w.events)
	}
	if err != nil {
		return err
	}
	if dropped := w.dropped.Swap(0); dropped > 0 {
		if err := s.line("dropped", map[string]int64{"events": dropped}); err != nil {
			return err
		}
	}
	return s.control.Flush()
}

func (s stream) send(e Event) error {
	if err := s.write(e); err != nil {
		return err
	}
	return s.control.Flush()
}

func (s stream) write(e Event) error {
	if e.Call != nil {
		return s.line("call", e.Call)
	}
	return s.line("change", map[string]uint64{"revision": e.Revision})
}

func (s stream) line(name string, data any) error {
	text, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("encoding the event %s: %w", name, err)
	}
	// A client that reads nothing must not keep the emulator from stopping.
	err = s.control.SetWriteDeadline(time.Now().Add(stalled))
	if err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	_, err = fmt.Fprintf(s, "event: %s\ndata: %s\n\n", name, text)
	return err
}
