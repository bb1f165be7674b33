package client

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// listTimeouts is how many times longer than CallTimeout a list may take whose answer keeps arriving. It is as long as
// the cluster is large: all target groups of 2,000 Services with 5,000 nodes are 8 GB.
const listTimeouts = 10

// timeout ends a call that takes too long. Only the goroutine of the call uses it.
type timeout struct {
	limit     time.Duration // without an answer, or without more of it
	end, last time.Time     // of the call, and the latest end that it may have
	timer     *time.Timer
	arriving  atomic.Bool // a part of this attempt's answer has arrived
	arrived   func()      // called when the first part has; nil: it was, or need not be
}

// startTimeout returns a context that ends with ctx, or when the time is over. Stop frees what it needs.
func startTimeout(ctx context.Context, limit time.Duration) (ended context.Context, t *timeout, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	now := time.Now()
	t = &timeout{limit: limit, end: now.Add(limit), last: now.Add(listTimeouts * limit)}
	t.timer = time.AfterFunc(limit, func() { cancel(t.expired()) })
	return ctx, t, func() { t.timer.Stop(); cancel(nil) }
}

// begin begins an attempt.
func (t *timeout) begin() {
	t.arrived = nil
	t.arriving.Store(false)
}

// expired is the reason why the call ended.
func (t *timeout) expired() error {
	if !t.arriving.Load() {
		return fmt.Errorf("no answer within %s", t.limit)
	}
	return fmt.Errorf("the answer stopped for %s, or took longer than %s: raise api.callTimeout in the cloud-config; "+
		"lists of target groups become shorter with loadBalancer.maxTargets", t.limit, listTimeouts*t.limit)
}

// extend gives the call more time, because a part of its answer has arrived.
func (t *timeout) extend() {
	t.arriving.Store(true)
	if t.arrived != nil {
		t.arrived()
		t.arrived = nil
	}
	t.end = time.Now().Add(t.limit)
	if t.end.After(t.last) {
		t.end = t.last
	}
	t.timer.Reset(time.Until(t.end))
}
