package fault

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const body = `[{"id":1},{"id":2},{"id":3},{"id":4},{"id":5}]`

// target is a handler that reports whether it was called, and with what.
type target struct {
	mu sync.Mutex
	seen
}

type seen struct {
	handled int
	met     Kind
	sent    string
}

// saw is what the handler saw so far. A client whose connection was dropped may
// be here before the handler is through.
func (h *target) saw() seen {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.seen
}

// ServeHTTP answers lists with a body and other calls without.
func (h *target) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	effect, _ := Of(r.Context())
	sent, _ := io.ReadAll(r.Body)
	h.handled, h.met, h.sent = h.handled+1, effect.Kind, string(sent)
	if r.Method == http.MethodDelete {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	w.Header().Set("Content-Type", jsonType)
	w.WriteHeader(http.StatusCreated)
	_, _ = w.Write([]byte(body))
}

// server disturbs a target behind a real connection.
func server(t *testing.T, rules ...Rule) (*httptest.Server, *target, *Set) {
	t.Helper()
	s, h := &Set{}, &target{}
	add(t, s, rules...)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.Handler(r.Method+" "+r.URL.Path, h).ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		s.Clear()
		server.Close()
	})
	return server, h, s
}

// outcome is what a client sees of a call.
type outcome struct {
	status       int
	header       http.Header
	body         string
	err, reading error
}

func call(t *testing.T, client *http.Client, method, url string) (out outcome) {
	t.Helper()
	// A connection of its own: on an old one the client would repeat what failed.
	defer client.CloseIdleConnections()
	request, err := http.NewRequestWithContext(t.Context(), method, url+"/v1/machines", strings.NewReader("request"))
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		return outcome{err: err}
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	return outcome{status: response.StatusCode, header: response.Header, body: string(content), reading: err}
}

// handlerTest is a call that meets a fault.
type handlerTest struct {
	effect  Effect
	method  string
	handled int // how often the handler is called
	check   func(outcome) bool
}

func handlerTests() map[string]handlerTest {
	const get, post, remove = http.MethodGet, http.MethodPost, http.MethodDelete
	return map[string]handlerTest{
		"latency": {Effect{Kind: Latency, Delay: 1}, post, 1, func(o outcome) bool {
			return o.status == 201 && o.body == body
		}},
		"status": {Effect{Kind: Refuse, Status: 429, Message: "slow down", RetryAfter: 1100 * time.Millisecond}, post,
			0, func(o outcome) bool {
				return o.status == 429 && o.body == `{"message":"slow down"}`+"\n" &&
					o.header.Get("Retry-After") == "2" && o.header.Get("Content-Type") == jsonType
			}},
		"no message": {Effect{Kind: Refuse, Status: 503}, get, 0, func(o outcome) bool {
			return o.status == 503 && strings.Contains(o.body, "Service Unavailable") &&
				o.header.Get("Retry-After") == ""
		}},
		"redirection": {Effect{Kind: Refuse, Status: 302}, get, 0, func(o outcome) bool {
			return o.status == 302
		}},
		"unauthorised": {Effect{Kind: Unauthorised}, get, 0, func(o outcome) bool { return o.status == 401 }},
		"forbidden":    {Effect{Kind: Forbidden}, get, 0, func(o outcome) bool { return o.status == 403 }},
		"quota": {Effect{Kind: Quota}, post, 0,
			func(o outcome) bool { return o.status == 403 && strings.Contains(o.body, `"quota `) }},
		"quota with status": {Effect{Kind: Quota, Status: 422, Message: "full"}, post, 0, func(o outcome) bool {
			return o.status == 422 && strings.Contains(o.body, "full")
		}},
		"reset": {Effect{Kind: Reset}, post, 0, func(o outcome) bool {
			return errors.Is(o.err, syscall.ECONNRESET)
		}},
		"not JSON": {Effect{Kind: NotJSON}, post, 0, func(o outcome) bool {
			return o.status == 200 && strings.HasPrefix(o.body, "<!DOCTYPE html>") &&
				strings.HasPrefix(o.header.Get("Content-Type"), "text/html")
		}},
		"not JSON of a gateway": {Effect{Kind: NotJSON, Status: 502}, get, 0, func(o outcome) bool {
			return o.status == 502 && strings.HasPrefix(o.body, "<!DOCTYPE html>")
		}},
		"no content": {Effect{Kind: NoContent}, get, 1, func(o outcome) bool {
			return o.status == 204 && o.body == "" && o.header.Get("Content-Type") == ""
		}},
		"drop": {Effect{Kind: Drop}, post, 1, func(o outcome) bool {
			return errors.Is(o.err, io.EOF)
		}},
		"truncate": {Effect{Kind: Truncate}, post, 1, func(o outcome) bool {
			return o.status == 201 && o.body == body[:len(body)/2] && errors.Is(o.reading, io.ErrUnexpectedEOF) &&
				o.header.Get("Content-Type") == jsonType
		}},
		"nothing to truncate": {Effect{Kind: Truncate}, remove, 1, func(o outcome) bool {
			return errors.Is(o.err, io.EOF)
		}},
		"malformed": {Effect{Kind: Malformed}, post, 1, func(o outcome) bool {
			return o.status == 200 && !json.Valid([]byte(o.body)) && o.reading == nil &&
				o.header.Get("Content-Type") == jsonType
		}},
		"nothing to malform": {Effect{Kind: Malformed}, remove, 1, func(o outcome) bool {
			return o.status == 200 && o.body == "{,}"
		}},
		"empty": {Effect{Kind: Empty}, post, 1, func(o outcome) bool {
			return o.status == 200 && o.body == "" && o.reading == nil && o.header.Get("Content-Type") == jsonType
		}},
		"partial": {Effect{Kind: Partial}, get, 1, func(o outcome) bool {
			n := strings.Count(o.body, "id")
			return o.status == 201 && n >= 3 && n <= 4
		}},
		"stale":      {Effect{Kind: Stale, Delay: 1}, get, 1, func(o outcome) bool { return o.body == body }},
		"delete lag": {Effect{Kind: DeleteLag, Delay: 1}, remove, 1, func(o outcome) bool { return o.status == 204 }},
	}
}

