package node

import (
	"errors"
	"sync"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// breaker is a circuit breaker: while the cloud does not answer, one Node tries from time to time, and so a thousand
// cost no more than one. The zero value is open.
type breaker struct {
	mu    sync.Mutex
	err   error // why it is closed; nil: it is open
	until time.Time
	pause time.Duration
}

// closed is why a Node is not to be asked for now. A caller that may try must say with note how that ended.
func (g *breaker) closed() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err == nil || time.Now().Before(g.until) {
		return g.err
	}
	g.until = time.Now().Add(g.pause) // of those that ask meanwhile, one is enough
	return nil
}

// open says whether the latest answer was one.
func (g *breaker) open() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err == nil
}

// note opens it after an answer, and closes it, for longer each time, when the cloud gave none.
func (g *breaker) note(err error) {
	problem, ok := errors.AsType[*cloud.MachineProblem](err)
	g.mu.Lock()
	defer g.mu.Unlock()
	if !ok || !ofCloud(problem) {
		g.err, g.pause = nil, 0
		return
	}
	g.err, g.pause = err, min(max(2*g.pause, minRetryDelay), maxRetryDelay)
	g.until = time.Now().Add(g.pause)
}
