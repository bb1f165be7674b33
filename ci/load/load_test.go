package load_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/thalassa-cloud/thalassa-ccm/ci/load"
)

const pace = 200

// wait lets virtual time pass.
func wait(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// within wants a number that may be one off: the clock ticks in steps.
func within(t *testing.T, what string, got, want int) {
	t.Helper()
	if got < want-1 || got > want+1 {
		t.Errorf("%s: %d, want %d", what, got, want)
	}
}

func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, two := serve(t, named("one")), serve(t, named("two"))
		var requests atomic.Int64
		l := load.Start(load.Options{Pace: pace, Dial: func(ctx context.Context) (net.Conn, error) {
			if requests.Add(1)%2 == 0 {
				return one.dial(ctx)
			}
			return two.dial(ctx)
		}})
		wait(10 * time.Second)
		l.Stop()
		r := l.Report()
		within(t, "connections in ten seconds", len(r.Attempts), 10*pace)
		within(t, "pace", int(r.Pace()), pace)
		within(t, "connections to one", r.Targets()["one"], 5*pace)
		within(t, "connections to two", r.Targets()["two"], 5*pace)
		if failed := r.Failures(); len(failed) > 0 {
			t.Errorf("%d failed: %s", len(failed), r)
		}
	})
}

// TestRefusalsAreCounted proves that the check can fail: what is refused for half a second is counted, with the time.
func TestRefusalsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, named("one"))
		l := load.Start(load.Options{Pace: pace, Dial: s.dial})
		wait(3 * time.Second)
		s.refuse(true)
		began := time.Now()
		wait(time.Second / 2)
		s.refuse(false)
		ended := time.Now()
		wait(time.Second)
		l.Stop()
		r := l.Report()
		within(t, "failures", len(r.Failures()), pace/2)
		for _, a := range r.Failures() {
			if a.Began.Before(began) || a.Ended.After(ended) || !errors.Is(a.Err, syscall.ECONNREFUSED) ||
				a.Target != "" {
				t.Errorf("failure %s, want one between %s and %s without a target", a, began, ended)
			}
		}
		if failed := r.Since(ended.Add(time.Nanosecond)).Failures(); len(failed) > 0 {
			t.Errorf("after the refusals still %s", failed[0])
		}
		if text := r.String(); !strings.Contains(text, "connection refused") || strings.Count(text, "\n") != 5 {
			t.Errorf("the report should name the first five failures: %s", text)
		}
	})
}

// TestFailures: everything that goes wrong after connecting is a failure too.
func TestFailures(t *testing.T) {
	greeting := "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\nLoad-Target: one\r\n\r\n"
	for name, test := range map[string]struct {
		answer       http.Handler
		target, want string
	}{
		"cut before the greeting":   {raw(t, ""), "", "EOF"},
		"cut after the greeting":    {raw(t, greeting, ""), "one", "EOF"},
		"silence":                   {hanging(), "", "timeout"},
		"another byte":              {raw(t, greeting, "\xff"), "one", "255 came back for 1"},
		"another server":            {http.NotFoundHandler(), "", "has no name"},
		"a greeting without a name": {named(""), "", "has no name"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := load.Start(load.Options{Pace: 1, Dial: serve(t, test.answer).dial, Timeout: 2 * time.Second})
				wait(1500 * time.Millisecond)
				l.Stop()
				failed := l.Report().Failures()
				if len(failed) != 1 || failed[0].Target != test.target || !strings.Contains(failed[0].Err.Error(),
					test.want) {
					t.Errorf("failures %v, want one of target %q with %q", failed, test.target, test.want)
				}
			})
		})
	}
}

// raw sends texts, each but the first once a byte has come, and ends the connection.
func raw(t *testing.T, texts ...string) http.Handler {
	t.Helper()
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		for i, text := range texts {
			if i > 0 {
				_, _ = io.ReadFull(conn, make([]byte, 1))
			}
			_, _ = io.WriteString(conn, text)
		}
	})
}

