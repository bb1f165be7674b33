package load_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"syscall"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/ci/load"
)

// server is an HTTP server at the end of pipes, which, unlike sockets, let virtual time pass.
type server struct {
	incoming chan net.Conn
	closed   chan struct{}
	close    func()

	mu      sync.Mutex
	refuses bool
	open    []net.Conn
}

// serve serves a handler until the test ends.
func serve(t *testing.T, handler http.Handler) *server {
	t.Helper()
	s := &server{incoming: make(chan net.Conn), closed: make(chan struct{})}
	s.close = sync.OnceFunc(func() { close(s.closed) })
	h := &http.Server{Handler: handler}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := h.Serve(s); !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	}()
	t.Cleanup(func() {
		s.breakAll()
		_ = h.Close()
		<-done
	})
	return s
}

func named(name string) http.Handler { return load.Handler(func(*http.Request) string { return name }) }

// Accept implements net.Listener.
func (s *server) Accept() (net.Conn, error) {
	select {
	case conn := <-s.incoming:
		return conn, nil
	case <-s.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (s *server) Close() error { s.close(); return nil }

// Addr implements net.Listener.
func (s *server) Addr() net.Addr { return &net.TCPAddr{} }

// dial is for load.Options.
func (s *server) dial(ctx context.Context) (net.Conn, error) {
	s.mu.Lock()
	refuses := s.refuses
	s.mu.Unlock()
	if refuses {
		return nil, syscall.ECONNREFUSED
	}
	near, far := net.Pipe()
	select {
	case s.incoming <- far:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = append(s.open, far)
	return near, nil
}

func (s *server) refuse(yes bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuses = yes
}

// breakAll closes what is open.
func (s *server) breakAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, conn := range s.open {
		_ = conn.Close()
	}
	s.open = nil
}
