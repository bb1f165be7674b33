package client

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thalassa-cloud/client-go/iaas"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/secret"
)

// slowCloud answers each call after a while, and notes what it was sent.
type slowCloud struct {
	takes  time.Duration
	status int

	mu   sync.Mutex
	sent []string
}

// RoundTrip implements http.RoundTripper.
func (s *slowCloud) RoundTrip(request *http.Request) (*http.Response, error) {
	s.mu.Lock()
	s.sent = append(s.sent, request.Method+" "+request.URL.Path)
	s.mu.Unlock()
	select {
	case <-time.After(s.takes):
	case <-request.Context().Done():
		return nil, request.Context().Err()
	}
	return handlerNetwork(func(w http.ResponseWriter, _ *http.Request) {
		sendJSON(w, s.status, `{"identity": "vpc-1", "message": "as the test wants"}`)
	}).RoundTrip(request)
}

func (s *slowCloud) calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sent)
}

// client returns a client of the cloud that makes one call a second, and calls that take at most so long.
func (s *slowCloud) client(t *testing.T, credentials secret.Credentials, timeout time.Duration) *Client {
	t.Helper()
	return connect(t, Options{Secrets: secret.Secrets{Credentials: credentials}, CallTimeout: timeout, Rate: 1,
		Burst: 1, Network: s})
}

// drained begins to drain, and returns how long that took.
func drained(t *testing.T, c *Client) time.Duration {
	t.Helper()
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), c.DrainTimeout())
	defer cancel()
	if err := c.Drain(ctx); err != nil {
		t.Errorf("Drain = %v", err)
	}
	return time.Since(began)
}

// TestDrainWhileCallsAreMade: a write that was sent is finished however long it takes, and nothing else is sent or
// waited for.
func TestDrainWhileCallsAreMade(t *testing.T) {
	pat := secret.Credentials{PersonalAccessToken: "pat"}
	tests := map[string]struct {
		cloud       *slowCloud
		credentials secret.Credentials
		before      int // calls that are made before, at once
		call        func(context.Context, *Client) error
		after       time.Duration // from the call until draining
		want        error         // nil: the call succeeds
		sent        int
		took        time.Duration
	}{
		"a slow write": {&slowCloud{takes: 9 * time.Minute, status: 200}, pat,
			0, change, time.Second, nil, 1, 9*time.Minute - time.Second},
		"a write that takes all its time": {&slowCloud{takes: time.Hour, status: 200}, pat, 0,
			change, time.Minute, ErrUnavailable, 1, 9 * time.Minute},
		"a slow read": {&slowCloud{takes: 9 * time.Minute, status: 200}, pat,
			0, read, time.Second, ErrShutdown, 1, 0},
		"a write that waits for the rate limit": {&slowCloud{status: 200}, pat, 3, change,
			500 * time.Millisecond, ErrShutdown, 3, 0},
		"a read that waits for the rate limit": {&slowCloud{status: 200}, pat, 3, read,
			500 * time.Millisecond, ErrShutdown, 3, 0},
		"a write that waits for an access token": {&slowCloud{takes: 10 * time.Second, status: 200},
			secret.Credentials{ClientID: "id", ClientSecret: "s"}, 0, change, time.Second, ErrShutdown, 1, 0},
		"a write that waits to be repeated": {&slowCloud{status: 503}, pat, 0, change,
			50 * time.Millisecond, ErrUnavailable, 1, 0},
		"a write that is repeated and waits for the rate limit": {&slowCloud{status: 503}, pat, 0, change,
			900 * time.Millisecond, ErrUnavailable, 1, 0},
		"a write that would be repeated": {&slowCloud{takes: 10 * time.Second, status: 503}, pat,
			0, change, time.Second, ErrUnavailable, 1, 9 * time.Second},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cloud := tt.cloud
				c := cloud.client(t, tt.credentials, 10*time.Minute)
				var all sync.WaitGroup
				for range tt.before {
					if err := read(t.Context(), c); err != nil {
						t.Fatal(err)
					}
				}
				all.Go(func() {
					if err := tt.call(t.Context(), c); !errors.Is(err, tt.want) {
						t.Errorf("the call ends with %v, want %v", err, tt.want)
					}
				})
				<-time.After(tt.after)
				took := drained(t, c)
				all.Wait()
				if took != tt.took {
					t.Errorf("Drain took %s, want %s", took, tt.took)
				}
				<-time.After(time.Minute)
				if sent := cloud.calls(); sent != tt.sent {
					t.Errorf("%d calls were sent, want %d: %q", sent, tt.sent, cloud.sent)
				}
			})
		})
	}
}

