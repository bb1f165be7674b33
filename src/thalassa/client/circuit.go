package client

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/sony/gobreaker"
)

const (
	// outageAfter is how many attempts in a row end without a usable answer before the cloud counts as away.
	outageAfter = 10
	// openFor is how long no call is made then, until one tries whether the cloud is back.
	openFor = 3 * time.Second
)

// errOpen refuses a call because the cloud is away.
var errOpen = errors.New("not sent, because the cloud is unavailable")

// circuit keeps calls from a cloud that is away: they would only wait, and greet it with a storm when it returns.
type circuit struct {
	breaker *gobreaker.TwoStepCircuitBreaker
	last    atomic.Pointer[Error] // the latest failure
}

func newCircuit(open prometheus.Gauge) *circuit {
	return &circuit{breaker: gobreaker.NewTwoStepCircuitBreaker(gobreaker.Settings{
		Timeout:     openFor,
		ReadyToTrip: func(counts gobreaker.Counts) bool { return counts.ConsecutiveFailures >= outageAfter },
		OnStateChange: func(_ string, _, to gobreaker.State) {
			if open.Set(0); to == gobreaker.StateOpen {
				open.Set(1)
			}
		},
	})}
}

// begin reports whether an attempt may be made; it is reported through finished, once. Trial means that no other call
// is made until then.
func (c *circuit) begin() (finished func(context.Context, *Error), trial bool, err error) {
	done, err := c.breaker.Allow()
	if err != nil {
		return nil, false, fmt.Errorf("%w; the latest call to reach it: %w", errOpen, c.latest())
	}
	trial = c.breaker.State() == gobreaker.StateHalfOpen
	return func(ctx context.Context, failure *Error) {
		// A caller who gives up says nothing about the cloud; our own deadline does.
		away := failure != nil && errors.Is(failure, ErrUnavailable) && !errors.Is(context.Cause(ctx), context.Canceled)
		if away {
			c.last.Store(failure)
		}
		done(!away)
	}, trial, nil
}

func (c *circuit) latest() error {
	if last := c.last.Load(); last != nil {
		return errors.New(last.Message)
	}
	return errors.New("unknown")
}