// hanging answers nothing.
func hanging() http.Handler {
	return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
}

func TestConcurrencyIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var open, most atomic.Int64
		l := load.Start(load.Options{Pace: pace, Concurrent: 7, Timeout: time.Second,
			Dial: func(ctx context.Context) (net.Conn, error) {
				most.Store(max(most.Load(), open.Add(1)))
				defer open.Add(-1)
				<-ctx.Done()
				return nil, ctx.Err()
			}})
		wait(3500 * time.Millisecond)
		l.Stop()
		if most.Load() != 7 {
			t.Errorf("%d connections were open at a time, want 7", most.Load())
		}
		if got := len(l.Report().Failures()); got < 3*7 {
			t.Errorf("%d failures, want at least %d", got, 3*7)
		}
	})
}

func TestStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, two := serve(t, named("one")), serve(t, named("two"))
		var requests atomic.Int64
		l := load.Start(load.Options{Streams: 20, Pulse: 100 * time.Millisecond,
			Dial: func(ctx context.Context) (net.Conn, error) {
				if requests.Add(1)%2 == 0 {
					return one.dial(ctx)
				}
				return two.dial(ctx)
			}})
		wait(2050 * time.Millisecond)
		two.refuse(true)
		two.breakAll()
		broke := time.Now()
		wait(1 * time.Second)
		two.refuse(false)
		wait(time.Second)
		r := l.Report()
		alive := map[string]int{}
		for _, s := range r.Streams {
			switch {
			case s.Alive():
				alive[s.Target]++
			case s.Target != "two" || s.Ended.Before(broke) || s.Ended.After(broke.Add(200*time.Millisecond)):
				t.Errorf("%s, want only streams to two to break, at %s", s, broke)
			}
			if s.Target == "one" && s.Began.Before(broke) && s.Echoes < 40 {
				t.Errorf("%s, want an echo every 100 ms", s)
			}
		}
		if alive["one"] < 10 || alive["one"]+alive["two"] != 20 {
			t.Errorf("streams alive: %v, want 20, those to one among them", alive)
		}
		if failed := r.Failures(); len(failed) == 0 {
			t.Error("streams that could not be opened are not counted")
		}
		if got := len(r.Since(broke.Add(time.Second)).Streams); got != 20 {
			t.Errorf("%d streams lived a second later, want 20", got)
		}
		before := len(r.Failures())
		l.Stop()
		l.Stop()
		if after := l.Report(); len(after.Failures()) != before || len(after.Streams) != len(r.Streams) ||
			!after.Streams[0].Alive() && after.Streams[0].Target == "one" {
			t.Errorf("the end of the load counts as a failure: %s", after)
		}
	})
}

func TestTCP(t *testing.T) {
	h := httptest.NewServer(named("here"))
	defer h.Close()
	l := load.Start(load.Options{Dial: load.TCP(h.Listener.Addr().String()), Pace: pace, Streams: 1,
		Pulse: time.Millisecond})
	defer l.Stop()
	deadline := time.After(30 * time.Second)
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for r := l.Report(); len(r.Attempts) < 20 || len(r.Streams) < 1 || r.Streams[0].Echoes < 20; r = l.Report() {
		select {
		case <-deadline:
			t.Fatalf("in vain until 20 connections were made: %s", r)
		case <-ticker.C:
		}
	}
	r := l.Report()
	if diff := cmp.Diff(map[string]int{"here": len(r.Attempts)}, r.Targets()); diff != "" || !r.Streams[0].Alive() {
		t.Errorf("targets (-want +got):\n%s%s", diff, r)
	}
}

func TestHandlerIsForLoadOnly(t *testing.T) {
	w := httptest.NewRecorder()
	named("here").ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	if w.Code != http.StatusUpgradeRequired {
		t.Errorf("status %d, want %d", w.Code, http.StatusUpgradeRequired)
	}
}
