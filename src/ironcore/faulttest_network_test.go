package ironcore

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// call is one request of a process.
type call struct {
	method, object string // "PATCH", "loadbalancers/web"
	nth            int    // of the requests with this method and object, from 1
	cloud          bool   // it is to IronCore, otherwise to Kubernetes
	lists          bool   // the answer contains all objects
}

// String returns the name of the call in subtests.
func (c call) String() string {
	return fmt.Sprintf("%s %s %d", c.method, strings.ReplaceAll(c.object, "/", " "), c.nth)
}

func (c call) watch() bool { return c.method == "WATCH" }

func (c call) write() bool { return !c.watch() && c.method != http.MethodGet }

// network is between the processes of a cluster and both APIs. It disturbs requests.
type network struct {
	cluster *wholeCluster
	guard   *guard

	mu      sync.Mutex
	disturb func(call) *failureMode // nil disturbs nothing
	calls   []call
	counts  map[string]int // by method and object
	hits    int
	active  time.Time // of the last request that is no watch
	writes  []string  // that succeeded
}

func newNetwork(c *wholeCluster) *network {
	return &network{cluster: c, guard: &guard{cluster: c}, counts: map[string]int{}, active: time.Now()}
}

// register counts a request and returns what happens to it.
func (n *network) register(request *http.Request, cloud bool) (call, *failureMode) {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := call{method: request.Method, object: objectOf(request), cloud: cloud}
	query := request.URL.Query()
	c.lists = query.Get("sendInitialEvents") == "true"
	if query.Get("watch") != "" {
		c.method = "WATCH"
	} else {
		c.lists = c.method == http.MethodGet && !strings.Contains(c.object, "/")
		n.active = time.Now()
	}
	key := c.method + c.object
	n.counts[key]++
	c.nth = n.counts[key]
	n.calls = append(n.calls, c)
	if n.disturb == nil {
		return c, nil
	}
	mode := n.disturb(c)
	if mode != nil && !mode.appliesTo(c) {
		mode = nil
	}
	if mode != nil {
		n.hits++
	}
	return c, mode
}

// objectOf returns the part of a path after the group and the namespace: "loadbalancers/web".
func objectOf(request *http.Request) string {
	parts := strings.Split(strings.Trim(request.URL.Path, "/"), "/")
	parts = parts[min(len(parts), map[string]int{"api": 2, "apis": 3}[parts[0]]):]
	if len(parts) > 2 && parts[0] == "namespaces" {
		parts = parts[2:]
	}
	return strings.Join(parts, "/")
}

// succeeded records a write that was carried out.
func (n *network) succeeded(c call) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !c.watch() {
		n.active = time.Now()
	}
	if c.write() {
		n.writes = append(n.writes, c.String())
	}
}

// begin disturbs requests from now on, and counts them.
func (n *network) begin(disturb func(call) *failureMode) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.disturb, n.calls, n.counts, n.hits, n.writes = disturb, nil, map[string]int{}, 0, nil
}

// end disturbs no more, and returns all calls, the number of those that were disturbed, and the writes.
func (n *network) end() (calls []call, hits int, writes []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.disturb = nil
	return slices.Clone(n.calls), n.hits, slices.Clone(n.writes)
}

// undisturbed reports whether nothing has been disturbed.
func (n *network) undisturbed() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.hits == 0
}

// idle returns the time since the last request that was no watch.
func (n *network) idle() time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	return time.Since(n.active)
}

// link is the way of a process to one API. It is closed when the process ends.
type link struct {
	*network
	process *process
	next    http.RoundTripper
	cloud   bool // it leads to IronCore
}

// RoundTrip implements http.RoundTripper.
func (l link) RoundTrip(request *http.Request) (*http.Response, error) {
	if err := context.Cause(l.process.life); err != nil {
		return nil, err
	}
	c, mode := l.register(request, l.cloud)
	l.guard.check("before " + c.String())
	l.guard.checkWrite(c)
	forward := func(r *http.Request) (*http.Response, error) {
		response, err := l.next.RoundTrip(r)
		if err == nil && response.StatusCode < http.StatusBadRequest {
			l.succeeded(c)
		}
		if !c.watch() {
			l.guard.check("after " + c.String())
		}
		return response, err
	}
	if mode == nil {
		return forward(request)
	}
	return mode.do(exchange{l, c, request, forward})
}

// exchange is a request that is disturbed.
type exchange struct {
	link    link
	call    call
	request *http.Request
	forward func(*http.Request) (*http.Response, error)
}

// failureMode is a way in which a request can go wrong.
type failureMode struct {
	name string
	// only says which calls it can apply to; nil for all.
	only func(call) bool
	do   func(exchange) (*http.Response, error)
}

// appliesTo reports whether the failure mode makes sense for a call. The watches of Kubernetes are not ours. When a
// watch begins again depends on chance.
func (m *failureMode) appliesTo(c call) bool {
	return (c.cloud || c.write()) && (!c.watch() || c.nth == 1) && (m.only == nil || m.only(c))
}

func ofCloud(c call) bool { return c.cloud }

func notWatch(c call) bool { return !c.watch() }

