package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/oauth2"

	"github.com/thalassa-cloud/thalassa-ccm/src/tracing"
)

// call is one call with all its attempts.
type call struct {
	request   *http.Request
	body      []byte // of the request
	operation string // "PUT /v1/loadbalancers/{id}"
	consume   consumer
	backoff   backoff
	timeout   *timeout // once it may be sent
	attempts  int
	status    int    // of the latest answer; 0 without one
	received  int    // bytes of the latest answer's body
	created   string // identity of what a POST created, for the audit log
	outcome   *Error // nil: success; valid once the call is over
	span      trace.Span
}

func newCall(request *http.Request, body []byte, consume consumer) *call {
	return &call{
		request: request, body: body, operation: operationOf(request.Method, request.URL.Path), consume: consume,
		backoff: newBackoff(),
	}
}

// startSpan begins the span of the call, of which the request is then part.
func (c *call) startSpan() {
	method, route, _ := strings.Cut(c.operation, " ")
	c.request, c.span = tracing.StartRequest(c.request, method, route)
}

func (c *call) endSpan() {
	if c.outcome != nil {
		tracing.EndRequest(c.span, c.status, c.outcome)
		return
	}
	tracing.EndRequest(c.span, c.status, nil)
}

func (c *call) write() bool { return c.request.Method != http.MethodGet }

// operationOf replaces identities by {id}, as in "GET /v1/loadbalancers/{id}/listeners".
func operationOf(method, path string) string {
	parts := partsOf(path)
	for i := range parts {
		if isIdentity(parts, i) {
			parts[i] = "{id}"
		}
	}
	return method + " /" + strings.Join(parts, "/")
}

// audit logs a write once it is over, whatever became of it.
func (c *call) audit(began time.Time) {
	write := tracing.Write{Request: c.operation, Object: c.object(), Status: c.status, Attempts: c.attempts,
		Began: began}
	if c.outcome != nil {
		write.Err = c.outcome
	}
	write.Log(c.request.Context())
}

// object is the identity of what the call is about: what it created, else the last identity in its path.
func (c *call) object() string {
	if c.created != "" {
		return c.created
	}
	parts := partsOf(c.request.URL.Path)
	for i, part := range slices.Backward(parts) {
		if isIdentity(parts, i) {
			return part
		}
	}
	return ""
}

func partsOf(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
}

// isIdentity reports whether a part of a path is an identity: after the version every second part is one, except in
// "ingress-rules/batch".
func isIdentity(parts []string, i int) bool {
	return parts[0] == "v1" && i >= 2 && i%2 == 0 && parts[i] != "batch"
}

// send makes one attempt.
func (c *call) send(ctx context.Context, network http.RoundTripper, authorization string) *Error {
	c.attempts++
	request := c.request.Clone(ctx)
	request.Header.Set("Authorization", authorization)
	if c.body != nil {
		// GetBody lets the library repeat by itself what has certainly not been sent, on a connection that had just
		// closed.
		request.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(c.body)), nil }
		request.Body, _ = request.GetBody()
		request.ContentLength = int64(len(c.body))
	}
	response, err := network.RoundTrip(request) //nolint:bodyclose // closed below, as what counts its bytes
	if err != nil {
		failure := c.failure(because(ctx, err))
		dial := &net.OpError{}
		failure.unsent = errors.As(err, &dial) && dial.Op == "dial"
		return failure
	}
	c.status = response.StatusCode
	counted := &countedBody{ReadCloser: response.Body}
	response.Body = counted
	err = c.read(response)
	if broken := errors.Join(counted.broken, counted.Close()); broken != nil {
		err = fmt.Errorf("reading the answer: %w", broken) // whatever was made of the first part of it
	}
	c.received = counted.bytes
	if err == nil {
		return nil
	}
	return c.failure(because(ctx, err))
}

// countedBody counts what is read of an answer, and notes why it broke off, which is something else than content that
// is wrong. arrives is called for each part of a list.
type countedBody struct {
	io.ReadCloser
	bytes   int
	broken  error
	arrives func() // nil if it is no list
}

func (b *countedBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	if b.bytes += n; n > 0 && b.arrives != nil {
		b.arrives()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		b.broken = err
	}
	return n, err
}