func TestHandler(t *testing.T) {
	for name, test := range handlerTests() {
		t.Run(name, func(t *testing.T) {
			server, h, _ := server(t, Rule{Effect: test.effect})
			server.Start()
			got := call(t, server.Client(), test.method, server.URL)
			saw := h.saw()
			if !test.check(got) || saw.handled != test.handled {
				t.Errorf("%+v, handled %d times", got, saw.handled)
			}
			if saw.handled > 0 && (saw.met != test.effect.Kind || saw.sent != "request") {
				t.Errorf("the handler met %q and read %q", saw.met, saw.sent)
			}
		})
	}
}

// A client that leaves ends the wait, even with a body that was not read.
func TestHangEndsWithTheClient(t *testing.T) {
	for _, effect := range []Effect{{Kind: Hang}, {Kind: Latency, Delay: time.Hour}} {
		t.Run(string(effect.Kind), func(t *testing.T) {
			server, h, s := server(t, Rule{Effect: effect})
			server.Start()
			ctx, cancel := context.WithCancel(t.Context())
			request, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL,
				strings.NewReader(strings.Repeat("x", 1<<20)))
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan error, 1)
			go func() {
				response, err := server.Client().Do(request)
				if err == nil {
					response.Body.Close()
				}
				done <- err
			}()
			for s.Fired()[effect.Kind] == 0 {
				select {
				case err := <-done:
					t.Fatalf("the call ended early: %v", err)
				case <-time.After(time.Millisecond):
				}
			}
			cancel()
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Errorf("the call ended with %v", err)
			}
			// Close waits for the handler, which would wait for an hour or forever.
			server.Close()
			if h.saw().handled != 0 {
				t.Error("the call was handled after its client left")
			}
		})
	}
}

