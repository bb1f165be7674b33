package client

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/outage"
	"github.com/thalassa-cloud/thalassa-ccm/src/tracing"
)

// transport is what every call goes through.
type transport struct {
	access  atomic.Pointer[access]
	limiter *limiter
	circuit *circuit
	stage   *stage
	metrics *metrics
	outage  *outage.Monitor
	latest  atomic.Pointer[Error] // how the latest call ended; nil: well, or there was none
	timeout time.Duration
	writes  atomic.Int64 // calls that write, and calls of Forget: how many have begun, and how many have ended
	// readOnly means that writes fail before they are sent.
	readOnly bool
}

func newTransport(o Options) (*transport, error) {
	t := &transport{
		limiter: newLimiter(o.Rate, o.Burst),
		stage:   newStage(),
		metrics: newMetrics(),
		outage:  outage.NewMonitor(),
		timeout: cmp.Or(o.CallTimeout, DefaultCallTimeout),
	}
	t.circuit = newCircuit(t.metrics.circuit)
	initial, err := newAccess(o, o.Secrets, t.tokenCalls)
	if err != nil {
		return nil, err
	}
	t.access.Store(initial)
	return t, nil
}

// trial returns a transport for the trial of another access. It shares the rate limit, the metrics and the drain; its
// failures neither open the circuit nor delay calls that work.
func (t *transport) trial(candidate *access) *transport {
	trial := &transport{limiter: t.limiter.copy(), circuit: newCircuit(newMetrics().circuit),
		stage: t.stage, metrics: t.metrics, outage: outage.NewMonitor(), timeout: t.timeout,
		readOnly: t.readOnly}
	trial.access.Store(candidate)
	return trial
}

// consumer reads the body of an answer that claims success, completely. Its error makes the answer a malformed one.
type consumer func(*call, *http.Response) error

// do makes one call, with a body unless that is nil: as many attempts as are safe and as the deadline allows. Its error
// is an *Error.
func (t *transport) do(request *http.Request, body []byte, consume consumer) error {
	c := newCall(request, body, consume)
	if c.write() && t.readOnly {
		return c.failure(ErrReadOnly)
	}
	c.startSpan()
	defer c.endSpan()
	if c.write() {
		t.writes.Add(1)
		defer t.writes.Add(1)
		defer c.audit(time.Now())
	}
	return t.perform(c.request, c)
}

// perform makes as many attempts as are safe and as the deadline allows.
func (t *transport) perform(request *http.Request, c *call) error {
	// The wait for a first turn is bounded by the caller only: a queue is no failure of the cloud.
	if err := t.turn(request.Context()); err != nil {
		return t.conclude(c, c.failure(err))
	}
	ctx, limit, stop := startTimeout(request.Context(), t.timeout)
	defer stop()
	c.timeout = limit
	open, release := t.stage.whileOpen(ctx)
	defer release()
	if !c.write() {
		ctx = open
	}
	for {
		failure := t.attempt(ctx, open, c)
		if failure == nil || !t.again(open, c, failure) {
			return t.conclude(c, failure)
		}
	}
}

// turn returns when it is the call's turn.
func (t *transport) turn(ctx context.Context) error {
	open, release := t.stage.whileOpen(ctx)
	defer release()
	return t.limiter.wait(open)
}

// again waits until the call may be repeated after a failure, if it may. It may not once open ends.
func (t *transport) again(open context.Context, c *call, failure *Error) bool {
	pause, repeat := c.retry(failure)
	end := c.timeout.end
	if deadline, has := open.Deadline(); has && deadline.Before(end) {
		end = deadline
	}
	if !repeat || pause > maxPause || time.Until(end) <= pause {
		return false
	}
	select {
	case <-open.Done():
		return false
	case <-time.After(pause):
	}
	t.metrics.retries.WithLabelValues(c.operation).Inc()
	tracing.Retry(c.span, c.attempts, reasonOf(failure))
	return t.limiter.wait(open) == nil
}

// attempt is one HTTP exchange of a call. It is begun only until open ends, and lasts until ctx does.
func (t *transport) attempt(ctx, open context.Context, c *call) *Error {
	c.status, c.received = 0, 0
	finished, trial, err := t.circuit.begin()
	if err != nil {
		return c.failure(err)
	}
	c.timeout.begin()
	reported := false
	if trial {
		// A list may take minutes. The cloud is there as soon as it arrives, and other calls do not wait for its end.
		c.timeout.arrived = func() { finished(ctx, nil); reported = true }
	}
	failure := t.exchange(ctx, open, c, t.access.Load())
	if !reported {
		finished(ctx, failure)
	}
	return failure
}

func (t *transport) exchange(ctx, open context.Context, c *call, via *access) *Error {
	header, err := via.credentials.header(open)
	if err == nil && c.write() {
		if err = t.stage.begin(); err == nil {
			defer t.stage.end()
			connected, release := whileConnecting(ctx, open)
			defer release()
			ctx = connected
		}
	}
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
	if errors.Is(failure, ErrThrottled) {
		t.limiter.pause(failure.RetryAfter)
	}
	return failure
}

// conclude remembers what the call's end says about the cloud and the credentials. "Not found" or "refused" are good
// answers.
func (t *transport) conclude(c *call, failure *Error) error {
	c.outcome = failure
	if failure == nil {
		t.latest.Store(nil)
		t.outage.Record(true)
		return nil
	}
	switch {
	case isOptional(c.request.Context()) && errors.Is(failure, ErrUnauthorised):
		// The cloud answers, and what the process cannot do without is asked for otherwise.
		t.outage.Record(true)
	case errors.Is(failure, ErrShutdown), errors.Is(failure, context.Canceled),
		failure.ofObject:
		// Nothing is said about the cloud.
	case errors.Is(failure, ErrUnavailable), errors.Is(failure, ErrMalformed):
		t.latest.Store(failure)
		t.outage.Record(false)
	case errors.Is(failure, ErrUnauthorised):
		t.latest.Store(failure)
		t.outage.Record(true)
	default:
		t.latest.Store(nil)
		t.outage.Record(true)
	}
	return failure
}

// kindOfRefusedToken says what the token endpoint's refusal means.
func kindOfRefusedToken(status int) error {
	if kind := kindOf(status); !errors.Is(kind, ErrBadRequest) {
		return kind
	}
	return ErrUnauthorised // how RFC 6749 refuses unknown credentials
}
