package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// write sends a write, and returns what it ends with.
func write(ctx context.Context, c *Client) <-chan error {
	ended := make(chan error, 1)
	go func() {
		_, err := c.Networks.Patch(ctx, "net-1", types.MergePatchType, []byte(`{}`), metav1.PatchOptions{})
		ended <- err
	}()
	return ended
}

// answerLate lets writes be answered after some time. Reads are never answered.
func answerLate(s *server, after time.Duration) {
	s.block = func(request *http.Request) error {
		if request.Method == http.MethodGet {
			return untilDone(request)
		}
		<-time.After(after)
		return nil
	}
}

// TestDrain: it waits for the writes that were sent, and for nothing else. They succeed; later requests are refused,
// and not sent.
func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		c, s := newClient(t)
		answerLate(s, 5*time.Second)
		first, second := write(ctx, c), write(ctx, c)
		go func() { _ = c.Probe(ctx, "net-1") }() // a read that is not answered
		synctest.Wait()
		sent, began := s.count(), time.Now()
		if err := c.Drain(ctx); err != nil {
			t.Error(err)
		}
		if waited := time.Since(began); waited != 5*time.Second {
			t.Errorf("it took %s, want 5s", waited)
		}
		for _, ended := range []<-chan error{first, second} {
			if err := <-ended; err != nil {
				t.Errorf("a write that was sent ended with %v", err)
			}
		}
		for what, err := range map[string]error{"write": <-write(ctx, c), "read": c.Probe(ctx, "net-1")} {
			if !errors.Is(err, errDraining) {
				t.Errorf("a later %s ended with %v, want %v", what, err, errDraining)
			}
		}
		if s.count() != sent {
			t.Errorf("%d requests were sent, want %d", s.count(), sent)
		}
		if err := c.Drain(ctx); err != nil {
			t.Errorf("the second call: %v", err)
		}
		stop()
	})
}

// TestDrainRefusesAtOnce: requests are refused from the beginning, not only when nothing is being sent.
func TestDrainRefusesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := newClient(t)
		answerLate(s, 5*time.Second)
		first := write(t.Context(), c)
		synctest.Wait()
		drained := make(chan error, 1)
		go func() { drained <- c.Drain(t.Context()) }()
		synctest.Wait()
		if err := <-write(t.Context(), c); !errors.Is(err, errDraining) {
			t.Errorf("got %v, want %v", err, errDraining)
		}
		select {
		case err := <-drained:
			t.Errorf("it has ended before the write, with %v", err)
		default:
		}
		if err := errors.Join(<-first, <-drained); err != nil {
			t.Error(err)
		}
	})
}

// TestDrainWithoutWrites: it returns at once.
func TestDrainWithoutWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := newClient(t)
		began := time.Now()
		if err := c.Drain(t.Context()); err != nil || time.Since(began) != 0 {
			t.Errorf("got %v after %s", err, time.Since(began))
		}
	})
}

// TestDrainEnds: at the end of the context it returns the number of writes that were not answered.
func TestDrainEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := newClient(t)
		answerLate(s, time.Minute/3)
		first, second := write(t.Context(), c), write(t.Context(), c)
		synctest.Wait()
		ctx, stop := context.WithTimeout(t.Context(), 3*time.Second)
		defer stop()
		began := time.Now()
		err := c.Drain(ctx)
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(problem(err), "2 writes") {
			t.Errorf("got %v, want an error about 2 writes", err)
		}
		if waited := time.Since(began); waited != 3*time.Second {
			t.Errorf("it took %s, want 3s", waited)
		}
		if err := errors.Join(<-first, <-second); err != nil {
			t.Errorf("the writes end with %v", err)
		}
		if limit := c.DrainTimeout(); limit != DefaultCallTimeout {
			t.Errorf("the longest time is %s, want that of one request", limit)
		}
	})
}

// TestRefuseWrites: a client that only reads sends no write.
func TestRefuseWrites(t *testing.T) {
	c, s := newClient(t)
	c.RefuseWrites()
	if err := c.Probe(t.Context(), "net-1"); err != nil {
		t.Error(err)
	}
	sent := s.count()
	if err := <-write(t.Context(), c); !errors.Is(err, errReadOnly) || s.count() != sent {
		t.Errorf("a write was sent, or ended with %v", err)
	}
}

// closing notes that it was closed.
type closing struct {
	io.Reader
	closed bool
}

func (c *closing) Close() error { c.closed = true; return nil }

// TestRefusedBodyIsClosed: the body of a request that is refused before it is sent is closed.
func TestRefusedBodyIsClosed(t *testing.T) {
	c, _ := newClient(t)
	c.RefuseWrites()
	body := &closing{Reader: strings.NewReader("{}")}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, "https://api.test/apis/a/v1/networks/b",
		body)
	if err != nil {
		t.Fatal(err)
	}
	response, err := c.transport.RoundTrip(request)
	if err == nil {
		err = response.Body.Close()
	}
	if !errors.Is(err, errReadOnly) || !body.closed {
		t.Errorf("error %v, body closed: %t", err, body.closed)
	}
}
