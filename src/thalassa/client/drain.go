package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http/httptrace"
	"sync"
	"time"
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

// whileOpen returns a context that ends with ctx, or with errDraining when draining begins: for what a call does before
// it is sent, and for reads. Release frees what it needs.
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

// whileConnecting returns a context for one attempt of a write. It ends with open for as long as the attempt waits for
// a connection, because nothing has been sent then, and with ctx afterwards. Release frees what it needs.
func whileConnecting(ctx, open context.Context) (attempt context.Context, release func()) {
	attempt, cancel := context.WithCancelCause(ctx)
	var mu sync.Mutex
	waits := false // for a connection
	closed := func() {
		mu.Lock()
		defer mu.Unlock()
		if waits {
			cancel(context.Cause(open))
		}
	}
	stop := context.AfterFunc(open, closed)
	trace := &httptrace.ClientTrace{
		GetConn: func(string) {
			mu.Lock()
			waits = true
			mu.Unlock()
			if open.Err() != nil {
				closed()
			}
		},
		GotConn: func(got httptrace.GotConnInfo) {
			mu.Lock()
			defer mu.Unlock()
			if waits = false; attempt.Err() != nil {
				mute(got.Conn)
			}
		},
	}
	return httptrace.WithClientTrace(attempt, trace), func() { stop(); cancel(nil) }
}

// mute keeps an attempt that has ended from being written to its connection, which HTTP/1 does nevertheless. HTTP/2
// does not, and its connection carries other calls.
func mute(conn net.Conn) {
	secured, ok := conn.(*tls.Conn)
	if !ok || secured.ConnectionState().NegotiatedProtocol != "h2" {
		_ = conn.SetWriteDeadline(time.Unix(1, 0)) // its error says that it is closed already
	}
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
