package event

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// timeLimit bounds every wait; nothing takes nearly that long.
const timeLimit = 20 * time.Second

// reader reads a stream of events.
type reader struct {
	t     *testing.T
	body  *bufio.Scanner
	close func()
}

// watch opens a stream, and reads its first event.
func watch(t *testing.T, hub *Hub) *reader {
	t.Helper()
	server := httptest.NewServer(hub)
	t.Cleanup(server.Close)
	ctx, cancel := context.WithTimeout(t.Context(), timeLimit)
	t.Cleanup(cancel)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	r := &reader{t: t, body: bufio.NewScanner(answer.Body), close: cancel}
	t.Cleanup(func() { _ = answer.Body.Close() })
	if got := answer.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Errorf("the type is %s", got)
	}
	r.want(fmt.Sprintf(`change {"revision":%d}`, hub.Revision()))
	return r
}

// next is the next event: its name and data. It is empty at the end of the stream.
func (r *reader) next() string {
	r.t.Helper()
	var event []string
	for r.body.Scan() {
		if r.body.Text() == "" {
			return strings.Join(event, " ")
		}
		_, value, _ := strings.Cut(r.body.Text(), ": ")
		event = append(event, value)
	}
	if err := r.body.Err(); err != nil {
		r.t.Fatalf("reading the stream: %v", err)
	}
	return ""
}

func (r *reader) want(want string) {
	r.t.Helper()
	if got := r.next(); got != want {
		r.t.Fatalf("the event is %q, want %q", got, want)
	}
}

func TestStream(t *testing.T) {
	var hub Hub
	hub.Changed()
	r := watch(t, &hub)
	hub.Changed()
	r.want(`change {"revision":2}`)
	ctx, call := hub.Begin(t.Context())
	Of(ctx).Subject = "someone"
	call.Method, call.Path, call.Operation, call.Status = "PUT", "/v1/x/1", "PUT /v1/x/{id}", 404
	hub.End(call)
	name, data, _ := strings.Cut(r.next(), " ")
	var got Call
	if err := json.Unmarshal([]byte(data), &got); err != nil || name != "call" {
		t.Fatalf("the event is %s %s: %v", name, data, err)
	}
	if got.Seconds <= 0 || got.Time.IsZero() || got.Subject != "someone" || got.Status != 404 || got.Path != "/v1/x/1" {
		t.Errorf("the call is %+v", got)
	}
}

func TestCloseEndsStreams(t *testing.T) {
	var hub Hub
	first := watch(t, &hub)
	second := watch(t, &hub)
	hub.Close()
	hub.Close()
	first.want("")
	second.want("")
	watch(t, &hub).want("")
}

func TestNobodyWatches(t *testing.T) {
	var hub Hub
	ctx := t.Context()
	if allocations := testing.AllocsPerRun(100, func() {
		_, call := hub.Begin(ctx)
		hub.End(call)
		hub.Changed()
	}); allocations > 0 {
		t.Errorf("a call allocates %v times", allocations)
	}
	r := watch(t, &hub)
	r.close()
	for began := time.Now(); hub.watched.Load() > 0; hub.Changed() {
		if time.Since(began) > timeLimit {
			t.Fatal("the watcher left, and is still there")
		}
	}
	if _, call := hub.Begin(ctx); call != nil {
		t.Error("after the last watcher left, calls are still described")
	}
}

// TestSlowWatcher has a watcher that reads nothing: nobody waits for it, and it learns how much it missed.
func TestSlowWatcher(t *testing.T) {
	var hub Hub
	slow, stop := hub.watch()
	defer stop()
	for range buffered + 7 {
		hub.Changed()
	}
	answer := httptest.NewRecorder()
	if err := (stream{answer, http.NewResponseController(answer)}).drain(slow, <-slow.events); err != nil {
		t.Fatal(err)
	}
	text := answer.Body.String()
	if got := strings.Count(text, "event: change"); got != buffered {
		t.Errorf("%d events arrive, want %d", got, buffered)
	}
	if !strings.HasSuffix(text, "event: dropped\ndata: {\"events\":7}\n\n") {
		t.Errorf("the stream ends with %q", text[len(text)-60:])
	}
}
