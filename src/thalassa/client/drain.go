package client

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// errDraining refuses a call that has not been sent when the process is told to stop.
var errDraining = errors.New("this process is shutting down and makes no more calls")

// stage says which writes are being sent, so that a process that stops waits for these and for nothing else.
type stage struct {
	// closing ends, with errDraining, when draining begins.
	closing context.Context
	close   context.CancelCauseFunc

	mu      sync.Mutex
	sending int           // attempts of writes
	idle    chan struct{} // closed when draining has begun and nothing is being sent
}

func newStage() *stage {
	s := &stage{idle: make(chan struct{})}
	s.closing, s.close = context.WithCancelCause(context.Background())
	return s
}

// whileOpen returns a context that ends with ctx, or with errDraining when draining begins: for what a call does before it is sent, and
// for reads. Release frees what it needs.
func (s *stage) whileOpen(ctx context.Context) (open context.Context, release func()) {
	open, cancel := context.WithCancelCause(ctx)
	if s.closing.Err() != nil {
		cancel(errDraining) // at once: the function below is called by and by
	}
	stop := context.AfterFunc(s.closing, func() { cancel(errDraining) })
	return open, func() { stop(); cancel(nil) }
}

// begin says that an attempt of a write is sent now, unless draining has begun; it ends with end.
func (s *stage) begin() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing.Err() != nil {
		return errDraining
	}
	s.sending++
	return nil
}

func (s *stage) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sending--
	if s.closing.Err() != nil && s.sending == 0 {
		close(s.idle)
	}
}

// drain lets no further attempt begin, ends reads, and waits for the writes that are being sent.
func (s *stage) drain(ctx context.Context) error {
	s.mu.Lock()
	if s.closing.Err() == nil {
		s.close(errDraining)
		if s.sending == 0 {
			close(s.idle)
		}
	}
	s.mu.Unlock()
	select {
	case <-s.idle:
		return nil
	case <-ctx.Done():
		s.mu.Lock()
		defer s.mu.Unlock()
		return fmt.Errorf("waiting for %d writes to the cloud to finish: %w", s.sending, context.Cause(ctx))
	}
}
