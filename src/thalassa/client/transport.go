package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"
)

// transport is what every call goes through.
type transport struct {
	access  atomic.Pointer[access]
	limiter *limiter
	circuit *circuit
	writes  *writes
	health  *health
	metrics *metrics
	timeout time.Duration
}

func newTransport(o Options) (*transport, error) {
	t := &transport{
		limiter: newLimiter(o.Rate, o.Burst),
		writes:  newWrites(),
		health:  &health{},
		metrics: newMetrics(),
		timeout: o.CallTimeout,
	}
	if t.timeout == 0 {
		t.timeout = DefaultCallTimeout
	}
	t.circuit = newCircuit(t.metrics.circuit)
	initial, err := newAccess(o, o.Secrets, t.tokenCalls)
	if err != nil {
		return nil, err
	}
	t.access.Store(initial)
	return t, nil
}

// consumer reads the body of an answer that claims success, completely. Its error makes the answer a malformed one.
type consumer func(*call, *http.Response) error

// do makes one call, with a body unless that is nil: as many attempts as are safe and as the deadline allows. Its error is an *Error.
func (t *transport) do(request *http.Request, body []byte, consume consumer) error {
	c := newCall(request, body, consume)
	if c.write() {
		if err := t.writes.begin(); err != nil {
			return t.conclude(c, c.failure(err))
		}
		defer t.writes.end()
		defer c.audit(time.Now())
	}
	// The wait for a first turn is bounded by the caller only: a queue is no failure of the cloud.
	if err := t.limiter.wait(request.Context()); err != nil {
		return t.conclude(c, c.failure(err))
	}
	ctx, cancel := context.WithTimeoutCause(request.Context(), t.timeout, fmt.Errorf("no answer within %s", t.timeout))
	defer cancel()
	for {
		failure := t.attempt(ctx, c)
		if failure == nil || !t.again(ctx, c, failure) {
			return t.conclude(c, failure)
		}
	}
}

// again waits until the call may be repeated after a failure, if it may.
func (t *transport) again(ctx context.Context, c *call, failure *Error) bool {
	pause, repeat := c.retry(failure)
	deadline, _ := ctx.Deadline()
	if !repeat || pause > maxPause || time.Until(deadline) <= pause {
		return false
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(pause):
	}
	t.metrics.retries.WithLabelValues(c.operation).Inc()
	return t.limiter.wait(ctx) == nil
}

// attempt is one HTTP exchange of a call.
func (t *transport) attempt(ctx context.Context, c *call) *Error {
	c.status, c.received = 0, 0
	via := candidateOf(ctx)
	if via == nil {
		via = t.access.Load()
		finished, err := t.circuit.begin()
		if err != nil {
			return c.failure(err)
		}
		failure := t.exchange(ctx, c, via)
		finished(ctx, failure)
		return failure
	}
	return t.exchange(ctx, c, via)
}

func (t *transport) exchange(ctx context.Context, c *call, via *access) *Error {
	header, err := via.credentials.header(ctx)
	if err != nil {
		failure := c.failure(err)
		failure.unsent = true
		return failure
	}
	began := time.Now()
	failure := c.send(ctx, via.network, header)
	t.metrics.observe(c, failure, time.Since(began))
	if failure == nil {
		return nil
	}
	failure.renewed = failure.Status == http.StatusUnauthorized && via.credentials.renew(header)
	// What is only tried must not hold up those that work.
	if errors.Is(failure, ErrThrottled) && candidateOf(ctx) == nil {
		t.limiter.pause(failure.RetryAfter)
	}
	return failure
}

// conclude remembers what the call's end says about the cloud and the credentials. "Not found" or "refused" are good answers.
func (t *transport) conclude(c *call, failure *Error) error {
	c.outcome = failure
	if failure == nil {
		t.remember(c, nil)
		return nil
	}
	switch {
	case isOptional(c.request.Context()) && errors.Is(failure, ErrUnauthorised):
		// The cloud answers, and what the process cannot do without is asked for otherwise.
	case errors.Is(failure, ErrShutdown), errors.Is(failure, context.Canceled):
		// Nothing is said about the cloud.
	case errors.Is(failure, ErrUnauthorised), errors.Is(failure, ErrUnavailable), errors.Is(failure, ErrMalformed):
		t.remember(c, failure)
	default:
		t.remember(c, nil)
	}
	return failure
}

// remember keeps the latest state of health; what is only tried does not count.
func (t *transport) remember(c *call, trouble error) {
	if candidateOf(c.request.Context()) == nil {
		t.health.set(trouble)
	}
}

// kindOfRefusedToken says what the token endpoint's refusal means.
func kindOfRefusedToken(status int) error {
	if kind := kindOf(status); !errors.Is(kind, ErrBadRequest) {
		return kind
	}
	return ErrUnauthorised // how RFC 6749 refuses unknown credentials
}
