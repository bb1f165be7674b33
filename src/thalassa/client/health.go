package client

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// health remembers how the latest call ended.
type health struct {
	mu   sync.Mutex
	last error
}

func (h *health) set(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last = err
}

func (h *health) err() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.last
}

// errDraining refuses a write that would begin after the process was told to stop.
var errDraining = errors.New("this process is shutting down and makes no more changes")

// writes knows which writes are under way, so that a process that stops can finish them and begin no more.
type writes struct {
	mu       sync.Mutex
	count    int
	draining bool
	idle     chan struct{} // closed when draining and count is 0
}

func newWrites() *writes { return &writes{idle: make(chan struct{})} }

func (w *writes) begin() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.draining {
		return errDraining
	}
	w.count++
	return nil
}

func (w *writes) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count--
	if w.draining && w.count == 0 {
		close(w.idle)
	}
}

// drain lets no further write begin and waits for those under way.
func (w *writes) drain(ctx context.Context) error {
	w.mu.Lock()
	if !w.draining {
		w.draining = true
		if w.count == 0 {
			close(w.idle)
		}
	}
	w.mu.Unlock()
	select {
	case <-w.idle:
		return nil
	case <-ctx.Done():
		w.mu.Lock()
		defer w.mu.Unlock()
		return fmt.Errorf("waiting for %d writes to the cloud to finish: %w", w.count, context.Cause(ctx))
	}
}
