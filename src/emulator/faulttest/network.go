package faulttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// call is one request of the system under test and how it ended.
type call struct {
	method, path string // without the query
	failureMode  string // what disturbed it; "" for nothing
	status       int    // 0 without an answer
	size         int    // bytes of the body
	again        bool   // a read that was made before
	end          error  // why there is no answer
}

// identity matches what the API calls its objects: a kind and 20 characters.
var identity = regexp.MustCompile(`^[a-z]+-[0-9a-z]{20}$`)

// operation is the method and the path, with "ID" for identities.
func (c call) operation() string {
	parts := strings.Split(strings.Trim(c.path, "/"), "/")
	for i, part := range parts {
		if identity.MatchString(part) {
			parts[i] = "ID"
		}
	}
	return c.method + " /" + strings.Join(parts, "/")
}

// label is the operation as a part of a subtest's name.
func (c call) label() string {
	return strings.NewReplacer(" /", "_", "/", "_").Replace(c.operation())
}

// write says that the call may change what the cloud has.
func (c call) write() bool { return c.method != http.MethodGet && !strings.HasPrefix(c.path, "/oidc/") }

func (c call) String() string {
	line := c.method + " " + c.path
	if c.failureMode != "" {
		line += " [" + c.failureMode + "]"
	}
	if c.end != nil {
		return line + ": " + c.end.Error()
	}
	return fmt.Sprintf("%s: %d", line, c.status)
}

// answer is a response that has been read. Its body ends with end; nil is the
// regular end.
type answer struct {
	status int
	header http.Header
	body   []byte
	end    error
}

// network is between the system under test and the cloud. It disturbs calls
// and records all of them.
type network struct {
	cloud http.RoundTripper
	most  int // calls, before the work counts as endless
	guard *guard
	// pace is how long each call takes, and caller whose it is in what the guard says.
	pace   time.Duration
	caller string

	mu      sync.Mutex
	disturb func(n int, c call) *failureMode // nil: no more
	calls   []call
	hits    int // calls that were disturbed
	costly  int // those of them that may cost a write
	earlier map[string]answer
}

// stopDisturbing ends all disturbance, and the bound on calls. It returns the calls until
// then, how many were disturbed, and how many of those so that they may cost a
// write.
func (n *network) stopDisturbing() (calls []call, hits, costly int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.disturb, n.most = nil, 0
	return slices.Clone(n.calls), n.hits, n.costly
}

// errEndless ends a work that makes more calls than any good one.
var errEndless = errors.New("the work makes too many calls")

// begin registers a call and returns its number, what applies to it and what the
// same question was answered before.
func (n *network) begin(request *http.Request) (number int, m *failureMode, earlier *answer, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.most > 0 && len(n.calls) >= n.most {
		return 0, nil, nil, errEndless
	}
	c := call{method: request.Method, path: request.URL.Path}
	if before, asked := n.earlier[request.URL.String()]; asked && c.method == http.MethodGet {
		c.again, earlier = true, &before
	}
	if n.disturb != nil {
		m = n.disturb(len(n.calls)+1, c)
	}
	if m != nil && m.only != nil && !m.only(c) {
		m = nil
	}
	if m != nil {
		n.hits++
		if m.ends != endsDuring {
			n.costly++
		}
		c.failureMode = m.name
	}
	n.calls = append(n.calls, c)
	return len(n.calls) - 1, m, earlier, nil
}

// finish registers how a call ended.
func (n *network) finish(number int, a answer, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := &n.calls[number]
	c.status, c.size, c.end = a.status, len(a.body), err
}

// forward lets the cloud answer.
func (n *network) forward(request *http.Request) (answer, error) {
	response, err := n.cloud.RoundTrip(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	a := answer{status: response.StatusCode, header: response.Header, body: body, end: err}
	n.mu.Lock()
	defer n.mu.Unlock()
	if request.Method == http.MethodGet && a.status == http.StatusOK && a.end == nil {
		n.earlier[request.URL.String()] = a
	}
	return a, nil
}

// process is the way to the network of one instance of the system under test.
// It is closed once ctx ends: a dead process makes no calls.
type process struct {
	*network
	ctx context.Context
	end context.CancelCauseFunc
	// duty ends with ctx at the latest, and before when the process is endsDuring.
	duty    context.Context
	relieve context.CancelCauseFunc
}

// process is the way to the network of a new instance, which ends with ctx at
// the latest.
func (n *network) process(ctx context.Context) *process {
	life, end := context.WithCancelCause(ctx)
	duty, relieve := context.WithCancelCause(life)
	return &process{network: n, ctx: life, end: end, duty: duty, relieve: relieve}
}

// RoundTrip makes one call of the instance.
func (p *process) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Body != nil {
		defer request.Body.Close()
	}
	if p.ctx.Err() != nil {
		return nil, context.Cause(p.ctx)
	}
	if err := sleep(request.Context(), p.pace); err != nil {
		return nil, err
	}
	if p.ctx.Err() != nil {
		return nil, context.Cause(p.ctx)
	}
	number, m, earlier, err := p.begin(request)
	if err != nil {
		p.end(err)
		return nil, err
	}
	if m == nil {
		m = &failureMode{}
	}
	if m.ends == endsDuring {
		p.relieve(errRelieved)
	}
	p.guard.look(fmt.Sprintf("before %scall %02d", p.caller, number+1))
	a, err := m.apply(request, earlier, p.forward)
	p.finish(number, a, err)
	p.guard.look(fmt.Sprintf("after %scall %02d", p.caller, number+1))
	if m.ends == endsBefore || m.ends == endsAfter || m.ends == endsEarly {
		p.end(errDied)
	}
	if err != nil {
		return nil, err
	}
	return a.response(request), nil
}

// response is the answer as an HTTP client reads it.
func (a answer) response(request *http.Request) *http.Response {
	body := io.Reader(bytes.NewReader(a.body))
	if a.end != nil {
		body = io.MultiReader(body, broken{a.end})
	}
	return &http.Response{
		Status:     fmt.Sprintf("%d %s", a.status, http.StatusText(a.status)),
		StatusCode: a.status, Header: a.header.Clone(), Request: request,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Body: io.NopCloser(body), ContentLength: -1,
	}
}

// broken is a connection that ends too early.
type broken struct{ err error }

// Read never returns anything but the error.
func (b broken) Read([]byte) (int, error) { return 0, b.err }