func TestClearEndsWaits(t *testing.T) {
	tests := map[string]struct {
		effect Effect
		check  func(outcome) bool
	}{
		"hang":    {Effect{Kind: Hang}, func(o outcome) bool { return errors.Is(o.err, io.EOF) }},
		"latency": {Effect{Kind: Latency, Delay: time.Hour}, func(o outcome) bool { return o.status == 201 }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server, _, s := server(t, Rule{Effect: test.effect})
			server.Start()
			done := make(chan outcome, 1)
			go func() { done <- call(t, server.Client(), http.MethodPost, server.URL) }()
			for s.Fired()[test.effect.Kind] == 0 {
				<-time.After(time.Millisecond)
			}
			s.Clear()
			if got := <-done; !test.check(got) {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestLatencyTakesItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Set
		add(t, &s, Rule{Effect: Effect{Kind: Latency, Delay: time.Minute}},
			Rule{Effect: Effect{Kind: Latency, Delay: time.Second}})
		start := time.Now()
		recorder := httptest.NewRecorder()
		s.Handler(list, &target{}).ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/v1/machines", nil))
		if took := time.Since(start); took != 61*time.Second || recorder.Body.String() != body {
			t.Errorf("%s after %s, want the answer after 1m1s", recorder.Body, took)
		}
	})
}

func TestConnectionsOfTLSAreDropped(t *testing.T) {
	for kind, want := range map[Kind]error{Reset: syscall.ECONNRESET, Drop: io.EOF} {
		server, _, _ := server(t, Rule{Effect: Effect{Kind: kind}})
		server.StartTLS()
		if got := call(t, server.Client(), http.MethodPost, server.URL); !errors.Is(got.err, want) {
			t.Errorf("%s: %+v, want %v", kind, got, want)
		}
	}
}

// HTTP/2 has no connection to take from the server; that must not go unnoticed.
func TestConnectionThatCannotBeDropped(t *testing.T) {
	server, _, _ := server(t, Rule{Effect: Effect{Kind: Reset}})
	server.EnableHTTP2 = true
	server.StartTLS()
	if got := call(t, server.Client(), http.MethodPost, server.URL); got.status != 500 ||
		!strings.Contains(got.body, "use HTTP/1.1") {
		t.Errorf("%+v, want 500", got)
	}
}

// droppable is a writer without a connection.
type droppable struct {
	*httptest.ResponseRecorder
	reason error
}

// Drop implements Dropper.
func (d *droppable) Drop(reason error) { d.reason = reason }

// wrapped hides a droppable the way middleware does.
type wrapped struct{ http.ResponseWriter }

// Unwrap leads to the writer inside.
func (w wrapped) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func TestDropper(t *testing.T) {
	for kind, want := range map[Kind]error{Reset: syscall.ECONNRESET, Drop: io.EOF, Hang: context.Canceled} {
		var s Set
		add(t, &s, Rule{Effect: Effect{Kind: kind}})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		w := &droppable{ResponseRecorder: httptest.NewRecorder()}
		s.Handler(list, &target{}).ServeHTTP(wrapped{w}, httptest.NewRequestWithContext(ctx, http.MethodGet,
			"/v1/machines", nil))
		if !errors.Is(w.reason, want) {
			t.Errorf("%s: dropped because of %v, want %v", kind, w.reason, want)
		}
	}
}

func TestUnreadableBody(t *testing.T) {
	var s Set
	add(t, &s, Rule{Effect: Effect{Kind: Latency, Delay: 1}})
	var reading error
	handler := s.Handler(list, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, reading = io.ReadAll(r.Body)
	}))
	request := httptest.NewRequest(http.MethodPost, "/v1/machines", io.MultiReader(strings.NewReader("half"),
		failing{io.ErrUnexpectedEOF}))
	handler.ServeHTTP(httptest.NewRecorder(), request)
	if !errors.Is(reading, io.ErrUnexpectedEOF) {
		t.Errorf("the handler read %v, want what the client's connection said", reading)
	}
}

// A context chooses what its calls meet, whatever the rules say, and only where it can be met.
func TestWith(t *testing.T) {
	const list = "GET /v1/machines"
	var faults Set
	if _, err := faults.Add(Rule{Effect: Effect{Kind: Refuse, Status: 503}}); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		effect    Effect
		operation string
		handled   int
		met       Kind
		status    int
	}{
		"a refusal":                 {Effect{Kind: Refuse, Status: 418}, list, 0, "", 418},
		"one for the handler":       {Effect{Kind: Stale, Delay: 1}, list, 1, Stale, 201},
		"a wait":                    {Effect{Kind: Latency, Delay: 1}, list, 1, Latency, 201},
		"nothing to delete":         {Effect{Kind: DeleteLag, Delay: 1}, list, 1, "", 201},
		"nothing to leave out":      {Effect{Kind: Partial}, "POST /v1/machines", 1, "", 201},
		"nothing at all":            {Effect{}, list, 1, "", 201},
		"nothing that makes things": {Effect{Kind: Quota}, list, 1, "", 201},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			handler, answer := &target{}, httptest.NewRecorder()
			method, path, _ := strings.Cut(test.operation, " ")
			request := httptest.NewRequestWithContext(With(t.Context(), test.effect, 0), method, path, nil)
			faults.Handler(test.operation, handler).ServeHTTP(answer, request)
			if got := handler.saw(); got.handled != test.handled || got.met != test.met || answer.Code != test.status {
				t.Errorf("handled %d times, met %q, status %d; want %d, %q, %d", got.handled, got.met, answer.Code,
					test.handled, test.met, test.status)
			}
		})
	}
	if fired := faults.Rules()[0].Fired; fired != 0 {
		t.Errorf("the rule disturbed %d calls that had met something else", fired)
	}
}

// What is missing from a partial list depends on the seed alone.
func TestWithSeed(t *testing.T) {
	var faults Set
	parts := map[string]bool{}
	for _, seed := range []uint64{1, 2, 3, 4, 1, 2, 3, 4} {
		answer := httptest.NewRecorder()
		request := httptest.NewRequestWithContext(With(t.Context(), Effect{Kind: Partial}, seed), http.MethodGet,
			"/v1/machines", nil)
		faults.Handler("GET /v1/machines", &target{}).ServeHTTP(answer, request)
		parts[answer.Body.String()] = true
	}
	if len(parts) < 2 || len(parts) > 4 {
		t.Errorf("four seeds, twice: %d different lists", len(parts))
	}
}
