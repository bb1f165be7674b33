package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// errDraining refuses a request that has not been sent when the process is told to stop.
var errDraining = errors.New("this process is shutting down and sends no more requests")

// errReadOnly refuses a write of a client that only reads.
var errReadOnly = errors.New("refused, because this program only reads")

// writes counts the writes that are being sent, so that a process that stops waits for these and for nothing else.
type writes struct {
	mu       sync.Mutex
	draining bool
	refused  bool // all writes are refused
	sending  int
	idle     chan struct{} // closed when draining has begun and nothing is being sent
}

func newWrites() *writes { return &writes{idle: make(chan struct{})} }

// begin returns what to call when the request has ended, or errDraining.
func (w *writes) begin(method string) (end func(), err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.draining:
		return nil, errDraining
	case method == http.MethodGet:
		return func() {}, nil
	case w.refused:
		return nil, errReadOnly
	}
	w.sending++
	return w.end, nil
}

func (w *writes) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sending--
	if w.draining && w.sending == 0 {
		close(w.idle)
	}
}

// drain lets no further request begin, and waits for the writes that are being sent.
func (w *writes) drain(ctx context.Context) error {
	w.mu.Lock()
	if !w.draining {
		w.draining = true
		if w.sending == 0 {
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
		return fmt.Errorf("waiting for %d writes to IronCore to finish: %w", w.sending, context.Cause(ctx))
	}
}

// RefuseWrites makes all later writes fail before they are sent. It is called before the first request.
func (c *Client) RefuseWrites() { c.transport.writes.refused = true }

// Drain sends no more requests, and returns when the writes that were sent are answered, or ctx is done. That takes at
// most DrainTimeout.
func (c *Client) Drain(ctx context.Context) error { return c.transport.writes.drain(ctx) }

// DrainTimeout is the longest time that Drain takes: that of one request.
func (c *Client) DrainTimeout() time.Duration { return c.transport.timeout }
