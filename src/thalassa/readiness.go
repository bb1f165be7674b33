package thalassa

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/klog/v2"
)

// probeInterval is how often readiness probes may cause a call to the cloud.
const probeInterval = 10 * time.Second

// errNotAsked is what is known of the cloud before the first call has ended.
var errNotAsked = errors.New("Thalassa Cloud has not answered yet") //nolint:staticcheck // a name, not a sentence

// readiness remembers whether the cloud has ever answered, and when it was last asked for this purpose.
type readiness struct {
	mu       sync.Mutex
	answered bool
	asked    time.Time
	failure  error
}

// check returns what is known, and asks for more in the background when that is nothing good.
func (r *readiness) check(last func() error, probe func(context.Context) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	trouble := last()
	if !r.answered && trouble == nil {
		trouble = errNotAsked
		if r.failure != nil {
			trouble = r.failure
		}
	}
	if trouble != nil && time.Since(r.asked) >= probeInterval {
		r.asked = time.Now()
		go r.ask(probe)
	}
	return trouble
}

func (r *readiness) ask(probe func(context.Context) error) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), probeInterval, fmt.Errorf("no answer within %s",
		probeInterval))
	defer cancel()
	err := probe(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tell(err)
	r.answered, r.failure = r.answered || err == nil, err
}

// tell logs why the cloud cannot be used when that changes: who looks at the log of a process that is not ready finds
// it there.
func (r *readiness) tell(err error) {
	switch {
	case err == nil && r.failure != nil:
		klog.InfoS("The cloud is available again")
	case err != nil && (r.failure == nil || r.failure.Error() != err.Error()):
		klog.ErrorS(err, "The cloud is not available: this process is not ready, and retries")
	}
}
