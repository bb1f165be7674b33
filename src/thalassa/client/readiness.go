package client

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/klog/v2"
)

// ProbeInterval is the minimum interval between calls that readiness probes cause.
const ProbeInterval = 10 * time.Second

// ErrNoAnswerYet is the state before the first call has ended.
var ErrNoAnswerYet = errors.New("Thalassa Cloud has not answered yet") //nolint:staticcheck // a name, not a sentence

// Readiness records whether the cloud has ever answered, and when readiness last requested something.
type Readiness struct {
	mu       sync.Mutex
	answered bool
	asked    time.Time
	failure  error
}

// Check returns the present state. If it is an error, it also starts a request in the background.
func (r *Readiness) Check(last func() error, probe func(context.Context) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	problem := last()
	if !r.answered && problem == nil {
		problem = ErrNoAnswerYet
		if r.failure != nil {
			problem = r.failure
		}
	}
	if problem != nil && time.Since(r.asked) >= ProbeInterval {
		r.asked = time.Now()
		go r.runProbe(probe)
	}
	return problem
}

func (r *Readiness) runProbe(probe func(context.Context) error) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), ProbeInterval, fmt.Errorf("no answer within %s",
		ProbeInterval))
	defer cancel()
	err := probe(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.logChange(err)
	r.answered, r.failure = r.answered || err == nil, err
}

// logChange logs when the state changes, so that the log contains why a process is not ready.
func (r *Readiness) logChange(err error) {
	switch {
	case err == nil && r.failure != nil:
		klog.InfoS("The cloud is available again")
	case err != nil && (r.failure == nil || r.failure.Error() != err.Error()):
		klog.ErrorS(err, "The cloud is not available: this process is not ready, and retries")
	}
}
