package node

import (
	"errors"
	"sync"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// breaker is a circuit breaker. While the cloud does not answer, one Node calls it from time to time, so a thousand
// Nodes cause no more calls than one. The zero value permits calls.
type breaker struct {
	mu    sync.Mutex
	err   error // why calls are refused; nil: they are permitted
	until time.Time
	delay time.Duration
}

// refusal is why the cloud must not be called now; nil if it may. A caller that may call must report the result with
// record.
func (b *breaker) refusal() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil || time.Now().Before(b.until) {
		return b.err
	}
	b.until = time.Now().Add(b.delay) // only one of several callers checks the cloud
	return nil
}

// reset permits a call at once, because the cloud answers again.
func (b *breaker) reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.until, b.delay = time.Time{}, 0
}

// answering says whether the latest call was answered.
func (b *breaker) answering() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err == nil
}

// record permits calls after an answer, and refuses them after none, for a longer time after each failure.
func (b *breaker) record(err error) {
	problem, ok := errors.AsType[*cloud.MachineProblem](err)
	b.mu.Lock()
	defer b.mu.Unlock()
	if !ok || !ofCloud(problem) {
		b.err, b.delay = nil, 0
		return
	}
	b.err, b.delay = err, min(max(2*b.delay, minRetryDelay), maxRetryDelay)
	b.until = time.Now().Add(b.delay)
}
