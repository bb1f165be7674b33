package ironcore

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

const (
	// delayed is the time that a slow answer takes.
	delayed = 2 * time.Second
	// watched is the time after which a watch is cut.
	watched = 3 * time.Second
)

// faults is between the program and IronCore. Each request fails at least once before it succeeds: watches and lists in
// all ways, and in turn the writes by method and object, and the reads by kind: the pauses before retries add up.
type faults struct {
	*testing.T
	proxy *httputil.ReverseProxy

	mu    sync.Mutex
	seen  map[string]int    // requests by kind, method and path
	next  map[string]int    // the faults of writes and of reads
	lists map[string][]byte // the last answers, by path
	hits  map[string]int    // by the name of the fault
}

// newFaults returns the address of an API that is like the one that config leads to, with its credentials, and faults.
func newFaults(t *testing.T, config *rest.Config) (f *faults, address string) {
	t.Helper()
	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	f = &faults{T: t, seen: map[string]int{}, next: map[string]int{}, lists: map[string][]byte{},
		hits: map[string]int{}}
	f.proxy = &httputil.ReverseProxy{FlushInterval: -1, Transport: transport, ModifyResponse: f.keep,
		Rewrite:      func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }}
	server := httptest.NewServer(f)
	t.Cleanup(server.CloseClientConnections)
	t.Cleanup(server.Close)
	return f, server.URL
}

// kind says in which ways a request can fail.
func kind(r *http.Request) string {
	switch {
	case r.URL.Query().Has("watch"):
		return "watch"
	case r.Method != http.MethodGet:
		return "write"
	case strings.Contains(r.URL.RawQuery, "resourceVersion"):
		return "list"
	}
	return "read"
}

// ServeHTTP disturbs a request, or forwards it.
func (f *faults) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if way, found := f.choose(r); found {
		way.do(f, w, r)
		return
	}
	f.proxy.ServeHTTP(w, r)
}

// choose returns the fault of a request, and counts it; false if it is forwarded.
func (f *faults) choose(r *http.Request) (chosen fault, found bool) {
	of := kind(r)
	ways := map[string][]fault{
		"watch": {cutLater, expired, cutLater, unavailable},
		"list":  {unavailable, lost, stale, slow},
		"write": {conflict, lost, slow, unreachable, unavailable},
		"read":  {unreachable, unavailable, lost, slow},
	}[of]
	f.mu.Lock()
	defer f.mu.Unlock()
	key := of + " " + r.Method + " " + r.URL.Path
	if of == "read" {
		key = of + " " + path.Dir(r.URL.Path)
	}
	nth := f.seen[key]
	f.seen[key]++
	switch {
	case of == "watch" || of == "list":
		if nth >= len(ways) {
			return fault{}, false
		}
		chosen = ways[nth]
	case nth > 0:
		return fault{}, false
	default:
		chosen = ways[f.next[of]%len(ways)]
		f.next[of]++
	}
	f.hits[chosen.name]++
	return chosen, true
}

// keep records the answer to a list.
func (f *faults) keep(response *http.Response) error {
	if kind(response.Request) != "list" || response.StatusCode != http.StatusOK {
		return nil
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lists[response.Request.URL.Path] == nil {
		f.lists[response.Request.URL.Path] = body
	}
	return nil
}

// fault is a way in which a request fails.
type fault struct {
	name string
	do   func(f *faults, w http.ResponseWriter, r *http.Request)
}

var (
	conflict    = fault{"conflict", answer(http.StatusConflict, "Conflict")}
	expired     = fault{"expired", answer(http.StatusGone, "Expired")}
	unavailable = fault{"unavailable", answer(http.StatusServiceUnavailable, "ServiceUnavailable")}
	unreachable = fault{"unreachable", func(*faults, http.ResponseWriter, *http.Request) {
		panic(http.ErrAbortHandler) // the connection ends
	}}
	lost = fault{"lost", func(f *faults, _ http.ResponseWriter, r *http.Request) {
		f.proxy.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	}}
	slow = fault{"slow", func(f *faults, w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(delayed):
		case <-r.Context().Done():
		}
		f.proxy.ServeHTTP(w, r)
	}}
	cutLater = fault{"cut", func(f *faults, w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), watched)
		defer cancel()
		f.proxy.ServeHTTP(w, r.WithContext(ctx))
	}}
	// stale answers a list with the first answer that there was.
	stale = fault{"stale", func(f *faults, w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		body := f.lists[r.URL.Path]
		f.mu.Unlock()
		if body == nil {
			f.proxy.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body)
	}}
)

// answer returns a fault that is an error of the server.
func answer(code int, reason string) func(*faults, http.ResponseWriter, *http.Request) {
	return func(_ *faults, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = fmt.Fprintf(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": %q, "code": %d,
"message": "a fault of the test"}`, reason, code)
	}
}

// wantAll wants each fault to have happened.
func (f *faults) wantAll() {
	f.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.Logf("%d different requests, faults %v", len(f.seen), f.hits)
	for _, one := range []fault{conflict, expired, unavailable, unreachable, lost, slow, cutLater, stale} {
		if f.hits[one.name] == 0 {
			f.Errorf("the fault %q has not happened", one.name)
		}
	}
}
