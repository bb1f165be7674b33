package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/thalassa-cloud/thalassa-ccm/src/csi/volume"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

const (
	// listAge is the maximum age of lists that only describe volumes.
	listAge = time.Minute
	// maxPoll is the longest time between two looks at a volume that the cloud is working on. All requests that wait
	// share the lists.
	maxPoll = 10 * time.Second
	// pollDivisor is the ratio of the time that a request has waited to the time until the next look.
	pollDivisor = 4
	// answerMargin is the time before the caller's deadline at which a request stops to wait, so that the caller gets
	// an answer that says what is missing.
	answerMargin = time.Second
	// maxConflicts is how often a request decides again after the cloud refused a write because of the volume's state.
	maxConflicts = 3
)

// settling is the work on one volume.
type settling struct {
	action string // for errors: "attaching volume v-1 to machine vm-1"
	decide func(resource.Volume) (volume.Step, error)
	write  func(context.Context, resource.Volume) error
}

// settle takes the steps that a decision asks for, until nothing remains to be done, and returns the volume. The error
// is NotFound if there is no such volume, and DeadlineExceeded if the cloud takes longer than the caller waits.
func (c *Controller) settle(ctx context.Context, id string, s settling) (resource.Volume, error) {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	began, age, conflicts := time.Now(), c.Poll, 0
	for {
		v, err := c.volume(ctx, id, age)
		if err != nil {
			return v, err
		}
		step, err := s.decide(v)
		if err != nil || step == volume.Done {
			return v, problemOf(s.action, err)
		}
		if step == volume.Write {
			err = s.write(ctx, v)
		}
		switch {
		case errors.Is(err, client.ErrConflict) && conflicts < maxConflicts:
			conflicts++ // the store is invalidated, so the next decision is based on another list
		case err != nil:
			return v, problemOf(s.action, err)
		}
		if age = c.pollAfter(time.Since(began)); !sleep(ctx, age) {
			return v, status.Errorf(codes.DeadlineExceeded, "%s: the cloud has not finished yet: the volume's status "+
				"is %q; it is retried", s.action, v.Status)
		}
	}
}

// bounded returns a context that ends before the caller's deadline, and after MaxWait.
func (c *Controller) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	wait := c.MaxWait
	if deadline, limited := ctx.Deadline(); limited {
		wait = min(wait, time.Until(deadline)-answerMargin)
	}
	return context.WithTimeoutCause(ctx, wait, fmt.Errorf("no result within %s", wait.Round(time.Second)))
}

// pollAfter returns the time until the next look, for a request that has waited for some time.
func (c *Controller) pollAfter(waited time.Duration) time.Duration {
	return min(max(waited/pollDivisor, c.Poll), maxPoll)
}

// sleep reports whether the time has passed before ctx ended.
func sleep(ctx context.Context, pause time.Duration) bool {
	select {
	case <-time.After(pause):
		return true
	case <-ctx.Done():
		return false
	}
}