// deaths are the ways in which a request can be the last one of a process.
func deaths() []*failureMode {
	return []*failureMode{
		{name: "before", do: func(e exchange) (*http.Response, error) {
			e.link.process.end(errDied)
			return nil, errDied
		}},
		{name: "after", only: notWatch, do: func(e exchange) (*http.Response, error) {
			_, err := lost(e)
			e.link.process.end(errDied)
			return nil, err
		}},
	}
}

// relief is how a process is stopped in good order while a request is being sent.
func relief() *failureMode {
	return &failureMode{name: "during", do: func(e exchange) (*http.Response, error) {
		e.link.process.relieve(errRelieved)
		<-time.After(slowness)
		return e.forward(e.request)
	}}
}

const (
	// slowness is how long a slow request takes, which is less than clients wait.
	slowness = 5 * time.Second
	// lateness is how long watches report late, lag by how much.
	lateness, lag = time.Minute, 20 * time.Second
)

// failureModes are all that a process survives.
func failureModes() []*failureMode {
	return []*failureMode{
		refusal("internal error", http.StatusInternalServerError, metav1.StatusReasonInternalError, 0),
		refusal("unavailable", http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, 0),
		refusal("forbidden", http.StatusForbidden, metav1.StatusReasonForbidden, 0),
		refusal("unauthorised", http.StatusUnauthorized, metav1.StatusReasonUnauthorized, 0),
		refusal("conflict", http.StatusConflict, metav1.StatusReasonConflict, 0),
		refusal("throttled", http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, 7),
		refusal("gone", http.StatusGone, metav1.StatusReasonExpired, 0),
		unreachable(),
		{name: "lost", do: lost},
		{name: "truncated", only: notWatch, do: truncated},
		{name: "no answer", only: ofCloud, do: func(e exchange) (*http.Response, error) {
			<-e.request.Context().Done() // clients give up; those of Kubernetes have no deadline here
			return nil, e.request.Context().Err()
		}},
		{name: "slow", do: func(e exchange) (*http.Response, error) {
			<-time.After(slowness)
			return e.forward(e.request)
		}},
		{name: "stale", do: func(e exchange) (*http.Response, error) {
			server := e.link.cluster.server
			server.DelayEvents(lag)
			time.AfterFunc(lateness, func() { server.DelayEvents(0) })
			return e.forward(e.request)
		}},
		{name: "expired", do: func(e exchange) (*http.Response, error) {
			e.link.cluster.server.ExpireWatches()
			return e.forward(e.request)
		}},
		{name: "interrupted", do: func(e exchange) (*http.Response, error) {
			response, err := e.forward(e.request)
			e.link.cluster.server.InterruptWatches()
			return response, err
		}},
		{name: "changed", only: func(c call) bool { return c.cloud && c.write() }, do: changed},
	}
}

func unreachable() *failureMode {
	return &failureMode{name: "unreachable", do: func(exchange) (*http.Response, error) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}}
}

// lost lets the server do what the request asks for. The connection ends before the answer.
func lost(e exchange) (*http.Response, error) {
	response, err := e.forward(e.request)
	if err == nil {
		_ = response.Body.Close()
	}
	return nil, fmt.Errorf("reading the response: %w", io.ErrUnexpectedEOF)
}

// truncated ends the connection in the middle of the answer.
func truncated(e exchange) (*http.Response, error) {
	response, err := e.forward(e.request)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	response.Body = io.NopCloser(io.MultiReader(bytes.NewReader(content[:len(content)/2]), broken{}))
	return response, nil
}

// broken is a connection that ends too early.
type broken struct{}

// Read never returns anything but the error.
func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// refusal is an answer with a status.
func refusal(name string, code int, reason metav1.StatusReason, retryAfter int) *failureMode {
	return &failureMode{name: name, do: func(e exchange) (*http.Response, error) {
		text := fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","code":%d,"reason":%q,`+
			`"message":"injected","details":{"retryAfterSeconds":%d}}`, code, reason, retryAfter)
		header := http.Header{"Content-Type": {"application/json"}}
		if retryAfter > 0 {
			header.Set("Retry-After", strconv.Itoa(retryAfter))
		}
		return &http.Response{Status: http.StatusText(code), StatusCode: code, Header: header, Request: e.request,
			Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Body: io.NopCloser(strings.NewReader(text)),
			ContentLength: int64(len(text))}, nil
	}}
}

// changed lets another program change the object of a write just before.
func changed(e exchange) (*http.Response, error) {
	server := e.link.cluster.server
	kind, name, _ := strings.Cut(e.call.object, "/")
	touch := func(object metav1.Object) {
		labels := object.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels[touched] += "x"
		object.SetLabels(labels)
	}
	switch kind {
	case "loadbalancers":
		server.ChangeLoadBalancer(name, func(o *networkingv1alpha1.LoadBalancer) { touch(o) })
	case "loadbalancerroutings":
		server.ChangeLoadBalancerRouting(name, func(o *networkingv1alpha1.LoadBalancerRouting) { touch(o) })
	case "networkinterfaces":
		server.ChangeNetworkInterface(name, func(o *networkingv1alpha1.NetworkInterface) { touch(o) })
	}
	return e.forward(e.request)
}

// touched is the label of another program.
const touched = "example.com/touched"
