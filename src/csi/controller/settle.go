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
	// shareDivisor is the ratio of the time since the last look to the age of a list that another request has read.
	// With an older list, a request that looks a moment after others would see what they saw, and wait once more.
	shareDivisor = 2
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
	// once is whether a write that the cloud has accepted is not sent again: lists may not contain its effect yet.
	once bool
	// confirm is whether the volume is requested by itself before nothing has to be done with it: lists may not contain
	// yet what an earlier request or process did.
	confirm bool
}

// settle takes the steps that a decision asks for, until nothing remains to be done, and returns the volume. The error
// is NotFound if there is no such volume, and DeadlineExceeded if the cloud takes longer than the caller waits.
func (c *Controller) settle(ctx context.Context, id string, s settling) (resource.Volume, error) {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	began, age, conflicts, sent := time.Now(), c.Poll, 0, false
	look := c.volume
	for {
		v, err := look(ctx, id, age)
		if err != nil {
			return v, err
		}
		step, err := s.decide(v)
		if err == nil && step == volume.Done && s.confirm && !sent {
			s.confirm, look = false, c.volumeItself
			continue
		}
		if err != nil || step == volume.Done {
			return v, problemOf(s.action, err)
		}
		if step == volume.Write && !(s.once && sent) {
			written := s.write(ctx, v)
			if conflicts, err = decideAgain(written, conflicts); errors.Is(err, client.ErrNotFound) {
				return v, unfinished(problemOf(s.action, err)) // another look found the volume
			}
			if err != nil {
				return v, problemOf(s.action, err)
			}
			sent = written == nil
		}
		pause := c.pollAfter(time.Since(began))
		if !sleep(ctx, pause) {
			return v, status.Errorf(codes.DeadlineExceeded, "%s: the cloud has not finished yet: the volume's status "+
				"is %q; it is retried", s.action, v.Status)
		}
		age = pause / shareDivisor
	}
}

// decideAgain returns nil for the error of a write after which the next decision is based on another list, because the
// cloud refused the write on account of the volume's state. conflicts counts these. Which status says so is not
// documented, so that once each refusal counts, also "not found": the cloud may say so of the machine or of the
// attachment.
func decideAgain(err error, conflicts int) (int, error) {
	switch {
	case errors.Is(err, client.ErrConflict) && conflicts < maxConflicts:
		return conflicts + 1, nil
	case (errors.Is(err, client.ErrBadRequest) || errors.Is(err, client.ErrNotFound)) && conflicts == 0:
		return maxConflicts, nil
	}
	return conflicts, err
}

// bounded returns a context that ends before the caller's deadline, and after MaxWait.
func (c *Controller) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	wait := c.MaxWait
	if deadline, limited := ctx.Deadline(); limited {
		wait = min(wait, time.Until(deadline)-answerMargin)
	}
	return context.WithTimeoutCause(ctx, wait,
		fmt.Errorf("no result within %s: %w", wait.Round(time.Second), context.DeadlineExceeded))
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