// wire is a network to a cloud that reads calls and answers each after 10 seconds. Its connections are pipes.
type wire struct {
	dials, secured bool          // it waits with the connection, or with the handshake on it
	released       chan struct{} // until then
	read           atomic.Int32  // calls
}

func (w *wire) transport() *http.Transport {
	return &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		if w.dials {
			<-w.released
		}
		near, far := net.Pipe()
		go w.serve(far)
		return near, nil
	}}
}

func (w *wire) serve(conn net.Conn) {
	defer conn.Close()
	if w.secured {
		<-w.released
		return
	}
	for from := bufio.NewReader(conn); ; {
		request, err := http.ReadRequest(from)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, request.Body)
		w.read.Add(1)
		<-time.After(10 * time.Second)
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
	}
}

// TestDrainWhileConnecting: a write that waits for a connection, or for the handshake on it, has not been sent, is not
// waited for, and is not sent once there is a connection.
func TestDrainWhileConnecting(t *testing.T) {
	tests := map[string]struct {
		wire     *wire
		endpoint string
		want     error // nil: the write succeeds
		sent     int32
		took     time.Duration
	}{
		"dials":               {&wire{dials: true}, "http://cloud.test", ErrShutdown, 0, 0},
		"makes the handshake": {&wire{secured: true}, "https://cloud.test", ErrShutdown, 0, 0},
		"is sent":             {&wire{}, "http://cloud.test", nil, 1, 9 * time.Second},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tt.wire.released = make(chan struct{})
				network := tt.wire.transport()
				c := connect(t, Options{Endpoint: tt.endpoint, Network: network})
				var all sync.WaitGroup
				all.Go(func() {
					if err := change(t.Context(), c); !errors.Is(err, tt.want) {
						t.Errorf("the write ends with %v, want %v", err, tt.want)
					}
				})
				<-time.After(time.Second)
				took := drained(t, c)
				all.Wait()
				close(tt.wire.released)
				<-time.After(time.Minute)
				if sent := tt.wire.read.Load(); took != tt.took || sent != tt.sent {
					t.Errorf("Drain took %s, %d calls were sent; want %s and %d", took, sent, tt.took, tt.sent)
				}
				network.CloseIdleConnections()
			})
		})
	}
}

// TestConnectionThatComesTooLate: an attempt that ended while it got its connection is not written to it, unless calls
// share it.
func TestConnectionThatComesTooLate(t *testing.T) {
	near, far := net.Pipe()
	defer near.Close()
	defer far.Close()
	open, cancel := context.WithCancelCause(t.Context())
	attempt, release := whileConnecting(t.Context(), open)
	defer release()
	trace := httptrace.ContextClientTrace(attempt)
	trace.GetConn("cloud.test:80")
	cancel(errDraining)
	<-attempt.Done()
	trace.GotConn(httptrace.GotConnInfo{Conn: near})
	if _, err := near.Write([]byte("PUT")); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("writing ends with %v, want that nothing is written", err)
	}
	if ended := context.Cause(attempt); !errors.Is(ended, errDraining) {
		t.Errorf("the attempt ends with %v, want %v", ended, errDraining)
	}
}

func change(ctx context.Context, c *Client) error {
	_, err := Put[Ignored](ctx, c, iaas.VpcEndpoint+"/vpc-1", map[string]string{"name": "x"})
	return err
}

func read(ctx context.Context, c *Client) error {
	_, err := Get[iaas.Vpc](ctx, c, iaas.VpcEndpoint+"/vpc-1")
	return err
}