// because prefers the reason why the context ended to what the network made of it.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// maxErrorBody bounds what is read of an answer that is an error.
const maxErrorBody = 1 << 20

func (c *call) read(response *http.Response) error {
	if response.StatusCode >= http.StatusBadRequest {
		body, err := io.ReadAll(io.LimitReader(response.Body, maxErrorBody))
		if err != nil {
			return fmt.Errorf("reading the answer: %w", err)
		}
		return statusError(c.request, response, body, time.Now())
	}
	asked := c.request.Header.Get("If-None-Match") != ""
	if response.StatusCode >= http.StatusMultipleChoices && !(response.StatusCode == http.StatusNotModified && asked) {
		// A redirection would carry the credentials elsewhere and turn writes into reads.
		return malformedError(fmt.Sprintf("the cloud redirects to %s; set endpoint in the cloud-config to where the "+
			"API is", redirection(response)))
	}
	return c.consume(c, response)
}

// redirection is where a redirect leads, without a password in it.
func redirection(response *http.Response) string {
	target, err := response.Location()
	if err != nil {
		return "nowhere"
	}
	return clean(target.Redacted())
}

// localError is a mistake on this side: the cloud has not been asked.
type localError struct{ error }

func (e localError) Unwrap() error { return e.error }

// notReadable is the error of an answer whose type is JSON, and whose content is not what it should be.
type notReadable struct{ error }

func (e notReadable) Unwrap() error { return e.error }

// malformedError is what is wrong with an answer that claims success.
type malformedError string

func (m malformedError) Error() string { return string(m) }

// readJSON reads the body of a good answer into object. An empty one is an answer to a write only: nobody may take it
// for "nothing is there".
func (c *call) readJSON(response *http.Response, object any) error {
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	if len(body) == 0 && c.write() {
		return nil
	}
	if len(body) == 0 {
		return malformedError("the answer is empty")
	}
	if err := isJSON(response); err != nil {
		return err
	}
	if err := json.Unmarshal(body, object, lenient()); err != nil {
		return notReadable{unreadable(err)}
	}
	c.noteCreated(body)
	return nil
}

// noteCreated remembers the identity of what a POST created.
func (c *call) noteCreated(body []byte) {
	var created struct {
		Identity string `json:"identity"`
	}
	if c.request.Method == http.MethodPost && json.Unmarshal(body, &created, lenient()) == nil {
		c.created = created.Identity
	}
}

func isJSON(response *http.Response) error {
	if kind := response.Header.Get("Content-Type"); !strings.Contains(kind, "json") {
		return malformedError(fmt.Sprintf("the answer is %q and not JSON", kind))
	}
	return nil
}

// failure makes an *Error of whatever went wrong.
func (c *call) failure(err error) *Error {
	if known, ok := errors.AsType[*Error](err); ok {
		return known
	}
	if errors.Is(err, errDraining) {
		err = errDraining // what it waited for does not matter
	}
	failure := &Error{Method: c.request.Method, Path: c.request.URL.Path, Status: c.status, Kind: ErrUnavailable,
		Message: clean(err.Error()), cause: err}
	var refused *oauth2.RetrieveError
	var malformed malformedError
	var local localError
	var paused pausedError
	untrusted := &tls.CertificateVerificationError{}
	switch {
	case errors.As(err, &untrusted):
		failure.untrusted = true
	case errors.As(err, &refused):
		failure.Status, failure.Kind = refused.Response.StatusCode, kindOfRefusedToken(refused.Response.StatusCode)
		failure.RetryAfter = retryAfter(refused.Response.Header, time.Now())
	case errors.As(err, &malformed):
		_, isJSON := errors.AsType[notReadable](err)
		failure.Kind, failure.ofObject = ErrMalformed, isJSON && c.object() != ""
	case errors.As(err, &local):
		failure.Kind = ErrUnauthorised
	case errors.Is(err, errDraining):
		failure.Kind = ErrShutdown
	case errors.As(err, &paused):
		failure.Kind, failure.RetryAfter = ErrThrottled, time.Duration(paused)
	}
	return failure
}
