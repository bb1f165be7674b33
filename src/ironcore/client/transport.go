package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"github.com/thalassa-cloud/thalassa-ccm/src/outage"
	"github.com/thalassa-cloud/thalassa-ccm/src/tracing"
)

// connection is one set of credentials and certificates.
type connection struct{ http.RoundTripper }

// connect makes what config describes. It opens no connection.
func connect(config *rest.Config) (*connection, error) {
	config = rest.CopyConfig(config)
	config.UserAgent = cmp.Or(config.UserAgent, rest.DefaultKubernetesUserAgent())
	network, err := rest.TransportFor(config)
	if err != nil {
		return nil, fmt.Errorf("using the credentials and certificates for the IronCore API: %w", err)
	}
	return &connection{network}, nil
}

// close ends connections that are not in use. Others end with their last request or watch.
func (c *connection) close() { utilnet.CloseIdleConnectionsFor(c.RoundTripper) }

type candidateKey struct{}

// withCandidate sends requests with this context over another connection than the current one.
func withCandidate(ctx context.Context, candidate *connection) context.Context {
	return context.WithValue(ctx, candidateKey{}, candidate)
}

// candidateOf returns the connection of withCandidate, or nil.
func candidateOf(ctx context.Context) *connection {
	candidate, _ := ctx.Value(candidateKey{}).(*connection)
	return candidate
}

// transport is what every request goes through.
type transport struct {
	connection atomic.Pointer[connection]
	timeout    time.Duration
	prefix     string // of the paths of all requests
	metrics    *metrics
	health     *health
	outage     *outage.Monitor
	writes     *writes
}

func newTransport(config *rest.Config, prefix string) (*transport, error) {
	initial, err := connect(config)
	if err != nil {
		return nil, err
	}
	t := &transport{timeout: cmp.Or(config.Timeout, DefaultCallTimeout), prefix: prefix, metrics: newMetrics(),
		health: &health{}, outage: outage.NewMonitor(), writes: newWrites()}
	t.connection.Store(initial)
	return t, nil
}

// RoundTrip sends one request. If it has no answer at the end of an outage, it is sent again: the connection may have
// lost it. To carry out a write twice changes nothing, because each one names its object.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	operation := operationOf(request, t.prefix)
	ended, err := t.writes.begin(operation.method(request.Method))
	if err != nil {
		if request.Body != nil {
			_ = request.Body.Close() // as an http.RoundTripper does in any case
		}
		return nil, err
	}
	response, err := t.send(request, operation, 1, ended)
	if errors.Is(err, errOutageEnded) {
		response, err = t.sendAgain(request, operation, ended)
	}
	if err != nil {
		ended()
	}
	return response, err
}

func (t *transport) sendAgain(request *http.Request, operation operation, ended func()) (*http.Response, error) {
	again := request.Clone(request.Context())
	if request.GetBody != nil {
		body, err := request.GetBody()
		if err != nil {
			return nil, fmt.Errorf("sending a request again: %w", err)
		}
		again.Body = body
	}
	return t.send(again, operation, 2, ended)
}

// errOutageEnded is why a request is cancelled that has no answer at the end of an outage.
var errOutageEnded = errors.New("the IronCore API has not answered until the end of the outage")

// send sends one request, for the first or the second time. It has a deadline until the answer was read, or until a
// watch was begun. If there is an answer, ended is called when it was read.
func (t *transport) send(request *http.Request, operation operation, attempt int, ended func()) (*http.Response,
	error) {
	e := &exchange{transport: t, operation: operation, attempt: attempt, began: time.Now()}
	e.write = operation.method(request.Method) != http.MethodGet
	request, e.span = tracing.StartRequest(request, e.operation.verb, e.operation.resource)
	e.parent = request.Context()
	ctx, cancel := context.WithCancelCause(e.parent)
	late := time.AfterFunc(t.timeout, func() { cancel(noAnswer(t.timeout)) })
	e.ctx, e.release = ctx, func() {
		late.Stop()
		cancel(nil)
	}
	via := candidateOf(ctx)
	e.candidate = via != nil
	if via == nil {
		via = t.connection.Load()
	}
	forget := t.outage.OnEnd(func() { cancel(errOutageEnded) })
	response, err := via.RoundTrip(request.WithContext(ctx))
	forget()
	if err != nil {
		return nil, e.end(err)
	}
	e.status = response.StatusCode
	release := e.release
	e.release = func() {
		release()
		ended()
	}
	response.Body = &body{ReadCloser: response.Body, exchange: e}
	if e.operation.watch() {
		late.Stop()
		e.record(nil) // how long it lasts does not matter
	}
	return response, nil
}

// noAnswer is the error after the deadline of one request. It is not a timeout in the sense of package net, because
// client-go would repeat a watch with such an error many times, and return no error in the end.
type noAnswer time.Duration

// Error contains the time.
func (n noAnswer) Error() string {
	return fmt.Sprintf("the IronCore API has not answered within %s", time.Duration(n))
}

// Is reports that it is a [context.DeadlineExceeded].
func (n noAnswer) Is(target error) bool { return target == context.DeadlineExceeded }

// exchange is one request and its answer.
type exchange struct {
	transport   *transport
	operation   operation
	began       time.Time
	parent, ctx context.Context // of the caller, and with the deadline
	release     func()          // ends ctx
	candidate   bool
	attempt     int  // 2 if the request was sent again
	write       bool // it may change IronCore
	status      int  // of the answer; 0: there is none
	span        trace.Span

	recorded, ended sync.Once
}

// end records the result, and returns the error for the caller. Only the first result counts.
func (e *exchange) end(err error) error {
	cause := context.Cause(e.ctx)
	if _, late := errors.AsType[noAnswer](cause); err != nil && (late || errors.Is(cause, errOutageEnded)) {
		err = cause
	}
	e.record(err)
	e.ended.Do(func() {
		e.release()
		if e.write && !errors.Is(err, errOutageEnded) { // which is sent again
			e.audit(err)
		}
	})
	return err
}

// audit logs a write that is over, whatever became of it.
func (e *exchange) audit(err error) {
	if err == nil && e.status >= http.StatusBadRequest {
		err = fmt.Errorf("the IronCore API has answered %s", http.StatusText(e.status))
	}
	tracing.Write{Request: e.operation.verb + " " + e.operation.resource, Object: e.operation.name, Status: e.status,
		Attempts: e.attempt, Began: e.began, Err: err}.Log(e.parent)
}

func (e *exchange) record(err error) {
	defer tracing.EndRequest(e.span, e.status, err)
	if err != nil && errors.Is(e.parent.Err(), context.Canceled) || errors.Is(err, errOutageEnded) {
		return // nobody waits for the answer any more, which says nothing about the API
	}
	e.recorded.Do(func() {
		e.transport.metrics.observe(e.parent, e.operation, e.status, err, time.Since(e.began))
		if !e.candidate {
			e.transport.health.set(trouble(e.status, err))
			e.transport.outage.Record(err == nil && e.status < http.StatusInternalServerError)
		}
	})
}

// body ends an exchange when the answer was read.
type body struct {
	io.ReadCloser
	exchange *exchange
}

// Read reads a part of the answer.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	switch {
	case errors.Is(err, io.EOF):
		_ = b.exchange.end(nil)
	case err != nil:
		err = b.exchange.end(err)
	}
	return n, err
}

// Close ends the exchange if the answer was not read to its end.
func (b *body) Close() error {
	err := b.ReadCloser.Close()
	_ = b.exchange.end(nil)
	return err
}
